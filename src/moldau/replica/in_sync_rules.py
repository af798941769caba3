"""What a leader asks about the brokers of its followers, and what it asks the controller for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from moldau.replica.partition import Partition


class IsrProposal(NamedTuple):
    """An in-sync set the leader asks the controller for, and the epochs that make sure it is still his to ask."""

    partition: Partition
    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int
    grows: bool = False

    @property
    def is_current(self) -> bool:
        """Whether the leader still wants it."""
        return self.partition.proposal is self


class InSyncRules(Protocol):
    """What a leader asks about the other brokers, and where it sends its proposals (`isr`)."""

    @property
    def max_lag_ms(self) -> int: ...

    def now_ms(self) -> int: ...

    def is_alive(self, broker_id: int) -> bool: ...

    def is_stale(self, broker_id: int, broker_epoch: int) -> bool:
        """Whether the broker has been registered anew since it was given this epoch."""
        ...

    def may_join(self, broker_id: int, broker_epoch: int | None) -> bool:
        """Whether a broker that fetched under this epoch may be in sync, as far as the metadata tells."""
        ...

    def propose(self, proposal: IsrProposal) -> None: ...
