"""The verbs of streams groups, beside those of `group_transcript`:

app words in=lines,extra rep=a chg=b size=3   what the application `words` is: subtopology 0 reads `in` and writes the
                          repartition topic `rep`, which subtopology 1 reads, whose store remembers in `chg`; `size` of
                          `rep`, `epoch=`, `together=yes`: the topics of `in` must have as many partitions
stream A g words          StreamsGroupHeartbeat that joins; `process=P`, `tags=rack:1,zone:2`, `endpoint=host:80`
st A g [active=0:1,2 standby=1:0]   StreamsGroupHeartbeat of a member; one of them alone says that it has no others
out A g                   StreamsGroupHeartbeat that leaves
stop A g                  StreamsGroupHeartbeat that asks the application to end
streams g                 StreamsGroupDescribe
"""

from __future__ import annotations

from typing import Any

from group_transcript import Stage

from moldau.coordinator.group.streams_heartbeat import Heard
from moldau.coordinator.group.streams_topics import Status
from moldau.errors import KafkaError, error_code
from moldau.protocol.messages import streams_group_heartbeat as messages
from moldau.slicing import run_whole


class StreamsStage(Stage):
    def __init__(self, settings: dict[str, str], hurry: bool) -> None:
        super().__init__(settings, hurry)
        self.apps: dict[str, messages.Topology] = {}
        self.endpoint_epochs: dict[str, int] = {}

    def _app(self, plain: list[str], options: dict[str, str]) -> None:
        (name,) = plain
        sources = list(filter(None, options.get("in", "").split(",")))
        reads = messages.Subtopology(subtopology_id="0", source_topics=sources)
        subtopologies = [reads]
        if "together" in options:
            reads.copartition_groups = [messages.CopartitionGroup(source_topics=list(range(len(sources))))]
        if "rep" in options:
            reads.repartition_sink_topics = [options["rep"]]
            between = messages.TopicInfo(name=options["rep"], partitions=int(options.get("size", 0)))
            subtopologies.append(messages.Subtopology(subtopology_id="1", repartition_source_topics=[between]))
        if "chg" in options:
            settings = [messages.KeyValue(key="cleanup.policy", value="compact")]
            changelog = messages.TopicInfo(name=options["chg"], topic_configs=settings)
            subtopologies[-1].state_changelog_topics = [changelog]
        self.apps[name] = messages.Topology(epoch=int(options.get("epoch", 0)), subtopologies=subtopologies)

    def _stream(self, plain: list[str], options: dict[str, str]) -> None:
        name, group, app = plain
        self.ids[name], self.names[f"{name}-id"] = f"{name}-id", name
        endpoint = None
        if "endpoint" in options:
            host, port = options["endpoint"].split(":")
            endpoint = messages.RequestEndpoint(host=host, port=int(port))
        tags = [each.split(":") for each in filter(None, options.get("tags", "").split(","))]
        request = messages.StreamsGroupHeartbeatRequest(
            group_id=group,
            member_id=self.ids[name],
            member_epoch=0,
            rebalance_timeout_ms=int(options.get("rebalance", 60_000)),
            topology=self.apps[app],
            process_id=options.get("process", name),
            user_endpoint=endpoint,
            client_tags=[messages.KeyValue(key=key, value=value) for key, value in tags],
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
        )
        self._send(name, "stream", request)

    def _st(self, plain: list[str], options: dict[str, str]) -> None:
        name, group = plain
        request = messages.StreamsGroupHeartbeatRequest(
            group_id=group,
            member_id=self.ids[name],
            member_epoch=int(options.get("epoch", self.epochs.get(name, 0))),
        )
        if "active" in options or "standby" in options:
            request.active_tasks = _tasks(options.get("active", "-"))
            request.standby_tasks = _tasks(options.get("standby", "-"))
            request.warmup_tasks = []
        self._send(name, "st", request)

    def _out(self, plain: list[str], options: dict[str, str]) -> None:
        name, group = plain
        request = messages.StreamsGroupHeartbeatRequest(group_id=group, member_id=self.ids[name], member_epoch=-1)
        self._send(name, "out", request)

    def _stop(self, plain: list[str], options: dict[str, str]) -> None:
        name, group = plain
        request = messages.StreamsGroupHeartbeatRequest(
            group_id=group, member_id=self.ids[name], member_epoch=self.epochs[name], shutdown_application=True
        )
        self._send(name, "stop", request)

    def _send(self, name: str, what: str, request: messages.StreamsGroupHeartbeatRequest) -> None:
        request.endpoint_information_epoch = self.endpoint_epochs.get(name, 0)

        def shown(heard: Heard) -> str:
            response = heard.response
            if response.error_code:
                return f"{error_code(response.error_code).name} {response.error_message}"
            self.epochs[name] = response.member_epoch
            self.endpoint_epochs[name] = response.endpoint_information_epoch
            text = f"epoch {response.member_epoch}, again in {response.heartbeat_interval_ms}"
            if response.active_tasks is not None:
                text += f", runs {_shown(response.active_tasks)}"
                text += f", keeps {_shown(response.standby_tasks)}" if response.standby_tasks else ""
            for row in response.status or ():
                text += f"; {Status(row.status_code).name}: {row.status_detail}"
            for where in response.partitions_by_user_endpoint or ():
                answers = f"{_topics(where.active_partitions)} ({_topics(where.standby_partitions)})"
                text += f"; {where.user_endpoint.host}:{where.user_endpoint.port} answers for {answers}"
            for topic in heard.missing:
                text += f"; create {topic.name} {topic.partitions}"
            return text

        try:
            answer = self.world.groups.streams.heartbeat(self.world.info(0, name), request)
        except KafkaError as error:
            self.answers.append(f"{name} {what}: {error.code.name} {error.message}")
            return
        self._expect(f"{name} {what}", answer, shown)

    def _streams(self, plain: list[str], options: dict[str, str]) -> None:
        (group,) = plain
        described = run_whole(self.world.groups.streams.describe(group))
        if described.error_code:
            self.answers.append(str(error_code(described.error_code).name))
            return
        epochs = f"epoch {described.group_epoch}, assigned at {described.assignment_epoch}"
        topology = described.topology
        self.answers.append(f"{group} {described.group_state}, {epochs}, topology {topology and topology.epoch}")
        for each in (topology and topology.subtopologies) or ():
            own = [f"{topic.name} {topic.partitions}" for topic in each.repartition_source_topics]
            own += [f"{topic.name} {topic.partitions}" for topic in each.state_changelog_topics]
            reads = ",".join(each.source_topics) or "-"
            self.answers.append(f"  {each.subtopology_id} reads {reads}, own {', '.join(own) or '-'}")
        for member in sorted(described.members, key=lambda each: each.member_id):
            has, target = member.assignment, member.target_assignment
            text = f"  {self._name(member.member_id)} at {member.member_epoch} runs {_shown(has.active_tasks)}"
            text += f", keeps {_shown(has.standby_tasks)}" if has.standby_tasks else ""
            if has != target:
                text += f"; should run {_shown(target.active_tasks)}, keep {_shown(target.standby_tasks)}"
            self.answers.append(text)


def _tasks(word: str) -> list[messages.RequestTaskIds]:
    """`0:1,2;1:0`."""
    rows = []
    for part in [] if word == "-" else word.split(";"):
        subtopology, numbers = part.split(":")
        partitions = [int(number) for number in numbers.split(",")]
        rows.append(messages.RequestTaskIds(subtopology_id=subtopology, partitions=partitions))
    return rows


def _shown(rows: Any) -> str:
    return ";".join(f"{row.subtopology_id}:{','.join(map(str, row.partitions))}" for row in rows) or "nothing"


def _topics(rows: Any) -> str:
    return " ".join(f"{row.topic}:{','.join(map(str, row.partitions))}" for row in rows) or "-"
