"""The end of a producer's transaction, as every partition in it gets it."""

from __future__ import annotations

from typing import NamedTuple


class Marker(NamedTuple):
    producer_id: int
    producer_epoch: int
    committed: bool
    # Of the partition of `__transaction_state` whose leader decided it: a later one is obeyed, an earlier one is not.
    coordinator_epoch: int
    transaction_version: int = 0
