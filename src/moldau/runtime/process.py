"""What this process takes of the machine, as far as the operating system tells."""

from __future__ import annotations

import gc
import os
import resource
import sys
import threading
import time

from moldau.runtime.ports import ProcessUsage

_STARTED = time.time()


class RealProcess:
    def __init__(self) -> None:
        self._collecting_since = 0.0
        self._collecting_seconds = 0.0
        gc.callbacks.append(self._collected)

    def close(self) -> None:
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)

    def usage(self) -> ProcessUsage:
        own = resource.getrusage(resource.RUSAGE_SELF)
        io = dict(line.split(": ") for line in _lines("/proc/self/io"))
        return ProcessUsage(
            cpu_seconds=own.ru_utime + own.ru_stime,
            resident_bytes=_resident() or _peak(own.ru_maxrss),
            started_at=_STARTED,
            threads=threading.active_count(),
            open_descriptors=_open_descriptors(),
            most_descriptors=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            disk_read_bytes=int(io.get("read_bytes", 0)),
            disk_written_bytes=int(io.get("write_bytes", 0)),
            collections=tuple(each["collections"] for each in gc.get_stats()),
            collecting_seconds=self._collecting_seconds,
        )

    def _collected(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._collecting_since = time.monotonic()
        else:
            self._collecting_seconds += time.monotonic() - self._collecting_since


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _resident() -> int:
    pages = _lines("/proc/self/statm")
    return int(pages[0].split()[1]) * resource.getpagesize() if pages else 0


def _peak(measured: int) -> int:
    """Where nothing else is told: the most there has been. macOS counts bytes, others kilobytes."""
    return measured if sys.platform == "darwin" else measured * 1024


def _open_descriptors() -> int:
    for directory in ("/proc/self/fd", "/dev/fd"):
        try:
            # The one that lists them is among them.
            return len(os.listdir(directory)) - 1
        except OSError:
            continue
    return 0
