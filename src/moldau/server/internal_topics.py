"""The topics coordinators keep their state in, created when somebody first needs one.

However many clients ask at the same time, the controller is asked once. While there are not enough brokers for the
replicas a topic is set to, it is not created with fewer: those who ask hear that there is no coordinator yet, and come
again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from moldau.config.broker import BrokerConfig
from moldau.deferred import Deferred, pass_on
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.message import Message
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"

_TIMEOUT_MS: Final = 10_000


class InternalTopics:
    def __init__(self) -> None:
        self._on_their_way: dict[str, Deferred[None]] = {}

    def create(
        self, config: BrokerConfig, ask: Callable[[CreateTopicsRequest], Deferred[Message]], name: str
    ) -> Deferred[None]:
        """Settles when the topic exists; fails with COORDINATOR_NOT_AVAILABLE if it cannot be created now.

        `ask` hands the request to the active controller. The metadata of this broker may come a little later than its
        answer.
        """
        waiting: Deferred[None] = Deferred()
        known = self._on_their_way.get(name)
        if known is not None:
            pass_on(known, waiting)
            return waiting
        done = self._on_their_way[name] = Deferred()
        pass_on(done, waiting)

        def answered(response: Message | None, error: BaseException | None) -> None:
            del self._on_their_way[name]
            if response is not None:
                topic = cast("CreateTopicsResponse", response).topics[0]
                code = error_code(topic.error_code)
                if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                    done.resolve(None)
                    return
                error = KafkaError(code, topic.error_message)
            done.fail(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{name} cannot be created: {error}"))

        ask(CreateTopicsRequest(topics=[_definition(config, name)], timeout_ms=_TIMEOUT_MS)).then(answered)
        return waiting


def _definition(config: BrokerConfig, name: str) -> CreatableTopic:
    if name == CONSUMER_OFFSETS:
        partitions, replicas = config.offsets_topic_num_partitions, config.offsets_topic_replication_factor
        settings = {
            "cleanup.policy": "compact",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
            "compression.type": "producer",
        }
    elif name == SHARE_GROUP_STATE:
        partitions = config.share_coordinator_state_topic_num_partitions
        replicas = config.share_coordinator_state_topic_replication_factor
        # Nothing is compacted and nothing expires: the coordinator deletes what stands before its last snapshots.
        settings = {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "segment.bytes": str(config.share_coordinator_state_topic_segment_bytes),
            "min.insync.replicas": str(config.share_coordinator_state_topic_min_isr),
            "retention.ms": "-1",
        }
    else:
        partitions = config.transaction_state_log_num_partitions
        replicas = config.transaction_state_log_replication_factor
        settings = {
            "cleanup.policy": "compact",
            "segment.bytes": str(config.transaction_state_log_segment_bytes),
            "compression.type": "uncompressed",
            "min.insync.replicas": str(config.transaction_state_log_min_isr),
            "unclean.leader.election.enable": "false",
        }
    if config.standalone:
        # Nobody can join this cluster, so there will never be more than one copy of anything.
        replicas = 1
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in settings.items()],
    )
