"""Groups as a play: each line a request or a turn of fortune, below it what was answered.

    join A g                  A sends JoinGroup; `version=`, `session=`, `rebalance=`, `protocols=a,b`, `topics=`,
                              `instance=`, `type=`, `id=` (`id=none` forgets the member id)
    sync A g [A=x B=y]        SyncGroup, with the assignment if A is the leader
    beat A g                  Heartbeat          leave A g              LeaveGroup, `instance=`
    hello A g topics=t        ConsumerGroupHeartbeat that joins; `pattern=`, `instance=`, `assignor=`
    hb A g [owned=t:0,1]      ConsumerGroupHeartbeat; `owned` is what A says it has, `-` for nothing
    bye A g                   ConsumerGroupHeartbeat that leaves; `static` to come back
    commit A g t:0=5 ...      OffsetCommit; A is `-` for somebody who is not a member; `txn=7` inside a transaction
    fetch g t:0 ...           OffsetFetch; `stable`; without partitions all of them
    marker 7 commit|abort     the end of a transaction
    forget g t:0              OffsetDelete       delete g               DeleteGroups
    list, describe g          ListGroups, DescribeGroups and ConsumerGroupDescribe
    wait MS, reload           time passes; the coordinator starts again from its log
    topic t N, grow t N, drop t                  the topics of the cluster
    refuse CODE, accept       the log refuses appends, or takes them again

Members are known by one letter; ids that the coordinator chooses are printed as that letter.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from group_world import GroupWorld

from moldau.coordinator.group.consumer_protocol import decode_assignment, encode_subscription
from moldau.coordinator.marker import Marker
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages import consumer_group_heartbeat as chb
from moldau.protocol.messages import offset_commit as oc
from moldau.protocol.messages import offset_delete as od
from moldau.protocol.messages import offset_fetch as of
from moldau.protocol.messages import txn_offset_commit as toc
from moldau.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.list_groups import ListGroupsRequest
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from moldau.slicing import run_whole

REWRITE = "MOLDAU_REWRITE_TRANSCRIPTS"


def check_transcript(path: Path, cast: type[Stage] | None = None) -> None:
    """Plays the file and compares; with MOLDAU_REWRITE_TRANSCRIPTS=1 writes what was answered instead."""
    written = path.read_text()
    played = play(written, cast=cast)
    if os.environ.get(REWRITE):
        path.write_text(played)
    assert played == written


def check_in_slices(path: Path, cast: type[Stage] | None = None) -> None:
    """The same answers, whoever of those who are answered together is told first."""
    written = path.read_text()
    assert _sorted_answers(play(written, hurry=True, cast=cast)) == _sorted_answers(written)


def _sorted_answers(text: str) -> list[str]:
    return [
        line
        for is_answer, lines in groupby(text.splitlines(), key=lambda line: line.startswith("> "))
        for line in (sorted(lines) if is_answer else lines)
    ]


def play(text: str, *, hurry: bool = False, cast: type[Stage] | None = None) -> str:
    stage: Stage | None = None
    make = cast or Stage
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("> "):
            continue
        lines.append(line)
        words = line.split()
        if words and words[0] == "settings":
            stage = make(dict(word.split("=", 1) for word in words[1:]), hurry)
        elif words and not line.startswith("#"):
            stage = stage or make({}, hurry)
            lines += [f"> {answer}" for answer in stage.play(words)]
    return "\n".join(lines) + "\n"


class Stage:
    def __init__(self, settings: dict[str, str], hurry: bool) -> None:
        self.world = GroupWorld(settings, hurry=hurry)
        self.ids: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.instances: dict[str, str] = {}
        self.epochs: dict[str, int] = {}
        self.topics: dict[str, bytes] = {}
        self.answers: list[str] = []

    def play(self, words: list[str]) -> list[str]:
        self.answers = []
        # `owned=t:0` is an option, `t:0=5` is not: an option has no colon before its equals sign.
        options = dict(word.split("=", 1) for word in words[1:] if "=" in word and ":" not in word.split("=")[0])
        plain = [word for word in words[1:] if "=" not in word or ":" in word.split("=")[0]]
        getattr(self, f"_{words[0]}")(plain, options)
        self.world.time.settle()
        return self.answers

    # ------------------------------------------------------------------------------------------------------ classic

    def _join(self, plain: list[str], options: dict[str, str]) -> None:
        name, group = plain
        member_id = self.ids.get(name, "")
        if "id" in options:
            member_id = "" if options["id"] == "none" else self.ids.get(options["id"], options["id"])
        if "instance" in options:
            self.instances[options["instance"]] = name
        topics = options.get("topics", "t").split(",")
        metadata = encode_subscription(ConsumerProtocolSubscription(topics=topics), 1)
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=int(options.get("session", 10_000)),
            rebalance_timeout_ms=int(options.get("rebalance", 60_000)),
            member_id=member_id,
            group_instance_id=options.get("instance"),
            protocol_type=options.get("type", "consumer"),
            protocols=[
                JoinGroupRequestProtocol(name=each, metadata=metadata)
                for each in options.get("protocols", "range").split(",")
            ],
        )

        def shown(response: Any) -> str:
            if response.member_id:
                self.ids[name] = response.member_id
                self.names[response.member_id] = name
            if response.error_code:
                return str(error_code(response.error_code).name)
            self.epochs[name] = response.generation_id
            members = "".join(sorted(self._name(row.member_id) for row in response.members))
            text = f"generation {response.generation_id} {response.protocol_name} led by {self._name(response.leader)}"
            text += f", members {members}" if members else ""
            return text + (", skip the assignment" if response.skip_assignment else "")

        info = self.world.info(int(options.get("version", 9)), name)
        self._expect(f"{name} join", self.world.groups.join_group(info, request), shown)

    def _sync(self, plain: list[str], options: dict[str, str]) -> None:
        name, group = plain
        request = SyncGroupRequest(
            group_id=group,
            generation_id=int(options.pop("generation", self.epochs.get(name, -1))),
            member_id=self._id(name, options),
            group_instance_id=options.pop("instance", None),
            protocol_type="consumer",
            protocol_name=options.pop("protocol", None),
            assignments=[
                SyncGroupRequestAssignment(member_id=self.ids[key], assignment=value.encode())
                for key, value in options.items()
            ],
        )
        answer = self.world.groups.sync_group(self.world.info(5), request)
        self._expect(f"{name} sync", answer, lambda response: _code(response, _shown(response.assignment)))

    def _beat(self, plain: list[str], options: dict[str, str]) -> None:
        name, group = plain
        request = HeartbeatRequest(
            group_id=group,
            generation_id=int(options.get("generation", self.epochs.get(name, -1))),
            member_id=self._id(name, options),
            group_instance_id=options.get("instance"),
        )
        self._expect(f"{name} beat", self.world.groups.heartbeat(self.world.info(4), request), _code)

    def _leave(self, plain: list[str], options: dict[str, str]) -> None:
        name, group = plain
        member = MemberIdentity(member_id=self._id(name, options), group_instance_id=options.get("instance"))
        request = LeaveGroupRequest(group_id=group, members=[member])

        def shown(response: Any) -> str:
            return _code(response if response.error_code else response.members[0])

        self._expect(f"{name} leave", self.world.groups.leave_group(self.world.info(5), request), shown)

    # ----------------------------------------------------------------------------------------------------- consumer

    def _hello(self, plain: list[str], options: dict[str, str]) -> None:
        name, group = plain
        member_id = self.ids.setdefault(name, f"{name}-id")
        self.names[member_id] = name
        request = chb.ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member_id,
            member_epoch=0,
            instance_id=options.get("instance"),
            rebalance_timeout_ms=int(options.get("rebalance", 60_000)),
            subscribed_topic_names=_names(options.get("topics", "")),
            subscribed_topic_regex=options.get("pattern"),
            server_assignor=options.get("assignor"),
            topic_partitions=[],
        )
        self._consumer(name, "hello", request)

    def _hb(self, plain: list[str], options: dict[str, str]) -> None:
        name, group = plain
        owned = None
        if "owned" in options:
            owned = [
                chb.RequestTopicPartitions(topic_id=self.topics[topic], partitions=numbers)
                for topic, numbers in _partition_sets(options["owned"])
            ]
        request = chb.ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=self.ids[name],
            member_epoch=int(options.get("epoch", self.epochs.get(name, 0))),
            instance_id=options.get("instance"),
            subscribed_topic_names=_names(options["topics"]) if "topics" in options else None,
            topic_partitions=owned,
        )
        self._consumer(name, "hb", request)

    def _bye(self, plain: list[str], options: dict[str, str]) -> None:
        name, group, *static = plain
        request = chb.ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=self.ids[name],
            member_epoch=-2 if static else -1,
            instance_id=options.get("instance"),
        )
        self._consumer(name, "bye", request)

    def _consumer(self, name: str, what: str, request: chb.ConsumerGroupHeartbeatRequest) -> None:
        def shown(response: Any) -> str:
            if response.error_code:
                return str(error_code(response.error_code).name)
            self.epochs[name] = response.member_epoch
            assigned = response.assignment
            text = f"epoch {response.member_epoch}"
            return text if assigned is None else f"{text} has {self._assignment(assigned.topic_partitions)}"

        answer = self.world.groups.consumer_group_heartbeat(self.world.info(1, name), request)
        self._expect(f"{name} {what}", answer, shown)

    # ------------------------------------------------------------------------------------------------------ offsets

    def _commit(self, plain: list[str], options: dict[str, str]) -> None:
        name, group, *offsets = plain
        rows = [(*word.split("=")[0].rsplit(":", 1), word.split("=")[1]) for word in offsets]
        member_id = "" if name == "-" else self.ids[name]
        generation = -1 if name == "-" else int(options.get("generation", self.epochs.get(name, -1)))
        answer: Deferred[Any]
        if "txn" in options:
            txn = toc.TxnOffsetCommitRequest(
                group_id=group,
                producer_id=int(options["txn"]),
                producer_epoch=0,
                generation_id=generation,
                member_id=member_id,
            )
            for topic, partition, offset in rows:
                row = toc.TxnOffsetCommitRequestPartition(partition_index=int(partition), committed_offset=int(offset))
                txn.topics.append(toc.TxnOffsetCommitRequestTopic(name=topic, partitions=[row]))
            answer = self.world.groups.commit_transactional_offsets(self.world.info(3), txn)
        else:
            request = oc.OffsetCommitRequest(
                group_id=group, generation_id_or_member_epoch=generation, member_id=member_id
            )
            for topic, partition, offset in rows:
                each = oc.OffsetCommitRequestPartition(
                    partition_index=int(partition), committed_offset=int(offset), committed_metadata=options.get("note")
                )
                request.topics.append(oc.OffsetCommitRequestTopic(name=topic, partitions=[each]))
            answer = self.world.groups.commit_offsets(self.world.info(int(options.get("version", 9))), request)
        self._expect(f"{name} commit", answer, lambda response: _code(response.topics[0].partitions[0]))

    def _fetch(self, plain: list[str], options: dict[str, str]) -> None:
        group, *words = plain
        stable = "stable" in words
        topics = [
            of.OffsetFetchRequestTopics(name=topic, partition_indexes=numbers)
            for word in words
            if word != "stable"
            for topic, numbers in _partition_sets(word)
        ]
        request = of.OffsetFetchRequestGroup(group_id=group, topics=topics or None)

        def shown(response: Any) -> str:
            if response.error_code:
                return str(error_code(response.error_code).name)
            rows = [
                f"{topic.name}:{row.partition_index}="
                + (error_code(row.error_code).name if row.error_code else str(row.committed_offset))
                for topic in response.topics
                for row in topic.partitions
            ]
            return " ".join(sorted(rows)) or "nothing"

        self._expect("fetch", self.world.groups.fetch_offsets(request, require_stable=stable), shown)

    def _marker(self, plain: list[str], options: dict[str, str]) -> None:
        producer, how = plain
        answer = self.world.groups.complete_transaction(0, Marker(int(producer), 0, how == "commit", 1))
        self._expect("marker", answer, lambda _: "written")

    def _forget(self, plain: list[str], options: dict[str, str]) -> None:
        group, *words = plain
        request = od.OffsetDeleteRequest(group_id=group)
        for word in words:
            for topic, numbers in _partition_sets(word):
                rows = [od.OffsetDeleteRequestPartition(partition_index=number) for number in numbers]
                request.topics.append(od.OffsetDeleteRequestTopic(name=topic, partitions=rows))

        def shown(response: Any) -> str:
            return _code(response if response.error_code else response.topics[0].partitions[0])

        self._expect("forget", self.world.groups.delete_offsets(request), shown)

    # -------------------------------------------------------------------------------------------------------- tools

    def _delete(self, plain: list[str], options: dict[str, str]) -> None:
        self._expect("delete", self.world.groups.delete_groups(plain), lambda rows: _code(rows[0]))

    def _list(self, plain: list[str], options: dict[str, str]) -> None:
        request = ListGroupsRequest(states_filter=plain)
        groups = run_whole(self.world.groups.list_groups(request)).groups
        rows = [f"{group.group_id} {group.group_type} {group.group_state}" for group in groups]
        self.answers.append("; ".join(sorted(rows)) or "no groups")

    def _describe(self, plain: list[str], options: dict[str, str]) -> None:
        (group,) = plain
        consumer = run_whole(self.world.groups.describe_consumer_group(group))
        if not consumer.error_code:
            epochs = f"epoch {consumer.group_epoch}, assigned at {consumer.assignment_epoch}"
            self.answers.append(f"{group} {consumer.group_state}, {epochs}, {consumer.assignor_name}")
            for member in sorted(consumer.members, key=lambda each: self._name(each.member_id)):
                has = self._assignment(member.assignment.topic_partitions)
                wants = self._assignment(member.target_assignment.topic_partitions)
                kind = "" if member.member_type == 1 else " (classic)"
                name = self._name(member.member_id)
                self.answers.append(f"  {name}{kind} at {member.member_epoch} has {has}, should have {wants}")
            return
        classic = run_whole(self.world.groups.describe_group(group, 5))
        self.answers.append(f"{group} {classic.group_state} {classic.protocol_type} {classic.protocol_data}".strip())
        for row in sorted(classic.members, key=lambda each: self._name(each.member_id)):
            self.answers.append(f"  {self._name(row.member_id)} has {_shown(row.member_assignment)}")

    # ------------------------------------------------------------------------------------------------------ fortune

    def _wait(self, plain: list[str], options: dict[str, str]) -> None:
        self.world.time.advance(int(plain[0]))

    def _reload(self, plain: list[str], options: dict[str, str]) -> None:
        self.world.reload()

    def _topic(self, plain: list[str], options: dict[str, str]) -> None:
        self.world.create_topic(plain[0], int(plain[1]))
        self.topics[plain[0]] = self.world.image.topics.by_name[plain[0]].id

    def _grow(self, plain: list[str], options: dict[str, str]) -> None:
        self.world.add_partitions(plain[0], int(plain[1]))

    def _drop(self, plain: list[str], options: dict[str, str]) -> None:
        self.world.delete_topic(plain[0])

    def _refuse(self, plain: list[str], options: dict[str, str]) -> None:
        self.world.log.refuse = KafkaError(ErrorCode[plain[0]])

    def _accept(self, plain: list[str], options: dict[str, str]) -> None:
        self.world.log.refuse = None

    # -------------------------------------------------------------------------------------------------------- small

    def _expect(self, what: str, answer: Deferred[Any], shown: Callable[[Any], str]) -> None:
        def settled(value: Any, error: BaseException | None) -> None:
            if error is not None:
                raise error
            self.answers.append(f"{what}: {shown(value)}")

        answer.then(settled)

    def _id(self, name: str, options: dict[str, str]) -> str:
        chosen = options.pop("id", name)
        return "" if chosen == "none" else self.ids.get(chosen, chosen)

    def _name(self, member_id: str) -> str:
        # An answer may name a member before that member has its own: an id begins with the client's or instance's.
        begins = member_id.split("-")[0]
        return self.names.get(member_id) or self.instances.get(begins, begins)

    def _assignment(self, rows: Any) -> str:
        texts = []
        for row in rows:
            topic = self.world.image.topics.by_id(row.topic_id)
            texts.append(f"{topic.name if topic else '?'}:{','.join(map(str, row.partitions))}")
        return " ".join(sorted(texts)) or "nothing"


def _names(text: str) -> list[str]:
    return text.split(",") if text else []


def _code(response: Any, otherwise: str = "ok") -> str:
    return str(error_code(response.error_code).name) if response.error_code else otherwise


def _shown(assignment: bytes) -> str:
    """Letters from a transcript as they are; an assignment of the coordinator's own by its partitions."""
    if assignment.isalnum() or not assignment:
        return assignment.decode() or "nothing"
    rows = decode_assignment(assignment).assigned_partitions
    return " ".join(f"{row.topic}:{','.join(map(str, row.partitions))}" for row in rows) or "no partitions"


def _partition_sets(text: str) -> list[tuple[str, list[int]]]:
    if text == "-":
        return []
    pairs = [each.split(":") for each in text.split("/")]
    return [(topic, [int(number) for number in numbers.split(",")]) for topic, numbers in pairs]
