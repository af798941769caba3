"""A standalone Spark cluster on this machine: one master and as many workers as wanted, from the pip package."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import pyspark

from moldau.spark import prepare_java

_HOME = Path(pyspark.__file__).parent
_READY_SECONDS = 120.0


class StandaloneCluster:
    """`url` is what `--master` takes. Workers have an environment of their own, in which our package is not found."""

    def __init__(self, directory: Path, workers: int, *, cores: int = 1, memory: str = "1g") -> None:
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []
        directory.mkdir(parents=True, exist_ok=True)
        prepare_java()
        try:
            log = self._start("master", ["master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"])
            self.url = self._find(log, r"Starting Spark master at (spark://\S+)")
            for number in range(workers):
                work = directory / f"work-{number}"
                arguments = ["worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "--cores", str(cores)]
                log = self._start(
                    f"worker-{number}", [*arguments, "--memory", memory, "--work-dir", str(work), self.url]
                )
                self._find(log, r"(Successfully registered with master)")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> StandaloneCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for process in reversed(self._processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _start(self, name: str, arguments: list[str]) -> Path:
        log = self._directory / f"{name}.log"
        environment = {
            **{key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            "SPARK_HOME": str(_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [str(_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{arguments[0]}", *arguments[1:]]
        with log.open("wb") as out:
            self._processes.append(
                subprocess.Popen(
                    command,
                    cwd=self._directory,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
            )
        return log

    def _find(self, log: Path, pattern: str) -> str:
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline:
            found = re.search(pattern, log.read_text(errors="replace"))
            if found:
                return found[1]
            if self._processes[-1].poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"{log.stem} did not start:\n{log.read_text(errors='replace')[-3000:]}")
