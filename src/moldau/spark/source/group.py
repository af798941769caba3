"""The stream's positions under the name of a consumer group, so that lag tools see it like any other consumer.

A stream resumes from Spark's checkpoint and from nowhere else. So what fails here may not stop a query, or hold it up:
positions are sent while the batch runs that was asked for, and what fails is said once in the log, and tried again with
the next batch.

But the group is the one place outside of the checkpoint that remembers how far the query was. Beside each offset stands
the query's name, so that those of others under the same group are not taken for its own: a query that starts before
what it has shown was given an older copy of its checkpoint (`shown_beyond`). Where the user named the group, another
query may have been given the same name; then each overwrites what the other shows, and both say so.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Final

from moldau.client.cluster import Cluster
from moldau.errors import MoldauError
from moldau.spark.source.ranges import Offsets
from moldau.spark.source.settings import Group
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.admin.groups import CommittedPosition

logger = logging.getLogger("moldau.spark.source")

_PATIENCE: Final = 5.0
# So often a group that the user named is looked at for other queries.
_LOOK: Final = 60.0
_MARK: Final = "query "


class GroupPositions:
    """For one thread, beside which at most one other commits."""

    def __init__(self, cluster: Cluster, group: Group) -> None:
        self._cluster = cluster
        self._group = group
        self._tried: Offsets = {}
        self._failing = False
        self._sending: threading.Thread | None = None
        self._shown = False
        self._looked = float("-inf")
        self._told = False

    def show(self, query: str, offsets: Offsets, *, again: bool = False) -> None:
        """Begins to commit without joining the group, which the brokers allow while it has no members.

        What was tried before is not tried again, unless it failed and `again` says that another batch has passed.
        """
        self.settle()
        group_id = self._group.id(query)
        if not group_id or not offsets or (offsets == self._tried and not (again and self._failing)):
            return
        self._tried = offsets
        # A thread and not only a conversation: the messages of groups are imported on the way.
        work = (group_id, offsets, query)
        self._sending = threading.Thread(target=self._send, args=work, name="positions", daemon=True)
        self._sending.start()

    def shown_beyond(self, query: str, offsets: Offsets) -> Offsets:
        """Where this query has shown more than `offsets`; nothing if the group cannot be asked."""
        from moldau.client.admin.groups import committed_positions

        try:
            found = self._cluster.run(committed_positions(self._group.id(query)), timeout=_PATIENCE)
        except MoldauError as error:
            logger.warning("whether the checkpoint is the newest one could not be found out: %s", error)
            return {}
        found = {where: found[where] for where in offsets if where in found}
        self._tell_of_others(found, query)
        return {
            where: found[where].offset
            for where, offset in offsets.items()
            if where in found and found[where].metadata == _mark(query) and found[where].offset > offset
        }

    def settle(self) -> None:
        """Waits for what was begun, which has an end by itself."""
        if self._sending is not None:
            self._sending.join()
            self._sending = None

    def _send(self, group_id: str, offsets: Offsets, query: str) -> None:
        from moldau.client.admin.groups import CommittedPosition, commit_positions, committed_positions

        positions = {where: CommittedPosition(offset, _mark(query)) for where, offset in offsets.items()}
        try:
            if self._group.given and self._shown and monotonic() - self._looked > _LOOK:
                # What stands there now was written after this query had written.
                self._looked = monotonic()
                found = self._cluster.run(committed_positions(group_id), timeout=_PATIENCE)
                self._tell_of_others({where: found[where] for where in offsets if where in found}, query)
            outcomes = self._cluster.run(commit_positions(group_id, positions), timeout=_PATIENCE)
            failure: MoldauError | None = next((error for error in outcomes.values() if error is not None), None)
        except MoldauError as error:
            failure = error
        if failure is not None and not self._failing:
            logger.warning("the group %s cannot show how far the stream is: %s", group_id, failure)
        self._failing = failure is not None
        self._shown = self._shown or failure is None

    def _tell_of_others(self, found: Mapping[TopicPartition, CommittedPosition], query: str) -> None:
        others = {each.metadata for each in found.values() if each.metadata.startswith(_MARK)} - {_mark(query)}
        if others and not self._told:
            self._told = True
            logger.warning(
                "the group %s is given to several queries, %s and this one (%s), and each overwrites the positions "
                "that the others show: what lag tools see is now of one and now of another. Give each a "
                "kafka.group.id of its own, or none.",
                self._group.id(query),
                ", ".join(sorted(other.removeprefix(_MARK) for other in others)),
                query,
            )


def _mark(query: str) -> str:
    """What stands beside the offsets of a query, among what other tools write there."""
    return f"{_MARK}{query}" if query else ""
