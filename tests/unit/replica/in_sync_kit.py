"""What a leader may be told about its followers' brokers, as a test wants it."""

from __future__ import annotations

from moldau.replica.in_sync_rules import IsrProposal


class Rules:
    """Stands for the controller and the metadata: keeps the in-sync sets that were asked for."""

    max_lag_ms = 1000

    def __init__(self) -> None:
        self.time_ms = 1000
        self.proposals: list[IsrProposal] = []
        # The epochs of the brokers that may be in sync; all others are fenced.
        self.epochs = {1: 1, 2: 1, 3: 1}

    @property
    def asked(self) -> list[tuple[int, ...]]:
        return [proposal.isr for proposal in self.proposals]

    def now_ms(self) -> int:
        return self.time_ms

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self.epochs

    def is_stale(self, broker_id: int, broker_epoch: int) -> bool:
        return self.epochs.get(broker_id, -1) > broker_epoch

    def may_join(self, broker_id: int, broker_epoch: int | None) -> bool:
        return broker_epoch is not None and self.epochs.get(broker_id) in (broker_epoch, -1)

    def propose(self, proposal: IsrProposal) -> None:
        self.proposals.append(proposal)
