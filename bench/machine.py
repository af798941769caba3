"""Where and with what a run was made, so that its numbers can be read later. No host name and no paths."""

from __future__ import annotations

import mmap
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import confluent_kafka

PACKAGES = ("moldau", "confluent-kafka", "kafka-python", "aiokafka", "pyspark", "pyarrow")


def describe() -> dict[str, Any]:
    found: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30), 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            pass
    found["librdkafka"] = confluent_kafka.libversion()[0]
    return found


def java_version() -> str:
    done = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    return done.stderr.splitlines()[0] if done.stderr else "unknown"


def touch_memory(most: int = 6 << 30) -> None:
    """Uses memory once and gives it back. A virtual machine's pages are backed by the host when they are first used,
    ten times slower than later, and whoever writes the first gigabytes to the page cache would pay for it.
    """
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    size = min(most, free // 3)
    if size > 0:
        mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE).close()


def load_average() -> float:
    return os.getloadavg()[0]


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _commit() -> str:
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
