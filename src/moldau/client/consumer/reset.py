"""Where to begin when nothing is committed, or when what is committed is no longer there: `auto_offset_reset`."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from moldau.client.consumer.fetch_state import EARLIEST, LATEST
from moldau.errors.named import KafkaConfigurationError

_BY_DURATION: Final = "by_duration:"
_DURATION: Final = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,9})?)S)?)?", re.IGNORECASE)
_MILLISECONDS: Final = (86_400_000, 3_600_000, 60_000, 1000)


class ResetPolicy(NamedTuple):
    """A stand-in for a time (EARLIEST, LATEST), or how far back from now."""

    stand_in: int = LATEST
    age_ms: int | None = None

    def time(self, now_ms: int) -> int:
        """What to ask brokers for."""
        return self.stand_in if self.age_ms is None else max(0, now_ms - self.age_ms)


_NAMED: Final[dict[str, ResetPolicy | None]] = {
    "earliest": ResetPolicy(EARLIEST),
    "smallest": ResetPolicy(EARLIEST),
    "latest": ResetPolicy(LATEST),
    "largest": ResetPolicy(LATEST),
    "none": None,
}


def reset_policy(text: str) -> ResetPolicy | None:
    """None means: the application wants to hear of it."""
    if text in _NAMED:
        return _NAMED[text]
    if isinstance(text, str) and text.startswith(_BY_DURATION):
        return ResetPolicy(age_ms=_duration(text.removeprefix(_BY_DURATION)))
    raise KafkaConfigurationError(
        f"auto_offset_reset must be 'earliest', 'latest', 'none' or 'by_duration:' and a time, not {text!r}."
    )


def _duration(text: str) -> int:
    """Milliseconds of a duration as ISO 8601 writes it: P1D, PT6H, PT1M30S."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise KafkaConfigurationError(f"{text!r} is not a duration such as PT1H or P1DT12H (ISO 8601).")
    return int(sum(float(part) * unit for part, unit in zip(found.groups(), _MILLISECONDS, strict=True) if part))
