"""How talking to a cluster can fail where talking to each of its nodes does (`links/errors`)."""

from __future__ import annotations

from collections.abc import Sequence

from moldau.errors import MoldauError


class NoBrokerAnswers(MoldauError):
    """Not one of the bootstrap addresses answered: there is no cluster to talk to."""

    def __init__(self, addresses: Sequence[str], reason: str | None = None) -> None:
        where = ", ".join(addresses)
        super().__init__(f"No broker answers at {where}" + (f": {reason}." if reason else "."))
        self.addresses = tuple(addresses)
        self.reason = reason
