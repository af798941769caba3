"""The settings of the transaction coordinator, resolved once."""

from __future__ import annotations

from typing import NamedTuple

from moldau.config.broker import BrokerConfig


class TransactionSettings(NamedTuple):
    max_timeout_ms: int = 900_000
    abort_interval_ms: int = 10_000
    expiration_ms: int = 7 * 24 * 3_600_000
    expiration_interval_ms: int = 3_600_000
    load_buffer: int = 5 << 20
    # Off, a producer that wants to keep its transactions open for a second phase is refused.
    two_phase_commit: bool = False

    @classmethod
    def of(cls, config: BrokerConfig) -> TransactionSettings:
        return cls(
            max_timeout_ms=config.transaction_max_timeout_ms,
            abort_interval_ms=config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
            expiration_ms=config.transactional_id_expiration_ms,
            expiration_interval_ms=config.transaction_remove_expired_transaction_cleanup_interval_ms,
            load_buffer=config.transaction_state_log_load_buffer_size,
            two_phase_commit=config.transaction_two_phase_commit_enable,
        )
