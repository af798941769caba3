"""The console as people start it: a process, found by the address it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from types import TracebackType

PATIENCE = 60.0


class ConsoleProcess:
    def __init__(self, bootstrap: str, *arguments: str) -> None:
        command = [sys.executable, "-m", "moldau", "console", "--bootstrap", bootstrap]
        listen = [] if "--listen" in arguments else ["--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(
            [*command, *listen, "--interval", "1s", "--patience", "60s", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        found = re.search(r"http://(\S+?)/(\S*)", self.first_line)
        assert found is not None, self.first_line + self.process.stdout.read()
        self.address = f"http://{found[1]}"
        self.entrance = f"/{found[2]}"

    def stop(self) -> int:
        self.process.terminate()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait(PATIENCE)
        finally:
            if self.process.stdout is not None:
                self.process.stdout.close()

    def __enter__(self) -> ConsoleProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
