"""How far an export has come, in one small file that is replaced whole.

A round of an export goes through two of these: the first names the files that are finished and waiting under
`_staging`, and where the next round begins; then they are moved to their places; the second says that this is done. A
kill before the first loses the round, which is done again. A kill after it loses nothing: the next run moves what is
not yet moved. So no offset is missing and none is there twice, wherever the kill comes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from moldau.runtime.disk import RealDisk
from moldau.spark.history.report import JobError
from moldau.storage.checkpoint import replace_file

# Names that begin so are passed over by everything that reads directories of Parquet.
MANIFEST: Final = "_moldau_export.json"
STAGING: Final = "_staging"
_VERSION: Final = 1


@dataclass(slots=True)
class Manifest:
    topic: str
    by: str
    isolation: str
    positions: dict[str, int] = field(default_factory=dict)  # partition → the next offset to export
    records: int = 0
    files: int = 0
    bytes: int = 0
    # What is being moved: the positions after it, its counts, and (staged, final) of each file.
    committing: dict[str, Any] | None = None
    version: int = _VERSION

    def matches(self, topic: str, by: str, isolation: str) -> bool:
        return (self.topic, self.by, self.isolation) == (topic, by, isolation)


class ExportDirectory:
    """The target of an export. `step` is called between any two changes on disk, for tests that end the process."""

    def __init__(self, path: str, step: Callable[[], None] = lambda: None) -> None:
        self.path = os.path.abspath(path)
        self.staging = os.path.join(self.path, STAGING)
        self._step = step
        self._disk = RealDisk()

    def load(self) -> Manifest | None:
        """What an earlier run left, None where there was none; JobError for something else in the place."""
        path = os.path.join(self.path, MANIFEST)
        try:
            with open(path, encoding="utf-8") as file:
                fields = json.load(file)
            if fields.get("version") != _VERSION:
                raise JobError(f"{path} was written by another version of this command.")
            return Manifest(**fields)
        except FileNotFoundError:
            if os.path.isdir(self.path) and any(name != STAGING for name in os.listdir(self.path)):
                raise JobError(f"{self.path} is not empty and holds no export; name a new directory.") from None
            return None
        except (ValueError, TypeError, AttributeError) as error:
            raise JobError(f"{path} cannot be understood: {error}.") from error

    def save(self, manifest: Manifest) -> None:
        self._step()
        os.makedirs(self.path, exist_ok=True)
        content = json.dumps(asdict(manifest), indent=1, sort_keys=True)
        replace_file(self._disk, os.path.join(self.path, MANIFEST), content.encode())
        self._step()

    def clear_staging(self) -> None:
        """Files of a round that was never announced, and of tasks that were tried twice."""
        shutil.rmtree(self.staging, ignore_errors=True)
        os.makedirs(self.staging, exist_ok=True)
        self._step()

    def remove_staging(self) -> None:
        shutil.rmtree(self.staging, ignore_errors=True)

    def complete(self, manifest: Manifest) -> None:
        """Moves the files that are announced to their places, as many as are not there yet."""
        waiting = manifest.committing
        if waiting is None:
            return
        directories = set()
        for staged, final in waiting["files"]:
            source, target = os.path.join(self.staging, staged), os.path.join(self.path, final)
            if os.path.exists(source):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.replace(source, target)
                self._step()
            elif not os.path.exists(target):
                raise JobError(f"{target} is missing: somebody else changed the export; export to a new directory.")
            directories.add(os.path.dirname(target))
        for directory in directories:
            # The whole way down: the directories above may be new, too.
            while len(directory) >= len(self.path):
                self._disk.sync_directory(directory)
                directory = os.path.dirname(directory)
        manifest.positions.update(waiting["positions"])
        manifest.records += waiting["records"]
        manifest.files += len(waiting["files"])
        manifest.bytes += waiting["bytes"]
        manifest.committing = None
        self.save(manifest)
