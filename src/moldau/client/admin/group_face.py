"""The part of `KafkaAdminClient` for groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from moldau.client.admin import groups
from moldau.client.admin import offsets as offset_admin
from moldau.client.admin.answer import described, kind_of, operations, or_raise
from moldau.client.admin.group_changes import MemberToRemove, delete_positions, remove_members
from moldau.client.admin.objects import OffsetSpec, OffsetTimestamp
from moldau.client.coordinators import CoordinatorType, find_coordinator
from moldau.client.leaders import by_topic
from moldau.client.session import Session
from moldau.client.structs import OffsetAndMetadata
from moldau.errors import ErrorCode, KafkaError
from moldau.errors.named import NamedError
from moldau.types import TopicPartition


class GroupAdmin:
    """`group_coordinator_id` is taken everywhere and not needed: coordinators are found."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def list_groups(
        self,
        broker_ids: Sequence[int] | None = None,
        states_filter: Sequence[str] | None = None,
        types_filter: Sequence[str] | None = None,
    ) -> list[dict[str, Any]]:
        """The groups of all coordinators, or of those named, of every kind."""
        found = self._session.ask(groups.list_groups(_words(states_filter), _words(types_filter)))
        return [
            {
                "group_id": each.group_id,
                "protocol_type": each.protocol_type,
                "group_state": each.state,
                "group_type": each.type,
            }
            for each in found
            if broker_ids is None or each.coordinator in broker_ids
        ]

    def list_consumer_groups(self, broker_ids: Sequence[int] | None = None) -> list[tuple[str, str]]:
        """Names and protocol types, as earlier versions of kafka-python gave them."""
        return [(each["group_id"], each["protocol_type"]) for each in self.list_groups(broker_ids)]

    def describe_groups(
        self,
        group_ids: Sequence[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """Groups of both protocols. What is wrong with one stands in its `error`."""
        found = {}
        for group_id in group_ids:
            try:
                found[group_id] = _group(self._session.ask(groups.describe_group(group_id)))
            except KafkaError as error:
                if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                    raise
                found[group_id] = _missing(group_id, error)
        return found

    def find_coordinator(self, group_id: str, coordinator_type: int = CoordinatorType.GROUP) -> int:
        """The node that looks after a group, or (1) after a transactional id."""
        return self._session.ask(find_coordinator(group_id, CoordinatorType(coordinator_type)))

    # ---------------------------------------------------------------------------------------------------- offsets

    def list_group_offsets(
        self, group_specs: str | Sequence[str] | Mapping[str, Iterable[TopicPartition] | None]
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        """What groups have committed: of all partitions, or of those named (-1 where nothing is)."""
        wanted = {group_specs: None} if isinstance(group_specs, str) else group_specs
        specs = wanted if isinstance(wanted, Mapping) else dict.fromkeys(wanted)
        return {name: self._committed(name, partitions) for name, partitions in specs.items()}

    def list_consumer_group_offsets(
        self,
        group_id: str,
        group_coordinator_id: int | None = None,
        partitions: Iterable[TopicPartition] | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        return self._committed(group_id, partitions)

    def _committed(
        self, group_id: str, partitions: Iterable[TopicPartition] | None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        found = {
            where: OffsetAndMetadata(each.offset, each.metadata, each.leader_epoch)
            for where, each in self._session.ask(groups.committed_positions(group_id)).items()
        }
        if partitions is None:
            return found
        nothing = OffsetAndMetadata(-1, "", -1)
        return {where: found.get(where, nothing) for where in (TopicPartition(*each) for each in partitions)}

    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        group_coordinator_id: int | None = None,
    ) -> dict[TopicPartition, type[NamedError]]:
        """Moves a group that has no members; the first partition refused is raised."""
        wanted = {TopicPartition(*where): _position(each) for where, each in offsets.items()}
        found = self._session.ask(groups.commit_positions(group_id, wanted))
        return {where: kind_of(or_raise(outcome)) for where, outcome in found.items()}

    def reset_group_offsets(
        self,
        group_id: str,
        offset_specs: Mapping[TopicPartition, int],
        group_coordinator_id: int | None = None,
    ) -> dict[TopicPartition, dict[str, Any]]:
        """Moves a group to an `OffsetSpec`, to an `OffsetTimestamp` or to an offset, each within what is there."""
        specs = {TopicPartition(*where): spec for where, spec in offset_specs.items()}
        first = self._offsets(dict.fromkeys(specs, offset_admin.EARLIEST))
        last = self._offsets(dict.fromkeys(specs, offset_admin.LATEST))
        asked = {where: int(spec) for where, spec in specs.items() if isinstance(spec, OffsetSpec | OffsetTimestamp)}
        found = self._offsets(asked) if asked else {}
        wanted: dict[TopicPartition, int] = {}
        for where, spec in specs.items():
            offset = found.get(where, int(spec))
            wanted[where] = last[where] if offset < 0 else min(max(offset, first[where]), last[where])
        outcomes = self._session.ask(groups.commit_positions(group_id, wanted))
        return {where: {"error": kind_of(error), "offset": wanted[where]} for where, error in outcomes.items()}

    def _offsets(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return {
            where: or_raise(each).offset for where, each in self._session.ask(offset_admin.list_offsets(times)).items()
        }

    def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], group_coordinator_id: int | None = None
    ) -> dict[TopicPartition, type[NamedError]]:
        """Forgets offsets of partitions that no member reads; the class of the outcome for each."""
        found = self._session.ask(delete_positions(group_id, [TopicPartition(*where) for where in partitions]))
        return {where: kind_of(error) for where, error in found.items()}

    # ------------------------------------------------------------------------------------------------ the groups

    def remove_group_members(
        self, group_id: str, members: Iterable[MemberToRemove], group_coordinator_id: int | None = None
    ) -> dict[str, type[NamedError]]:
        """Takes members out of a classic group; the class of the outcome for each, by its id or its instance's."""
        chosen = [MemberToRemove(each.member_id, each.group_instance_id, each.reason) for each in members]
        found = self._session.ask(remove_members(group_id, chosen)) if chosen else {}
        return {member.member_id or member.group_instance_id or "": kind_of(error) for member, error in found.items()}

    def delete_groups(self, group_ids: Sequence[str], group_coordinator_id: int | None = None) -> dict[str, str]:
        """Deletes groups without members; the first that cannot be deleted is raised."""
        for group_id in group_ids:
            self._session.ask(groups.delete_group(group_id))
        return dict.fromkeys(group_ids, "OK")


def _words(given: Sequence[Any] | None) -> tuple[str, ...]:
    """Words of the protocol, also where an enumeration has them."""
    return tuple(str(getattr(each, "value", each)) for each in given or ())


def _position(given: OffsetAndMetadata | int) -> groups.CommittedPosition:
    if isinstance(given, int):
        return groups.CommittedPosition(given, "")
    epoch = given.leader_epoch if given.leader_epoch is not None else -1
    return groups.CommittedPosition(given.offset, given.metadata or "", epoch)


def _group(found: groups.GroupDescription) -> dict[str, Any]:
    return {
        "group_id": found.group_id,
        "group_state": found.state,
        "group_type": found.type,
        "protocol_type": found.protocol_type,
        "protocol_data": found.assignor,
        "coordinator": found.coordinator,
        "error": None,
        "authorized_operations": operations(found.authorized_operations),
        "members": [
            {
                "member_id": each.member_id,
                "group_instance_id": each.instance_id,
                "client_id": each.client_id,
                "client_host": each.host,
                "member_metadata": {"topics": sorted(each.subscription)},
                "member_assignment": {
                    "assigned_partitions": [
                        {"topic": topic, "partitions": sorted(where.partition for where in partitions)}
                        for topic, partitions in by_topic(sorted(each.assigned)).items()
                    ]
                },
            }
            for each in found.members
        ],
    }


def _missing(group_id: str, error: KafkaError) -> dict[str, Any]:
    return {
        "group_id": group_id,
        "group_state": "Dead",
        "group_type": "",
        "protocol_type": "",
        "protocol_data": "",
        "coordinator": -1,
        "error": described(error),
        "authorized_operations": None,
        "members": [],
    }
