"""The part of `KafkaAdminClient` for topics and their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import monotonic, sleep
from typing import Any
from uuid import UUID

from moldau.client.admin import offsets as offset_admin
from moldau.client.admin import topics as topic_admin
from moldau.client.admin.answer import answer, operations, or_raise, topic_id
from moldau.client.admin.config_face import source_name
from moldau.client.admin.objects import IsolationLevel, NewPartitions, NewTopic, RecordsToDelete
from moldau.client.admin.pages import PartitionOnPage, TopicOnPage, describe_page
from moldau.client.exceptions import named
from moldau.client.metadata import TopicView
from moldau.client.session import Session
from moldau.client.structs import OffsetAndTimestamp
from moldau.errors import ErrorCode, KafkaError
from moldau.errors.named import KafkaTimeoutError
from moldau.types import NO_LEADER, ZERO_UUID, TopicPartition

_LOOK_AGAIN = 0.05


class TopicAdmin:
    def __init__(self, session: Session) -> None:
        self._session = session

    def create_topics(
        self,
        new_topics: Sequence[NewTopic | str] | Mapping[str, Mapping[str, Any]],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> dict[str, Any]:
        """Creates topics: objects, names, or names with options. The first one refused is raised."""
        outcomes = self._session.ask(
            topic_admin.create_topics(_new_topics(new_topics), validate_only=validate_only), timeout_ms
        )
        _raise_first(outcomes, raise_errors)
        if wait_for_metadata and not validate_only:
            self.wait_for_topics([outcome.name for outcome in outcomes if outcome.error is None])
        return answer({"throttle_time_ms": 0, "topics": [_created(outcome) for outcome in outcomes]})

    def wait_for_topics(self, topic_names: Sequence[str], timeout_ms: float = 10_000) -> None:
        """Until all partitions of these topics have a leader; KafkaTimeoutError if that takes too long."""
        deadline = monotonic() + timeout_ms / 1000
        missing = list(topic_names)
        while missing:
            found = {topic.name: topic for topic in self._session.ask(topic_admin.list_topics(internal=True))}
            missing = [name for name in missing if not _ready(found.get(name))]
            if missing and monotonic() > deadline:
                raise KafkaTimeoutError(f"Not ready in {timeout_ms} ms: {', '.join(missing)}.")
            if missing:
                sleep(_LOOK_AGAIN)

    def delete_topics(
        self, topics: Sequence[str], timeout_ms: float | None = None, raise_errors: bool = True
    ) -> dict[str, Any]:
        outcomes = self._session.ask(topic_admin.delete_topics(list(topics)), timeout_ms)
        _raise_first(outcomes, raise_errors)
        rows = [{**_outcome(outcome), "topic_id": topic_id(outcome.id)} for outcome in outcomes]
        return answer({"throttle_time_ms": 0, "topics": rows})

    def list_topics(self) -> list[str]:
        return [topic.name for topic in self._session.ask(topic_admin.list_topics(internal=True))]

    def describe_topics(self, topics: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """All topics, or those named; one that is not there says so by its `error_code`."""
        found = self._session.ask(topic_admin.describe_authorized(None if topics is None else list(topics)))
        return [answer(_described(topic, bits)) for topic, bits in found]

    def describe_topic_partitions(
        self,
        topics: Sequence[str],
        response_partition_limit: int = 2000,
        cursor: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """A page of at most so many partitions; `next_cursor` of the answer is the `cursor` of the next page."""
        begin = None if cursor is None else (cursor["topic_name"], cursor["partition_index"])
        page = self._session.ask(describe_page(topics, most=response_partition_limit, begin=begin))
        following = None if page.next is None else {"topic_name": page.next[0], "partition_index": page.next[1]}
        return {"topics": [_paged(topic) for topic in page.topics], "next_cursor": following}

    def create_partitions(
        self,
        topic_partitions: Mapping[str, NewPartitions | int],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> dict[str, Any]:
        """Grows topics to a total number of partitions."""
        counts, placed = {}, {}
        for name, wanted in topic_partitions.items():
            counts[name] = wanted if isinstance(wanted, int) else wanted.total_count
            if not isinstance(wanted, int) and wanted.new_assignments:
                placed[name] = wanted.new_assignments
        conversation = topic_admin.create_partitions(counts, assignments=placed, validate_only=validate_only)
        outcomes = self._session.ask(conversation, timeout_ms)
        _raise_first(outcomes, raise_errors)
        return answer({"throttle_time_ms": 0, "results": [_outcome(outcome) for outcome in outcomes]})

    def delete_records(
        self,
        records_to_delete: Mapping[TopicPartition, int | RecordsToDelete],
        timeout_ms: float | None = None,
        partition_leader_id: int | None = None,
    ) -> dict[TopicPartition, dict[str, int]]:
        """Moves the beginning of partitions; -1 means up to the end. Leaders are found, so none need be named."""
        before = {
            TopicPartition(*where): at.before_offset if isinstance(at, RecordsToDelete) else at
            for where, at in records_to_delete.items()
        }
        found = self._session.ask(offset_admin.delete_records(before), timeout_ms)
        return {
            where: {"partition_index": where.partition, "low_watermark": or_raise(low), "error_code": 0}
            for where, low in found.items()
        }

    def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[TopicPartition, int],
        isolation_level: IsolationLevel | int | str = IsolationLevel.READ_UNCOMMITTED,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """Offsets by time, or by `OffsetSpec`."""
        wanted = {TopicPartition(*where): int(time) for where, time in topic_partition_specs.items()}
        isolation = (
            IsolationLevel[isolation_level.upper()]
            if isinstance(isolation_level, str)
            else IsolationLevel(isolation_level)
        )
        found = self._session.ask(offset_admin.list_offsets(wanted, isolation=isolation), timeout_ms)
        return {where: OffsetAndTimestamp(*or_raise(offset)) for where, offset in found.items()}


def _ready(topic: TopicView | None) -> bool:
    return (
        topic is not None
        and topic.error is ErrorCode.NONE
        and all(each.error is ErrorCode.NONE and each.leader != NO_LEADER for each in topic.partitions.values())
    )


def _new_topics(given: Sequence[NewTopic | str] | Mapping[str, Mapping[str, Any]]) -> list[topic_admin.NewTopic]:
    wanted: list[topic_admin.NewTopic] = []
    options: Mapping[str, Any]
    for each in given:
        if isinstance(each, str):
            options = given[each] if isinstance(given, Mapping) else {}
            partitions, factor = options.get("num_partitions", -1), options.get("replication_factor", -1)
            settings, placed = options.get("configs") or {}, options.get("assignments") or {}
            wanted.append(topic_admin.NewTopic(each, partitions, factor, settings, placed))
        else:
            placed, settings = each.replica_assignments, each.topic_configs
            wanted.append(
                topic_admin.NewTopic(each.name, each.num_partitions, each.replication_factor, settings, placed)
            )
    return wanted


def _raise_first(outcomes: Iterable[topic_admin.TopicOutcome], raise_errors: bool) -> None:
    for outcome in outcomes:
        if outcome.error is not None and raise_errors:
            raise named(outcome.error)


def _outcome(outcome: topic_admin.TopicOutcome) -> dict[str, Any]:
    return {"name": outcome.name, "error_code": _number(outcome.error), "error_message": outcome.message}


def _created(outcome: topic_admin.TopicOutcome) -> dict[str, Any]:
    row = {
        **_outcome(outcome),
        "topic_id": topic_id(outcome.id),
        "num_partitions": outcome.partitions,
        "replication_factor": outcome.replication_factor,
        "topic_config_error_code": 0,
    }
    if outcome.error is None:
        row["configs"] = {
            name: {"value": value, "read_only": fixed, "config_source": source_name(source), "is_sensitive": secret}
            for name, value, fixed, source, secret in outcome.settings
        }
    return row


def _number(error: KafkaError | None) -> int:
    return 0 if error is None else int(error.code)


def _described(topic: TopicView, bits: int) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": topic_id(topic.id),
        "is_internal": topic.internal,
        "error_code": int(topic.error),
        "authorized_operations": operations(bits),
        "partitions": [
            {
                "partition_index": each.index,
                "leader_id": each.leader,
                "leader_epoch": each.leader_epoch,
                "replica_nodes": list(each.replicas),
                "isr_nodes": list(each.isr),
                "offline_replicas": list(each.offline),
                "error_code": int(each.error),
            }
            for each in topic.partitions.values()
        ],
    }


def _paged(topic: TopicOnPage) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": None if topic.id == ZERO_UUID else UUID(bytes=topic.id),
        "is_internal": topic.internal,
        "error_code": int(topic.error),
        "topic_authorized_operations": topic.authorized_operations,
        "partitions": [_partition(each) for each in topic.partitions],
    }


def _partition(each: PartitionOnPage) -> dict[str, Any]:
    return {
        "error_code": int(each.error),
        "partition_index": each.index,
        "leader_id": each.leader,
        "leader_epoch": each.leader_epoch,
        "replica_nodes": list(each.replicas),
        "isr_nodes": list(each.isr),
        "eligible_leader_replicas": list(each.eligible_leaders) if each.eligible_leaders else None,
        "last_known_elr": list(each.last_known_eligible) if each.last_known_eligible else None,
        "offline_replicas": list(each.offline),
    }
