"""One random schedule of a streams group's life, and what must hold after every step of it.

The application reads a topic in subtopology 0, which writes a repartition topic that subtopology 1 reads and counts in
a store with a changelog. Its members are the threads of three processes. Invariants, by name:

    one runs it       no active task is with two members at once, as far as they know
    one role          no process has a task twice, in whatever roles
    there is such     nobody is told to have a task that the topics do not make
    never back        an acknowledged offset is never followed by an older one
    reload is live    what is replayed from the log is what was in memory
    all is run        once fortune is kind, every task is run by somebody, evenly, with its standby copies
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from group_clients import TOPIC, Client
from group_schedule import GROUP, PARTITIONS, Schedule

from moldau.coordinator.group.streams_group import STABLE, StreamsGroup
from moldau.deferred import Deferred
from moldau.errors import ErrorCode
from moldau.metadata.records import ConfigRecord
from moldau.protocol.messages import streams_group_heartbeat as messages

BETWEEN, CHANGELOG = "app-between", "app-changelog"
BETWEEN_PARTITIONS = 3
PROCESSES = ("p0", "p1", "p2")
REQUESTED = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND)

Task = tuple[str, int]


def application() -> messages.Topology:
    between = messages.TopicInfo(name=BETWEEN, partitions=BETWEEN_PARTITIONS)
    reads = messages.Subtopology(subtopology_id="0", source_topics=[TOPIC], repartition_sink_topics=[BETWEEN])
    counts = messages.Subtopology(
        subtopology_id="1",
        repartition_source_topics=[between],
        state_changelog_topics=[messages.TopicInfo(name=CHANGELOG)],
    )
    return messages.Topology(epoch=0, subtopologies=[reads, counts])


class StreamsClient(Client):
    """A thread: takes what it is given at once, gives up what it must some time later."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.process = self.chance.choice(PROCESSES)
        self.member_id = f"{self.name}-id"
        self.epoch = 0
        # What it was told, and what it has: active tasks, and copies.
        self.told: tuple[set[Task], set[Task]] = (set(), set())
        self.has: tuple[set[Task], set[Task]] = (set(), set())
        self.waiting: Deferred[Any] | None = None

    def act(self) -> None:
        if self.waiting is not None and not self.waiting.settled:
            return
        if self.chance.random() < 0.5:
            for has, told in zip(self.has, self.told, strict=True):
                has &= told
        self._take()
        self.owned = {number for subtopology, number in self.has[0] if subtopology == "0"}
        if self.epoch > 0 and self.chance.random() < 0.3:
            self.commit()
        else:
            self._heartbeat()

    def _take(self) -> None:
        """A task in a new role only when it has been given up in the other."""
        active, standby = self.has
        active |= self.told[0] - standby
        standby |= self.told[1] - active

    def _heartbeat(self) -> None:
        joins = self.epoch == 0
        request = messages.StreamsGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=self.epoch
        )
        if joins:
            request.rebalance_timeout_ms, request.topology, request.process_id = 20_000, application(), self.process
        if joins or self.chance.random() < 0.8:
            request.active_tasks, request.standby_tasks = (_rows(has) for has in self.has)
            request.warmup_tasks = []
        lost = self.chance.random() < 0.1

        def answered(heard: Any, error: BaseException | None) -> None:
            if error is not None:
                raise error
            if heard.missing and self.chance.random() < 0.7:
                self._create(heard.missing)
            if lost:
                return
            response = heard.response
            if response.error_code in REQUESTED:
                self._forget()
            elif not response.error_code:
                self.epoch = response.member_epoch
                if response.active_tasks is not None:
                    self.told = _tasks(response.active_tasks), _tasks(response.standby_tasks)
                    self._take()

        self.waiting = self.world.groups.streams.heartbeat(self.world.info(0, self.name), request)
        self.waiting.then(answered)

    def _create(self, missing: Any) -> None:
        for topic in missing:
            if topic.name not in self.world.image.topics.by_name:
                self.world.create_topic(topic.name, topic.partitions)

    def _forget(self) -> None:
        self.told, self.has, self.owned, self.epoch = (set(), set()), (set(), set()), set(), 0

    def leave(self) -> None:
        request = messages.StreamsGroupHeartbeatRequest(group_id=self.group, member_id=self.member_id, member_epoch=-1)
        self.world.groups.streams.heartbeat(self.world.info(0, self.name), request)
        self._forget()


def _rows(tasks: set[Task]) -> list[messages.RequestTaskIds]:
    return [
        messages.RequestTaskIds(
            subtopology_id=each, partitions=sorted(number for name, number in tasks if name == each)
        )
        for each in sorted({name for name, _ in tasks})
    ]


def _tasks(rows: Any) -> set[Task]:
    return {(row.subtopology_id, number) for row in rows or () for number in row.partitions}


class StreamsSchedule(Schedule):
    def __init__(self, seed: int) -> None:
        super().__init__(seed, "streams")
        self.copies = 0
        self._set_copies()

    def _arrive(self) -> None:
        if len(self.clients) < 6:
            name = f"c{next(self._names)}"
            self.clients.append(StreamsClient(name, GROUP, self.world, self.chance, self.offsets))

    def _grow(self) -> None:
        """Whatever else may happen to an application."""
        self.chance.choice((super()._grow, self._lose_a_topic, self._set_copies))()

    def _lose_a_topic(self) -> None:
        lost = self.chance.choice((BETWEEN, CHANGELOG))
        if lost in self.world.image.topics.by_name:
            self.world.delete_topic(lost)

    def _set_copies(self) -> None:
        self.copies = self.chance.randint(0, 2)
        name = "streams.num.standby.replicas"
        self.world.change([ConfigRecord(resource_type=32, resource_name=GROUP, name=name, value=str(self.copies))])

    # -------------------------------------------------------------------------------------------------- invariants

    def check(self) -> None:
        super().check()
        self.check_there_is_such()

    def check_one_owner(self) -> None:
        runs: dict[Task, str] = {}
        have: dict[tuple[str, Task], str] = {}
        for client in self._members():
            for task in client.has[0]:
                assert runs.setdefault(task, client.name) == client.name, f"{runs[task]} and {client.name} run {task}"
            for task in client.has[0] | client.has[1]:
                other = have.setdefault((client.process, task), client.name)
                assert other == client.name, f"{other} and {client.name} of {client.process} have {task}"

    def check_there_is_such(self) -> None:
        counts = {"0": PARTITIONS, "1": BETWEEN_PARTITIONS}
        for client in self._members():
            for name, number in client.told[0] | client.told[1]:
                assert number < counts[name], f"{client.name} has {name}_{number}"

    def _members(self) -> Iterator[StreamsClient]:
        group = self.world.shard.groups.get(GROUP)
        for client in self.clients:
            known = None if group is None else group.members.get(client.member_id)
            if not client.silent and known is not None and isinstance(client, StreamsClient):
                yield client

    # --------------------------------------------------------------------------------------------------- the end

    def settle(self) -> None:
        super().settle()
        if not self.clients:
            return
        tasks = {("0", number) for number in self.world.image.topics.by_name[TOPIC].partitions}
        stateful = {("1", number) for number in range(BETWEEN_PARTITIONS)}
        tasks |= stateful
        clients = list(self._members())
        assert len(clients) == len(self.clients), "somebody is not in the group"
        assert sorted(task for client in clients for task in client.has[0]) == sorted(tasks), "not every task is run"
        counts = [len(client.has[0]) for client in clients]
        assert max(counts) <= -(-len(tasks) // len(clients)), f"the tasks are not shared out evenly: {counts}"
        processes = {client.process for client in clients}
        copies = min(self.copies, len(processes) - 1)
        kept = sorted(task for client in clients for task in client.has[1])
        assert kept == sorted([*stateful] * copies), "not every state has its copies"
        group = self.world.shard.groups.get(GROUP)
        assert isinstance(group, StreamsGroup)
        assert group.state == STABLE
