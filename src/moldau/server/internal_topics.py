"""The topics coordinators keep their state in, created when somebody first needs one."""

from __future__ import annotations

from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.server.context import Services

CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"

_TIMEOUT_MS: Final = 10_000


def create_internal_topic(services: Services, name: str) -> Deferred[None]:
    """Settles when the topic exists; fails with COORDINATOR_NOT_AVAILABLE if it cannot be created now."""
    done: Deferred[None] = Deferred()

    def answered(response: CreateTopicsResponse | None, error: BaseException | None) -> None:
        if response is not None:
            code = error_code(response.topics[0].error_code)
            if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                done.resolve(None)
                return
            error = KafkaError(code, response.topics[0].error_message)
        done.fail(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{name} cannot be created: {error}"))

    topic = _definition(services.config, name)
    creation = CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)
    services.controller_channel.ask(creation, timeout=_TIMEOUT_MS / 1000).then(answered)
    return done


def _definition(config: BrokerConfig, name: str) -> CreatableTopic:
    if name == CONSUMER_OFFSETS:
        partitions, replicas = config.offsets_topic_num_partitions, config.offsets_topic_replication_factor
        settings = {
            "cleanup.policy": "compact",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
            "compression.type": "producer",
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
