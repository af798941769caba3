"""The states of a transaction, and how one leads to another.

    Empty ──── first partition ───▶ Ongoing ──── end ───▶ PrepareCommit ── markers ──▶ CompleteCommit ─┐
      ▲                               ▲    └─ end, timeout,▶ PrepareAbort ── markers ──▶ CompleteAbort ─┤
      │                               │       new producer                                             │
      │                               └──────────────── first partition of the next ───────────────────┤
      └──────────────────────────────────────── a producer initializes ────────────────────────────────┘

The decision falls with the record of a Prepare state: from then on nothing can change the outcome, whoever crashes.
What follows (a marker in every partition, then the record of the Complete state) is repeated until it is done.

An id may be forgotten while it is Empty or Complete. Dead is the moment before that, and PrepareEpochFence the one
between shutting out a producer and aborting its transaction; neither is ever written to the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class TransactionState(IntEnum):
    """The numbers stand in the log; `label` is what clients and tools see."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        return _LABELS[self]

    @property
    def is_prepared(self) -> bool:
        """The outcome is decided and on its way to the partitions."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_complete(self) -> bool:
        return self in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

    @property
    def may_expire(self) -> bool:
        return self == TransactionState.EMPTY or self.is_complete

    @property
    def commits(self) -> bool:
        """Whether the outcome, decided or reached, is a commit."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)


_LABELS: Final = {state: "".join(word.capitalize() for word in state.name.split("_")) for state in TransactionState}
LABELS: Final[Mapping[str, TransactionState]] = {label: state for state, label in _LABELS.items()}

_AT_REST: Final = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})

# From which states a state can be reached. An abort may follow a state at rest: a producer of transactions version 2
# does not know whether any of its writes arrived, and must be able to abort what never began.
PREDECESSORS: Final[Mapping[TransactionState, frozenset[TransactionState]]] = {
    TransactionState.EMPTY: _AT_REST,
    TransactionState.ONGOING: _AT_REST | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: _AT_REST | {TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE},
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
    TransactionState.DEAD: _AT_REST,
    TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.ONGOING}),
}
