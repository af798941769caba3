"""The express way where not everybody may do everything: each connection writes and commits what it is permitted to.

The express way (`_speed/express`) remembers the partition a connection wrote to last, and writes together what goes to
the same one. So what it is given for a partition is a permit: who it is for, and by which rules. Those who share a
permit are written together, and once the rules are others, or somebody wants to be told of decisions, a permit opens
nothing: its requests go the readable way, and the next one asks for another.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from moldau._speed import BatchHeader
from moldau.replica.partition import Partition
from moldau.replica.runs import Runs
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, TOPIC, Authorization, names_of, str_of
from moldau.server.commit_runs import CommitRuns, Plan
from moldau.server.connection import Connection
from moldau.server.context import Services
from moldau.storage.run import Run, Written
from moldau.types import Uuid

# Principals, hosts and partitions that are remembered.
_MOST_PERMITS: Final = 20_000


class Permit(NamedTuple):
    partition: Partition
    # The rules it was given by.
    rules: object


class Permits:
    """For the connections of one kind of listener; the `Runs` that the network is given."""

    def __init__(self, services: Services, authorization: Authorization, runs: Runs) -> None:
        self.last_version: Final = runs.last_version
        self.commits: Final = None
        self.served: Final = runs.served
        self.services = services
        self.authorization = authorization
        self.runs = runs
        self._rules: object = None
        self._given: dict[tuple[str, str, int], Permit] = {}

    def of(self, connection: Any) -> PermittedRuns:
        return PermittedRuns(self, connection)

    def find(self, _topic: str | Uuid, _index: int) -> None:
        """Nobody has asked yet."""
        return

    def permit(self, connection: Connection, partition: Partition) -> Permit:
        rules = self.authorization.authorizer.rules
        if rules is not self._rules or len(self._given) >= _MOST_PERMITS:
            self._rules = rules
            self._given.clear()
        key = str_of(connection.principal), connection.peer[0], id(partition)
        found = self._given.get(key)
        if found is None or found.partition is not partition:
            found = self._given[key] = Permit(partition, rules)
        return found

    def open(self, permit: Permit) -> Run | None:
        if not self.authorization.is_silent or permit.rules is not self.authorization.authorizer.rules:
            return None
        return self.runs.open(permit.partition)


class PermittedRuns:
    """What one connection may write and commit."""

    def __init__(self, permits: Permits, connection: Connection) -> None:
        self.last_version: Final = permits.last_version
        self.served: Final = permits.served
        commits = permits.runs.commits
        self.commits: Final = (
            PermittedCommits(permits, connection, commits) if isinstance(commits, CommitRuns) else None
        )
        self._permits = permits
        self._connection = connection

    def of(self, _connection: Any) -> PermittedRuns:
        return self

    def find(self, topic: str | Uuid, index: int) -> Permit | None:
        permits, connection = self._permits, self._connection
        partition = permits.runs.find(topic, index)
        if partition is None:
            return None
        names = names_of(permits.services, (topic,))
        if not permits.authorization.allows_plain(connection, Operation.WRITE, TOPIC, names):
            return None
        return permits.permit(connection, partition)

    def open(self, permit: Permit) -> Run | None:
        return self._permits.open(permit)

    def admits(self, permit: Permit, header: BatchHeader) -> bool:
        return self._permits.runs.admits(permit.partition, header)

    def close(
        self,
        permit: Permit,
        position: int,
        end_offset: int,
        first: tuple[int, int],
        newest: tuple[int, int],
        places: dict[int, int],
        written: list[Written],
    ) -> None:
        self._permits.runs.close(permit.partition, position, end_offset, first, newest, places, written)

    def failed(self, permit: Permit) -> None:
        self._permits.runs.failed(permit.partition)


class PermittedCommits:
    def __init__(self, permits: Permits, connection: Connection, commits: CommitRuns) -> None:
        self.last_version: Final = commits.last_version
        self._permits = permits
        self._connection = connection
        self._commits = commits

    def write(self, asked: list[tuple[int, Plan]]) -> list[bool]:
        permitted = [self._may(plan) for _, plan in asked]
        written = iter(self._commits.write([each for each, may in zip(asked, permitted, strict=True) if may]))
        return [may and next(written) for may in permitted]

    def _may(self, plan: Plan) -> bool:
        return may_commit(self._permits.services, self._permits.authorization, self._connection, plan)


def may_commit(services: Services, authorization: Authorization, connection: Connection, plan: Plan) -> bool:
    names = names_of(services, (topic for topic, _ in plan[4]))
    return authorization.allows_plain(connection, Operation.READ, GROUP, (plan[0],)) and authorization.allows_plain(
        connection, Operation.READ, TOPIC, names
    )
