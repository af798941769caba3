"""Somebody who reads a page and does what it says: one directory, one node with default settings, block after block."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

from documents.comparison import compare
from documents.fences import Block
from documents.ports import Ports

VENV = Path(sys.executable).parent.parent
PATIENCE = 120.0
# What a command takes where it is told of no address. `test_documents_read.py` asks the commands whether that is so.
DEFAULT_ADDRESSES = {
    "moldau start": "--listen 127.0.0.1:9092",
    "moldau cluster start": "--port 9092",
    "moldau console": "--listen 127.0.0.1:9080",
}
# Notices and what is below them. Warnings count.
_REMARKS_OF_LIBRDKAFKA = re.compile(r"^%[567]\|.*\n", re.MULTILINE)
_ADDRESS = re.compile(r"--(?:listen|port) (\S+)")


class Foreground:
    """A command that stays until it is interrupted."""

    def __init__(self, command: str, directory: Path, environment: dict[str, str]) -> None:
        self.command = command
        self.complaints = directory / f".stderr-{len(list(directory.glob('.stderr-*')))}"
        with self.complaints.open("wb") as complaints:
            self.process = subprocess.Popen(
                ["sh", "-c", f"exec {command}"],
                cwd=directory,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                start_new_session=True,
            )
        assert self.process.stdout is not None
        alarm = threading.Timer(PATIENCE, self.process.kill)
        alarm.start()
        self.first_line = self.process.stdout.readline()
        alarm.cancel()
        if not self.first_line:
            self.process.communicate()
            raise AssertionError(f"{command} ended\n{self.complained()}")

    def complained(self) -> str:
        return self.complaints.read_text(errors="replace")

    def interrupt(self) -> None:
        """Ctrl-C, which every command that stays takes for the end it waited for."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=PATIENCE)
        ended = self.process.returncode
        assert ended == 0, f"{self.command} ended with {ended}\n{self.complained()}"

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class Reader:
    def __init__(self, directory: Path, *texts: str, bootstrap: str | None = None) -> None:
        self.directory = directory
        self.ports = Ports(*texts)
        self._elsewhere = bootstrap  # a broker that was there before
        self._bootstrap = bootstrap
        self._node: Foreground | None = None
        self._others: list[Foreground] = []
        self._state = directory / ".shell"
        self._state.write_text("")
        self.printed = ""
        self._unshown: str | None = None
        (directory / "home").mkdir()
        (directory / ".venv").symlink_to(VENV)

    def read(self, block: Block) -> None:
        """Does what the block says; raises AssertionError where something else comes of it."""
        try:
            if block.language != "text" or not block.follows:
                self._nothing_unshown()
            self._read(block)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            raise AssertionError(f"{block}: {error}") from None

    def _read(self, block: Block) -> None:
        if block.reason is not None or "from" in block.values:
            return
        if "given" in block.values:
            self.start_node()
            self._command(block.values["given"])
        if "stopped" in block.flags:
            self._stop_node()
        if "again" in block.flags:
            self._start_again()
        if block.file is not None:
            path = self.directory / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._here(block.text))
        elif "the node" in block.flags:
            self.start_node()
        elif "runs on" in block.flags:
            self._stay(block.text)
        elif block.language == "text":
            compare(block.text, self._shown(self.printed), any_order="any order" in block.flags)
            self._unshown = None
        elif block.language in ("sh", "python"):
            self.start_node()
            self.printed = self._run(block)
            self._unshown = self.printed if block.language == "python" else None

    def _nothing_unshown(self) -> None:
        """A program prints what its page shows. Commands may say more than a page has room for."""
        unshown, self._unshown = self._unshown, None
        assert not unshown, f"nothing shows what the block above prints:\n{unshown}"

    def start_node(self) -> None:
        if self._bootstrap is None:
            self._node = Foreground(self._with_address("moldau start"), self.directory, self.environment())
            self._bootstrap = self._node.first_line.removeprefix("ready ").strip()

    def _stop_node(self) -> None:
        """The address it had stays known, so nobody starts another."""
        assert self._node is not None, "only a node of its own can be stopped"
        self._node.interrupt()
        self._node = None

    def _start_again(self) -> None:
        if self._node is not None:
            self._stop_node()
        self._bootstrap = None
        self.start_node()

    def _stay(self, text: str) -> None:
        command = self._with_address(text.partition("#")[0].strip())
        assert "\n" not in command, (
            "one command stays in the foreground; others need another terminal, and another block"
        )
        if "9092" in self._shown(command) and self._node is not None and command.startswith("moldau cluster"):
            self._stop_node()  # the address is for one of them
        for other in [each for each in self._others if _ADDRESS.findall(each.command) == _ADDRESS.findall(command)]:
            other.interrupt()
            self._others.remove(other)
        stays = Foreground(command, self.directory, self.environment())
        self._others.append(stays)
        self.printed = stays.first_line
        if self._node is None and stays.first_line.startswith("ready "):
            self._bootstrap = stays.first_line.removeprefix("ready ").strip()

    def _run(self, block: Block) -> str:
        text = self._here(block.text)
        if block.language == "sh":
            return self._command(text, fails="fails" in block.flags)
        if "\ndef test_" in text:
            # Tests are run as their reader would run them: by pytest, with the fixtures of the installed package.
            (self.directory / "test_example.py").write_text(text)
            self._succeeds(text, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_example.py"])
            return ""
        return self._program(text)

    def _program(self, text: str) -> str:
        return self._succeeds(text, [sys.executable, "-W", "error", "-c", text])

    def _succeeds(self, program: str, command: list[str]) -> str:
        status, printed, complained = self._ended(command)
        complaints = _REMARKS_OF_LIBRDKAFKA.sub("", complained)
        assert (status, complaints) == (0, ""), f"status {status} of\n{program}\n{printed}{complained}"
        return printed

    def _command(self, text: str, *, fails: bool = False) -> str:
        status, printed, complained = self._ended(["sh", "-e", "-c", self._in_one_terminal(self._here(text))])
        assert (status != 0) == fails, f"status {status} of\n{text}\n{printed}{complained}"
        return printed + complained if fails else printed

    def _in_one_terminal(self, text: str) -> str:
        """With the variables and the directory that earlier blocks left."""
        names = ("MOLDAU_BOOTSTRAP", "BOOTSTRAP") if self._bootstrap else ()
        here = "; ".join(f"export {name}={self._bootstrap}" for name in names)
        return f". {self._state}\n{here}\n{text}\n{{ export -p; echo \"cd '$PWD'\"; }} >{self._state}"

    def _ended(self, command: list[str]) -> tuple[int, str, str]:
        """Status, output and complaints; whatever is left after a while is killed with all it started."""
        with subprocess.Popen(
            command,
            cwd=self.directory,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                printed, complained = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return process.returncode, printed, complained

    def _with_address(self, command: str) -> str:
        """A command that listens somewhere, with the address that is its default made plain."""
        for name, option in DEFAULT_ADDRESSES.items():
            if command.startswith(name) and option.split()[0] not in command:
                command = f"{command} {option}"
        return self._here(command)

    def _here(self, text: str) -> str:
        if self._elsewhere is not None:
            text = text.replace("127.0.0.1:9092", self._elsewhere)
        return self.ports.moved(text)

    def _shown(self, text: str) -> str:
        if self._elsewhere is not None:
            text = text.replace(self._elsewhere, "127.0.0.1:9092")
        return self.ports.shown(text)

    def environment(self) -> dict[str, str]:
        """Of a terminal on a fresh machine."""
        named = {
            name: value
            for name, value in os.environ.items()
            if not re.match(r"MOLDAU_|KAFKA_", name) or name == "MOLDAU_READINESS"
        }
        named |= {"PATH": f"{VENV / 'bin'}:{os.environ['PATH']}", "HOME": str(self.directory / "home")}
        if self._bootstrap is not None:
            named["MOLDAU_BOOTSTRAP"] = named["BOOTSTRAP"] = self._bootstrap
        return named

    def finish(self) -> None:
        """What stays in the foreground is interrupted, and has to end in order."""
        self._nothing_unshown()
        try:
            for each in reversed([self._node, *self._others] if self._node else self._others):
                each.interrupt()
        finally:
            self.close()

    def close(self) -> None:
        for each in [self._node, *self._others]:
            if each is not None:
                each.kill()
        self.ports.close()
