"""The part of `KafkaAdminClient` for share groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from moldau.client.admin import groups, share_groups
from moldau.client.admin.answer import described, kind_of, operations, or_raise
from moldau.client.admin.share_groups import SharePosition
from moldau.client.leaders import by_topic
from moldau.client.session import Session
from moldau.errors import ErrorCode, KafkaError
from moldau.errors.named import NamedError
from moldau.types import TopicPartition


class ShareGroupAdmin:
    def __init__(self, session: Session) -> None:
        self._session = session

    def list_share_groups(self, states_filter: Sequence[str] | None = None) -> list[dict[str, Any]]:
        found = self._session.ask(groups.list_groups(tuple(map(str, states_filter or ())), (share_groups.SHARE,)))
        return [{"group_id": each.group_id, "group_state": each.state, "group_type": each.type} for each in found]

    def describe_share_groups(self, group_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """State, members and what each reads from. What is wrong with one stands in its `error`."""
        found: dict[str, dict[str, Any]] = {}
        for group_id in group_ids:
            try:
                found[group_id] = _group(self._session.ask(share_groups.describe_share_group(group_id)))
            except KafkaError as error:
                if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                    raise
                found[group_id] = {
                    "group_id": group_id,
                    "group_state": "Dead",
                    "members": [],
                    "error": described(error),
                }
        return found

    def list_share_group_offsets(
        self, group_specs: str | Sequence[str] | Mapping[str, Iterable[TopicPartition] | None]
    ) -> dict[str, dict[TopicPartition, SharePosition]]:
        """Where share groups begin in partitions, and how many records are still to be delivered; of all partitions, or
        of those named."""
        wanted = {group_specs: None} if isinstance(group_specs, str) else group_specs
        specs = wanted if isinstance(wanted, Mapping) else dict.fromkeys(wanted)
        return {
            name: {
                where: or_raise(each)
                for where, each in self._session.ask(
                    share_groups.share_positions(
                        name, None if partitions is None else [TopicPartition(*each) for each in partitions]
                    )
                ).items()
            }
            for name, partitions in specs.items()
        }

    def alter_share_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, type[NamedError]]:
        """Moves a share group that has no members; the class of the outcome for each partition."""
        wanted = {TopicPartition(*where): int(offset) for where, offset in offsets.items()}
        found = self._session.ask(share_groups.alter_share_positions(group_id, wanted))
        return {where: kind_of(error) for where, error in found.items()}

    def delete_share_group_offsets(self, group_id: str, topics: Iterable[str]) -> dict[str, type[NamedError]]:
        """Forgets where a share group without members stands in topics; the class of the outcome for each."""
        found = self._session.ask(share_groups.delete_share_positions(group_id, list(topics)))
        return {topic: kind_of(error) for topic, error in found.items()}

    def delete_share_groups(self, group_ids: Sequence[str]) -> dict[str, str]:
        """Deletes share groups without members; the first that cannot be deleted is raised."""
        for group_id in group_ids:
            self._session.ask(groups.delete_group(group_id))
        return dict.fromkeys(group_ids, "OK")


def _group(found: groups.GroupDescription) -> dict[str, Any]:
    return {
        "group_id": found.group_id,
        "group_state": found.state,
        "group_epoch": found.epoch,
        "target_assignment_epoch": found.assignment_epoch,
        "assignor": found.assignor,
        "coordinator": found.coordinator,
        "error": None,
        "authorized_operations": operations(found.authorized_operations),
        "members": [
            {
                "member_id": each.member_id,
                "member_epoch": each.epoch,
                "client_id": each.client_id,
                "client_host": each.host,
                "subscribed_topic_names": list(each.subscription),
                "assignment": {
                    topic: sorted(where.partition for where in partitions)
                    for topic, partitions in by_topic(sorted(each.assigned)).items()
                },
            }
            for each in found.members
        ],
    }
