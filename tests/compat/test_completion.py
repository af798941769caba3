"""Completion in shells that really run: the key is pressed in bash and zsh, and fish is asked what it would offer."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import confluent_kafka
import pytest
from node_process import MOLDAU, NodeProcess
from patience import PATIENCE
from transactional_clients import create_topic

# Whoever named this group would have the shell of an operator run it.
EVIL = "evil$(touch x)"
TOPICS = ("rivers-of-europe", "rivers-of-asia")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    started = NodeProcess(tmp_path_factory.mktemp("node") / "data")
    for topic in TOPICS:
        create_topic(started.bootstrap, topic, 1)
    for group in ("shipping", EVIL, "moves\x1b[2Jit"):
        consumer = confluent_kafka.Consumer({"bootstrap.servers": started.bootstrap, "group.id": group})
        consumer.commit(offsets=[confluent_kafka.TopicPartition(TOPICS[0], 0, 0)], asynchronous=False)
        consumer.close()
    yield started
    started.kill()


# The machine may be busy, and the names are what is looked for here.
UNHURRIED = {"MOLDAU_COMPLETION_SECONDS": "60"}


def offered(*words: str, seconds: str = "60") -> list[str]:
    command = [str(MOLDAU), "completion", "candidates", "--", *words]
    environment = {**os.environ, "MOLDAU_COMPLETION_SECONDS": seconds}
    said = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True, env=environment)
    assert said.stderr == ""
    return [line.split("\t")[0] for line in said.stdout.splitlines()]


def test_what_is_offered(node: NodeProcess) -> None:
    at = ("-b", node.bootstrap)
    assert offered("tran") == ["names", "transactions"]
    assert offered("groups", "de") == ["names", "describe", "delete"]
    assert offered("topics", "list", "--boot") == ["names", "--bootstrap", "--bootstrap-server"]
    assert offered("consume", *at, "rivers-of-e") == ["names", TOPICS[0]]
    assert offered("topics", "describe", *at, "") == ["names", *sorted(TOPICS)]
    # What a new one is called nobody knows.
    assert offered("topics", "create", *at, "") == ["names"]
    assert offered("groups", "describe", "shipping", *at, "") == ["names", EVIL, "shipping"]
    assert offered("consume", "--isolation", "read-c") == ["names", "read-committed"]
    assert offered("consume", "--isolation=read-c") == ["names", "--isolation=read-committed"]
    assert offered("groups", "describe", f"--bootstrap={node.bootstrap}", "ship") == ["names", "shipping"]
    assert offered("log", "verify", "") == ["directories"]
    assert offered("topics", "list", "--config", "") == ["files"]
    assert offered("nothing", "") == ["names"]


def test_nothing_is_offered_where_nobody_answers(tmp_path: Path) -> None:
    assert offered("consume", "-b", "127.0.0.1:1", "", seconds="0.5") in (["names"], [])
    assert offered("consume", "-X", "nonsense=1", "") == ["names"]
    assert offered("consume", "--username", "u", "") == ["names"]
    assert offered("consume", "--config", str(tmp_path / "missing"), "") == ["names"]


class Shell:
    """A shell at a terminal, with the program on its path."""

    def __init__(self, command: Sequence[str], directory: Path) -> None:
        self._master, slave = pty.openpty()
        environment = {
            "PATH": f"{MOLDAU.parent}:/usr/bin:/bin",
            "HOME": str(directory),
            "TERM": "dumb",
            "PS1": "$ ",
            "LC_ALL": "C.UTF-8",
            **UNHURRIED,
        }
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=directory, start_new_session=True
        )
        os.close(slave)
        self.said = ""

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, pattern: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, self.said):
            assert time.monotonic() < deadline, self.said
            if select.select([self._master], [], [], 0.2)[0]:
                self.said += os.read(self._master, 4096).decode(errors="replace").replace("\r", "")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "bind 'set bell-style none'; source <(moldau completion bash)"),
    "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -D -u; source <(moldau completion zsh)"),
}


@pytest.mark.parametrize("name", SHELLS)
def test_the_key_is_pressed(name: str, node: NodeProcess, tmp_path: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} here (Debian's package {name})")
    command, prepared = SHELLS[name]
    shell = Shell(command, tmp_path)
    try:
        shell.type(f"{prepared}; echo read''y\n")
        shell.wait_for("\nready")
        for typed, completed in (
            ("moldau transac\t", "moldau transactions "),
            (f"moldau consume -b {node.bootstrap} rivers-of-e\t", f"{node.bootstrap} rivers-of-europe "),
            (f"moldau groups describe -b {node.bootstrap} ship\t", f"{node.bootstrap} shipping "),
            ("moldau consume --isolation=read-c\t", "--isolation=read-committed"),
        ):
            shell.said = ""
            shell.type(typed)
            shell.wait_for(re.escape(completed))
            shell.type("\x15")
        shell.said = ""
        shell.type(f"moldau groups describe -b {node.bootstrap} evi\t")
        shell.wait_for(r"evi\S*\$\\?\(touch\\? x")
        shell.type("\n")
        # The command itself has been run with the name as it is.
        shell.wait_for(re.escape(EVIL) + "[^']*\n")
        shell.type("echo don''e\n")
        shell.wait_for("\ndone|done\n")
        assert list(tmp_path.glob("x")) == []
    finally:
        shell.close()


def test_fish(node: NodeProcess, tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("there is no fish here (Debian's package fish)")
    environment = {"PATH": f"{MOLDAU.parent}:/usr/bin:/bin", "HOME": str(tmp_path), "TERM": "dumb", **UNHURRIED}

    def offers(line: str) -> list[str]:
        script = f"moldau completion fish | source; complete -C '{line}'"
        said = subprocess.run(
            ["fish", "--no-config", "-c", script],
            capture_output=True,
            text=True,
            env=environment,
            timeout=PATIENCE,
            check=True,
        )
        return [each.split("\t")[0] for each in said.stdout.splitlines()]

    assert offers("moldau transac") == ["transactions"]
    assert sorted(offers(f"moldau consume -b {node.bootstrap} rivers-")) == sorted(TOPICS)
    assert offers(f"moldau groups describe -b {node.bootstrap} ship") == ["shipping"]
