"""What a broker does now and then: checkpoints, overdue flushes, retention, deleted files, forgotten producers.

Each task runs on the loop and is short; one that fails is reported and runs again next time. The tasks on logs begin
`log.initial.task.delay.ms` after the start and then come in their own intervals, so that a node which is often
restarted deletes and forgets all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.replica.manager import ReplicaManager
from moldau.runtime.ports import Runtime, TimerHandle
from moldau.storage.checkpoint_kinds import COMPACTED, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS
from moldau.storage.cleaner import LogCleaner
from moldau.storage.log_manager import LogManager
from moldau.storage.retention import RetentionPass
from moldau.storage.storage_error import StorageError
from moldau.storage.upkeep import Upkeep

logger = logging.getLogger("moldau.server")

# Deleted files are looked for this often; how long they are kept is the topic's setting.
_REMOVAL_SECONDS: Final = 1.0
# Segments that were closed are forced to disk within this time.
_SEALED_FLUSH_SECONDS: Final = 1.0
# A flush that is due is done within this time, however large `log.flush.scheduler.interval.ms` is.
_LONGEST_FLUSH_WAIT_SECONDS: Final = 3.0
# A log that nobody wrote to for so long closes its files.
_IDLE_FILES_SECONDS: Final = 30.0

Task = Callable[[], None]


class Housekeeping:
    def __init__(
        self,
        config: BrokerConfig,
        logs: LogManager,
        upkeep: Upkeep,
        replicas: ReplicaManager,
        cleaner: LogCleaner,
        runtime: Runtime,
    ) -> None:
        self._loop = runtime.loop
        self._timers: dict[str, TimerHandle] = {}
        retention = RetentionPass(logs, cleaner, runtime.clock, replicas.slicer)
        initial = config.log_initial_task_delay_ms / 1000
        checkpoints = config.log_flush_offset_checkpoint_interval_ms / 1000
        # The name, the first time, the interval, the work.
        self._tasks: tuple[tuple[str, float, float, Task], ...] = (
            ("recovery points", initial, checkpoints, lambda: upkeep.checkpoint(RECOVERY_POINTS)),
            ("compacted offsets", initial, checkpoints, lambda: upkeep.checkpoint(COMPACTED)),
            (
                "log starts",
                initial,
                config.log_flush_start_offset_checkpoint_interval_ms / 1000,
                lambda: upkeep.checkpoint(LOG_STARTS),
            ),
            _at_once(
                "high watermarks",
                config.replica_high_watermark_checkpoint_interval_ms / 1000,
                lambda: upkeep.checkpoint(HIGH_WATERMARKS),
            ),
            (
                "flush",
                initial,
                min(config.log_flush_scheduler_interval_ms / 1000, _LONGEST_FLUSH_WAIT_SECONDS),
                upkeep.flush_overdue,
            ),
            ("retention", initial, config.log_retention_check_interval_ms / 1000, retention.run),
            _at_once("closed segments", _SEALED_FLUSH_SECONDS, upkeep.flush_sealed),
            _at_once("idle files", _IDLE_FILES_SECONDS, upkeep.close_idle_files),
            _at_once("removal", _REMOVAL_SECONDS, upkeep.remove_deleted),
            _at_once("room", _REMOVAL_SECONDS, lambda: replicas.shortages.look_again(runtime.disk)),
            _at_once("partitions without room", _REMOVAL_SECONDS, replicas.open_refused),
            _at_once("producers", config.producer_id_expiration_check_interval_ms / 1000, upkeep.expire_producers),
        )

    def start(self) -> None:
        for name, first, interval, task in self._tasks:
            # An interval shorter than the delay was chosen by somebody who wants it so.
            self._schedule(name, min(first, interval), interval, task)

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _schedule(self, name: str, seconds: float, interval: float, task: Task) -> None:
        def run() -> None:
            try:
                task()
            except StorageError:
                pass  # reported where it happened; the directory is offline or full
            except Exception:
                logger.exception("the regular task %r failed", name)
            self._schedule(name, interval, interval, task)

        self._timers[name] = self._loop.call_later(seconds, run)


def _at_once(name: str, interval: float, task: Task) -> tuple[str, float, float, Task]:
    return name, interval, interval, task
