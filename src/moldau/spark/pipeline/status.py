"""The file beside the checkpoint that says what a pipeline does, for `moldau pipeline status` and for other tools.

Written whole and moved into place, so that a reader never sees half of it. It is told, not trusted: a process that was
killed leaves `running` behind, so a reader asks whether the process still lives.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from moldau.spark.pipeline.measures import Measure
from moldau.spark.pipeline.model import Pipeline


@dataclass(slots=True)
class Status:
    """`state` is one of starting, running, waiting (for a restart), finished, stopped, failed."""

    pipeline: str
    file: str
    checkpoint: str
    state: str = "starting"
    master: str = ""
    pid: int = 0
    host: str = ""
    started: float = 0.0
    updated: float = 0.0
    restarts: int = 0
    error: str | None = None
    bootstrap: str = ""
    queries: list[dict[str, Any]] = field(default_factory=list)

    @property
    def killed(self) -> bool:
        """Whether it claims to run while its process is gone. Only known on the machine it ran on."""
        if self.state not in ("starting", "running", "waiting") or self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False


class StatusFile:
    def __init__(self, pipeline: Pipeline, master: str) -> None:
        self.path = pipeline.status_file
        now = time.time()
        self.status = Status(
            pipeline=pipeline.name,
            file=os.path.abspath(pipeline.path),
            checkpoint=pipeline.checkpoint,
            master=master,
            pid=os.getpid(),
            host=socket.gethostname(),
            started=now,
            bootstrap=pipeline.bootstrap,
        )

    def write(self, state: str, measures: Sequence[Measure], *, error: str | None = None, restarts: int = 0) -> None:
        status = self.status
        status.state, status.error, status.restarts, status.updated = state, error, restarts, time.time()
        if measures:
            status.queries = [measure.as_json() for measure in measures]
        os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
        temporary = f"{self.path}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(asdict(status), file, indent=1)
        os.replace(temporary, self.path)


def read_status(pipeline: Pipeline) -> Status | None:
    """What the last run left, or None if there never was one here."""
    try:
        with open(pipeline.status_file, encoding="utf-8") as file:
            content = json.load(file)
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    known = Status.__dataclass_fields__
    return Status(**{name: value for name, value in content.items() if name in known})
