"""Where reading starts and ends, as written on the command line: words, offsets, times, durations ago.

earliest  latest  1234  @1767225600000  2026-01-01T00:00:00Z  15m  2h30m
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from time import time

from moldau.quantities import parse_duration, parse_time

HELP = "earliest, latest, an OFFSET, @MILLISECONDS, an ISO time, or a duration ago such as 15m"


class Word(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(slots=True, frozen=True)
class AtOffset:
    offset: int


@dataclass(slots=True, frozen=True)
class AtTime:
    milliseconds: int


@dataclass(slots=True, frozen=True)
class FromEnd:
    """So many records before the end of each partition."""

    records: int


Moment = Word | AtOffset | AtTime | FromEnd

_WORDS = {
    "earliest": Word.EARLIEST,
    "beginning": Word.EARLIEST,
    "start": Word.EARLIEST,
    "latest": Word.LATEST,
    "end": Word.LATEST,
}


def parse_moment(text: str) -> Moment:
    bare = text.strip()
    if bare.lower() in _WORDS:
        return _WORDS[bare.lower()]
    if bare.isascii() and bare.isdigit():
        return AtOffset(int(bare))
    if bare.startswith("@") and bare[1:].isascii() and bare[1:].isdigit():
        return AtTime(int(bare[1:]))
    if bare[-1:].isalpha() and bare[:1].isdigit() and "T" not in bare and ":" not in bare:
        return AtTime(round((time() - parse_duration(bare)) * 1000))
    try:
        return AtTime(parse_time(bare))
    except ValueError:
        raise ValueError(f"{text!r} is neither {HELP}") from None
