"""A pipeline as its file declares it: sources, steps, sinks and who reads whom. Nothing here knows Spark.

Parts are plain: a kind and the values of its fields. What a kind may have stands in `kinds.py`, what it does in
`sources.py`, `steps.py` and `sinks.py`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from moldau.spark.pipeline.fields import Duration
from moldau.spark.pipeline.place import Place

Section = Literal["source", "step", "sink"]

DEAD_LETTERS: Final = "dead_letters"
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


@dataclass(slots=True)
class Part:
    section: Section
    name: str
    kind: str
    fields: dict[str, Any]
    inputs: list[str]
    place: Place
    streaming: bool = False
    lines: dict[str, Place] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        """How a sentence calls it."""
        return "`dead_letters`" if self.name == DEAD_LETTERS else f"{self.section} `{self.name}`"

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def line(self, name: str) -> Place:
        """Where a field of it stands; its own place if the field was left out."""
        return self.lines.get(name, self.place)


@dataclass(slots=True, frozen=True)
class Restart:
    """What happens after a failure: `wait` grows from `backoff` by doubling, up to `max_backoff`."""

    policy: str
    max: int
    backoff: Duration
    max_backoff: Duration

    def wait(self, failures: int) -> float | None:
        """Seconds before the next try after so many failures in a row; None if there is none."""
        if self.policy == "never" or failures > self.max:
            return None
        return min(self.backoff.seconds * 2.0 ** (failures - 1), self.max_backoff.seconds)


@dataclass(slots=True)
class Pipeline:
    name: str
    path: str
    place: Place
    description: str | None
    bootstrap: str
    checkpoint: str
    trigger: Duration
    restart: Restart
    spark: dict[str, str]
    sources: dict[str, Part]
    steps: dict[str, Part]
    sinks: dict[str, Part]
    dead_letters: Part | None
    notes: list[str] = field(default_factory=list)
    # None: where it is safe.
    share: bool | None = None

    @property
    def directory(self) -> str:
        return os.path.dirname(os.path.abspath(self.path))

    @property
    def outputs(self) -> list[Part]:
        """Everything that is written to."""
        return [*self.sinks.values(), *([self.dead_letters] if self.dead_letters else [])]

    @property
    def streaming(self) -> bool:
        return any(part.streaming for part in self.sources.values())

    def part(self, name: str) -> Part:
        return self.sources.get(name) or self.steps[name]

    def upstream(self, part: Part) -> list[Part]:
        """Every part that feeds this one, nearest first, each once."""
        seen: dict[str, Part] = {}
        waiting = list(part.inputs)
        while waiting:
            name = waiting.pop(0)
            if name not in seen:
                seen[name] = self.part(name)
                waiting += seen[name].inputs
        return list(seen.values())

    def located(self, path: str) -> str:
        """A path of the file: relative ones start where the file lies, addresses stay as they are."""
        return located(path, self.directory)

    @property
    def status_file(self) -> str:
        """Beside the checkpoint if that is on this machine, else beside the pipeline's file."""
        local = self.checkpoint.removeprefix("file:")
        if is_address(local):
            return os.path.join(self.directory, f"{self.name}.status.json")
        return f"{local.rstrip('/')}.status.json"


def is_address(path: str) -> bool:
    return bool(_SCHEME.match(path))


def located(path: str, directory: str) -> str:
    return path if is_address(path) or os.path.isabs(path) else os.path.normpath(os.path.join(directory, path))
