"""What runs out: descriptors and room on disks. The same rules for a broker far away and for this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from moldau.diagnosis.checkup.found import Found, problem, warning
from moldau.quantities import format_size

# Every segment and every connection holds a descriptor; Kafka's own advice is 100,000 at least.
_FEW_DESCRIPTORS: Final = 4096
_MODEST_DESCRIPTORS: Final = 10_000
_NEARLY_ALL: Final = 0.8

_FULL: Final = 0.05
_NEARLY_FULL: Final = 0.15

_MORE_DESCRIPTORS: Final = (
    "Raise it and restart the node: LimitNOFILE=1048576 in its systemd unit, `ulimit -n 1048576` in the shell that "
    "starts it, or nofile in /etc/security/limits.conf."
)


def check_descriptors(who: str, used: int | None, most: int) -> Iterator[Found]:
    """`used` is None where nobody runs with this limit yet."""
    if used is not None and used > most * _NEARLY_ALL:
        yield problem(
            "descriptor-limit",
            f"{who} uses {used:,} of {most:,} descriptors.",
            "With the last one it takes no more connections and opens no more segments.",
            _MORE_DESCRIPTORS,
        )
    elif most < _MODEST_DESCRIPTORS:
        found = problem if most < _FEW_DESCRIPTORS else warning
        yield found(
            "descriptor-limit",
            f"{who} may have {most:,} descriptors" + ("." if used is None else f", and uses {used:,} of them."),
            "Every segment and every connection holds one: that is enough for a small node and few clients only.",
            _MORE_DESCRIPTORS,
        )


def check_room(where: str, free: int, total: int) -> Iterator[Found]:
    share = free / total
    if share >= _NEARLY_FULL:
        return
    found = problem if share < _FULL else warning
    yield found(
        "full-disk",
        f"The disk of {where} has {format_size(free)} of {format_size(total)} left ({share:.0%}).",
        "When it is full, writes are refused (KAFKA_STORAGE_ERROR) and replicas fall behind.",
        "Make room: lower retention.ms or retention.bytes of the largest topics (`moldau brokers describe ID` "
        "shows them), move replicas with `moldau topics reassign`, or enlarge the disk.",
    )
