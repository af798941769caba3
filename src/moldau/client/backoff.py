"""The clients' way of waiting before they try again, on chance of their own."""

from __future__ import annotations

from collections.abc import Callable

from moldau.client.chance import random
from moldau.dataclass import dataclass
from moldau.links.backoff import Backoff as NeutralBackoff


@dataclass(slots=True, frozen=True)
class Backoff(NeutralBackoff):
    chance: Callable[[], float] = random
