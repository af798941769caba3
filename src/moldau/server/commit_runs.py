"""Small offset commits as the kernels read them: what they name, and those of one turn of the loop written together.

The express way (`_speed/express`) brings what several connections ask for at once; the raw handler of OffsetCommit has
one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from moldau.coordinator.group.offset_commit import PlainCommit
from moldau.metadata.image import TopicImage
from moldau.server.context import Services

_IDS_SINCE: Final = 10

# As `_speed.commits.parse_commit` returns it: group, generation, member, instance, and by topic
# (partition, offset, leader epoch, metadata).
Plan: TypeAlias = tuple[str, int, str, str | None, list[tuple[str | bytes, list[tuple[int, int, int, str]]]]]


def plain_commit(services: Services, version: int, plan: Plan) -> PlainCommit | None:
    """The commit with the names and ids of its topics; None if one of its partitions is not there."""
    group_id, generation, member_id, instance_id, topics = plan
    image = services.metadata.image.topics
    find: Mapping[Any, TopicImage] = image.ids if version >= _IDS_SINCE else image.by_name
    rows = []
    for topic, partitions in topics:
        found = find.get(topic)
        if found is None:
            return None
        for row in partitions:
            if row[0] not in found.partitions:
                return None
            rows.append((found.name, found.id, *row))
    return PlainCommit(group_id, generation, member_id, instance_id, version, rows)


class CommitRuns:
    def __init__(self, services: Services, last_version: int) -> None:
        # Of OffsetCommit, as far as it is offered.
        self.last_version: Final = last_version
        self._services = services

    def write(self, asked: list[tuple[int, Plan]]) -> list[bool]:
        """Of each commit and its version, whether it is in the log and counts. The others go the readable way: as far
        as they are concerned nothing has changed."""
        services = self._services
        if services.client_quotas.active:
            return [False] * len(asked)
        return services.groups.plain_commits.commit_together([plain_commit(services, *each) for each in asked])
