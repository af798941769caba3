"""Durations, sizes and moments as people write and read them."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_SIZE_FACTORS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_duration(text: str) -> float:
    """Seconds in `90s`, `1h30m`, `500ms`; a bare number counts seconds."""
    bare = text.strip().lower()
    try:
        seconds = float(bare)
    except ValueError:
        parts = _DURATION.findall(bare)
        if not parts or "".join(number + unit for number, unit in parts) != bare:
            raise ValueError(f"{text!r} is not a duration; write it as in 500ms, 30s, 10m, 2h, 1d or 1h30m") from None
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    if not 0 <= seconds < 1e12:
        raise ValueError(f"{text!r} is not a duration that can be waited for")
    return seconds


def parse_size(text: str) -> int:
    """Bytes in `1000`, `64k`, `1.5MB`; the factors are powers of 1024."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a size; write it as in 500, 64k or 1M")
    return int(float(match[1]) * _SIZE_FACTORS[match[2].lower()])


def parse_time(text: str) -> int:
    """Milliseconds since the epoch of an ISO date and time; without a zone it is local time."""
    from datetime import datetime  # only here and below, because every command loads this file

    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(
            f"{text!r} is not a time; write it as in 2026-01-31T12:00:00 or 2026-01-31T12:00:00Z"
        ) from None
    return round(moment.timestamp() * 1000)


def format_time(milliseconds: int) -> str:
    """ISO in UTC with milliseconds, or `-` for no timestamp and for what no calendar holds."""
    if milliseconds < 0:
        return "-"
    from datetime import UTC, datetime

    try:
        moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(milliseconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03}Z"


def format_size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def counted(count: int, noun: str) -> str:
    """`1 record`, `1,234 records`, `2 batches`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}{'es' if noun.endswith('ch') else 's'}"
