"""The stream's positions under the name of a consumer group, so that lag tools see it like any other consumer.

A stream resumes from Spark's checkpoint and from nowhere else. So what fails here may not stop a query, or hold it up:
positions are sent while the batch runs that was asked for, and what fails is said once in the log, and tried again with
the next batch.

But the group is the one place outside of the checkpoint that remembers how far the query was. Beside each offset stands
the query's name, so that those of others under the same group are not taken for its own: a query that starts before
what it has shown was given an older copy of its checkpoint (`shown_beyond`).
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from moldau.client.cluster import Cluster
from moldau.errors import MoldauError
from moldau.spark.source.ranges import Offsets
from moldau.spark.source.settings import Group

logger = logging.getLogger("moldau.spark.source")

_PATIENCE: Final = 5.0


class GroupPositions:
    """For one thread, beside which at most one other commits."""

    def __init__(self, cluster: Cluster, group: Group) -> None:
        self._cluster = cluster
        self._group = group
        self._tried: Offsets = {}
        self._failing = False
        self._sending: threading.Thread | None = None

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
        work = (group_id, offsets, _mark(query))
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

    def _send(self, group_id: str, offsets: Offsets, mark: str) -> None:
        from moldau.client.admin.groups import CommittedPosition, commit_positions

        positions = {where: CommittedPosition(offset, mark) for where, offset in offsets.items()}
        try:
            outcomes = self._cluster.run(commit_positions(group_id, positions), timeout=_PATIENCE)
            failure: MoldauError | None = next((error for error in outcomes.values() if error is not None), None)
        except MoldauError as error:
            failure = error
        if failure is not None and not self._failing:
            logger.warning("the group %s cannot show how far the stream is: %s", group_id, failure)
        self._failing = failure is not None


def _mark(query: str) -> str:
    """What stands beside the offsets of a query, among what other tools write there."""
    return f"query {query}" if query else ""
