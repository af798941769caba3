"""What a broker does now and then: checkpoints, overdue flushes, retention, deleted files, forgotten producers.

Each task runs on the loop and is short; one that fails is reported and runs again next time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.replica.manager import ReplicaManager
from moldau.runtime.ports import Runtime, TimerHandle
from moldau.storage.cleaner import LogCleaner
from moldau.storage.log_manager import LogManager
from moldau.storage.retention import apply_retention
from moldau.storage.storage_error import StorageError

logger = logging.getLogger("moldau.server")

# Deleted files are looked for this often; how long they are kept is the topic's setting.
_REMOVAL_SECONDS: Final = 1.0
# Segments that were closed are forced to disk within this time.
_SEALED_FLUSH_SECONDS: Final = 1.0
# A flush that is due is done within this time, however large `log.flush.scheduler.interval.ms` is.
_LONGEST_FLUSH_WAIT_SECONDS: Final = 3.0


class Housekeeping:
    def __init__(
        self,
        config: BrokerConfig,
        logs: LogManager,
        replicas: ReplicaManager,
        cleaner: LogCleaner,
        runtime: Runtime,
    ) -> None:
        self._loop = runtime.loop
        self._replicas = replicas
        self._timers: dict[str, TimerHandle] = {}
        self._tasks: tuple[tuple[str, float, Callable[[], None]], ...] = (
            (
                "recovery points",
                config.log_flush_offset_checkpoint_interval_ms / 1000,
                logs.checkpoint_recovery_points,
            ),
            (
                "log starts",
                config.log_flush_start_offset_checkpoint_interval_ms / 1000,
                logs.checkpoint_log_starts,
            ),
            (
                "compacted offsets",
                config.log_flush_offset_checkpoint_interval_ms / 1000,
                cleaner.checkpoint_all,
            ),
            (
                "high watermarks",
                config.replica_high_watermark_checkpoint_interval_ms / 1000,
                logs.checkpoint_high_watermarks,
            ),
            (
                "flush",
                min(config.log_flush_scheduler_interval_ms / 1000, _LONGEST_FLUSH_WAIT_SECONDS),
                logs.flush_overdue,
            ),
            (
                "closed segments",
                _SEALED_FLUSH_SECONDS,
                lambda: logs.flush_sealed(runtime.workers, replicas.storage_failed),
            ),
            (
                "retention",
                config.log_retention_check_interval_ms / 1000,
                lambda: apply_retention(logs.logs.values(), runtime.clock.now_ms(), cleaner.busy),
            ),
            ("removal", _REMOVAL_SECONDS, lambda: logs.remove_deleted(runtime.workers)),
            ("room", _REMOVAL_SECONDS, lambda: replicas.look_for_room(runtime.disk)),
            ("partitions without room", _REMOVAL_SECONDS, replicas.open_refused),
            (
                "producers",
                config.producer_id_expiration_check_interval_ms / 1000,
                logs.expire_producers,
            ),
        )

    def start(self) -> None:
        for name, seconds, task in self._tasks:
            self._schedule(name, seconds, task)

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _schedule(self, name: str, seconds: float, task: Callable[[], None]) -> None:
        def run() -> None:
            try:
                task()
            except StorageError as error:
                self._replicas.storage_failed(error)
            except Exception:
                logger.exception("the regular task %r failed", name)
            self._schedule(name, seconds, task)

        self._timers[name] = self._loop.call_later(seconds, run)
