"""One node of a cluster under test, and what can be done to it: stopped, killed, paused, cut off, started again."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from moldau.errors import MoldauError
from moldau.testing.guard import PID_FILE
from moldau.testing.proxy import Proxy

_READY_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 30.0
_LOG_LINES: Final = 40


class NodeFailed(MoldauError):
    """The node did not start or did not stop; the text ends with what it logged last."""


class Node:
    """`address` is where clients find it, from the first start to the last: a restart comes back at the same place."""

    def __init__(self, id: int, directory: Path, settings: Mapping[str, str], *, proxied: bool = False) -> None:
        self.id = id
        self.directory = directory
        self._settings = dict(settings)
        self._log = directory / "node.log"
        self._pid_file = directory / PID_FILE
        self._process: subprocess.Popen[bytes] | None = None
        self._place = _reserve()
        self._port: int = self._place.getsockname()[1]
        self._proxy = Proxy() if proxied else None
        directory.mkdir(parents=True, exist_ok=True)
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._proxy.port if self._proxy else self._port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts it where it was before, with the data it had; returns when clients are accepted."""
        if self.running:
            return
        settings = dict(self._settings)
        if self._proxy is not None:
            settings["advertised.listeners"] = f"PLAINTEXT://127.0.0.1:{self._proxy.port}"
        # The process notes its number itself, before it is a node: there is no moment in which nobody knows of it.
        command = ["/bin/sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self._pid_file)]
        command += [
            sys.executable,
            "-m",
            "moldau",
            "start",
            "--listen",
            f"127.0.0.1:{self._port}",
            "--data",
            str(self.directory / "data"),
        ]
        for name, value in settings.items():
            command += ["--set", f"{name}={value}"]
        with self._log.open("ab") as log:
            # A group of its own: Ctrl-C at the terminal is for the test, which then stops its nodes in order.
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )
        line = self._first_line(self._process)
        if not line.startswith("ready "):
            self._reap()
            raise NodeFailed(f"Node {self.id} did not become ready. Its log ends with:\n{self.log_tail()}")
        if self._proxy is not None:
            self._proxy.lead_to("127.0.0.1", self._port)

    def stop(self) -> None:
        """Shuts it down in order, as SIGTERM does."""
        if not self.running:
            return
        assert self._process is not None
        self.resume()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise NodeFailed(f"Node {self.id} did not stop. Its log ends with:\n{self.log_tail()}") from None
        self._reap()

    def kill(self) -> None:
        """As `kill -9` does: nothing is finished, nothing is said."""
        self._reap()

    def restart(self) -> None:
        """Stops it in order if it runs, and starts it again."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Halts the process (SIGSTOP): connections stay open and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def cut_off(self) -> None:
        """Cuts the network to it: connections stay open, bytes no longer pass, and new connections hang.

        Needs `Cluster(proxied=True)`, because something has to stand between clients and node for that.
        """
        self._between().hold()

    def reconnect(self) -> None:
        """Ends `cut_off`: what was held back passes on."""
        self._between().release()

    def disconnect(self) -> None:
        """Breaks all connections there are at the moment; new ones are possible at once."""
        self._between().drop()

    def close(self) -> None:
        """Ends it at once. The data goes with the directory, so there is nothing to finish."""
        self._reap()
        self._place.close()
        if self._proxy is not None:
            self._proxy.close()

    def log_tail(self, lines: int = _LOG_LINES) -> str:
        if not self._log.exists():
            return ""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])

    # --------------------------------------------------------------------------------------------------- inside

    def _between(self) -> Proxy:
        if self._proxy is None:
            raise NodeFailed("A node can be cut off only in a cluster made with proxied=True.")
        return self._proxy

    def _signal(self, number: signal.Signals) -> None:
        if self.running and self._process is not None:
            self._process.send_signal(number)

    def _reap(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.kill()
        process.wait()
        self._pid_file.unlink(missing_ok=True)
        if process.stdout is not None:
            process.stdout.close()

    @staticmethod
    def _first_line(process: subprocess.Popen[bytes]) -> str:
        assert process.stdout is not None
        deadline = time.monotonic() + _READY_SECONDS
        line = b""
        while not line.endswith(b"\n"):
            readable, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            more = os.read(process.stdout.fileno(), 256) if readable else b""
            if not more:
                break
            line += more
        return line.decode(errors="replace").strip()


def _reserve() -> socket.socket:
    """A port that stays this node's while it is down: bound, so that nobody else is given it, and not listened on, so
    that the node can. Without that a test that restarts a node would fail now and then, whenever many run at once."""
    place = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind(("127.0.0.1", 0))
    return place
