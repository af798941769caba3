"""The requests of streams groups: the part of the group coordinator that is there while they are switched on."""

from __future__ import annotations

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group import listing
from moldau.coordinator.group.requests import RequestInfo, append_error
from moldau.coordinator.group.shard import GroupShard
from moldau.coordinator.group.share_groups import Look
from moldau.coordinator.group.share_offsets import Write
from moldau.coordinator.group.streams_heartbeat import Heard
from moldau.coordinator.group.streams_requests import check
from moldau.coordinator.runtime import CoordinatorRuntime
from moldau.deferred import Deferred, recovered
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages import streams_group_describe as describes
from moldau.protocol.messages import streams_group_heartbeat as heartbeats
from moldau.runtime.ports import Clock
from moldau.slicing import Work

_STREAMS_PROTOCOL = "streams"
_STREAMS_VERSION = "streams.version"


class StreamsGroups:
    def __init__(
        self, write: Write, look: Look, runtime: CoordinatorRuntime[GroupShard], clock: Clock, config: BrokerConfig
    ) -> None:
        self._write = write
        self._look = look
        self._runtime = runtime
        self._clock = clock
        self._config = config

    @property
    def enabled(self) -> bool:
        """Switched on for the cluster by the feature streams.version, and on this broker by its settings."""
        allowed = _STREAMS_PROTOCOL in self._config.group_coordinator_rebalance_protocols
        return allowed and self._runtime.image.features.get(_STREAMS_VERSION, 0) >= 1

    def _check_enabled(self) -> None:
        if not self.enabled:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "Streams groups are switched off.")

    def heartbeat(self, info: RequestInfo, request: heartbeats.StreamsGroupHeartbeatRequest) -> Deferred[Heard]:
        """Whoever asks creates the topics that are missing."""
        self._check_enabled()
        check(request)
        now = self._clock.now_ms()
        heard = self._write(
            "streams heartbeat", request.group_id, lambda shard: shard.streams.heartbeat(info, request, now)
        )
        return recovered(heard, _refused)

    def describe(self, group_id: str) -> Work[describes.DescribedGroup]:
        image = self._runtime.image
        try:
            self._check_enabled()
            if not group_id:
                raise KafkaError(ErrorCode.INVALID_GROUP_ID)
            return (
                yield from self._look(
                    "describe",
                    group_id,
                    lambda shard, committed: listing.describe_streams(shard.groups, group_id, committed, image),
                )
            )
        except KafkaError as error:
            return describes.DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)


def _refused(error: KafkaError) -> Heard:
    return Heard(
        heartbeats.StreamsGroupHeartbeatResponse(error_code=append_error(error), error_message=error.message, status=[])
    )
