"""The verbs of share groups, beside those of `group_transcript`:

share A g topics=t        ShareGroupHeartbeat that joins
sb A g [topics=t]         ShareGroupHeartbeat of a member; `epoch=`
quit A g                  ShareGroupHeartbeat that leaves
shares g                  ShareGroupDescribe, and what is known of the state of its partitions
offsets g [t:0,1]         DescribeShareGroupOffsets
move g t:0=5              AlterShareGroupOffsets
drop_offsets g t          DeleteShareGroupOffsets
done g t:0=3, end t:0=9   so many records are done with; the partition ends there
states CODE|fine          what the share coordinators answer from now on
hold, release             their answers wait, and no longer
"""

from __future__ import annotations

from typing import Any

from group_transcript import Stage, _code, _names, _partition_sets

from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages import alter_share_group_offsets as alter
from moldau.protocol.messages import delete_share_group_offsets as delete
from moldau.protocol.messages import describe_share_group_offsets as describe
from moldau.protocol.messages import share_group_heartbeat as sgh
from moldau.slicing import run_whole
from moldau.types import TopicPartition


class ShareStage(Stage):
    def _share(self, plain: list[str], options: dict[str, str]) -> None:
        name, group = plain
        self.ids[name], self.names[f"{name}-id"] = f"{name}-id", name
        topics = _names(options.get("topics", "t"))
        self._heartbeat(name, "share", group, 0, topics, options)

    def _sb(self, plain: list[str], options: dict[str, str]) -> None:
        name, group = plain
        topics = _names(options["topics"]) if "topics" in options else None
        epoch = int(options.get("epoch", self.epochs.get(name, 1)))
        self._heartbeat(name, "sb", group, epoch, topics, options)

    def _quit(self, plain: list[str], options: dict[str, str]) -> None:
        name, group = plain
        self._heartbeat(name, "quit", group, -1, None, options)

    def _heartbeat(
        self, name: str, what: str, group: str, epoch: int, topics: list[str] | None, options: dict[str, str]
    ) -> None:
        request = sgh.ShareGroupHeartbeatRequest(
            group_id=group,
            member_id=self.ids.get(name, f"{name}-id"),
            member_epoch=epoch,
            rack_id=options.get("rack"),
            subscribed_topic_names=topics,
        )

        def shown(response: Any) -> str:
            if response.error_code:
                return str(error_code(response.error_code).name)
            self.epochs[name] = response.member_epoch
            text = f"epoch {response.member_epoch}, again in {response.heartbeat_interval_ms}"
            assigned = response.assignment
            return text if assigned is None else f"{text}, reads {self._assignment(assigned.topic_partitions)}"

        try:
            answer = self.world.groups.shares.heartbeat(self.world.info(1, name), request)
        except KafkaError as error:
            self.answers.append(f"{name} {what}: {error.code.name}")
            return
        self._expect(f"{name} {what}", answer, shown)

    def _shares(self, plain: list[str], options: dict[str, str]) -> None:
        (group,) = plain
        described = run_whole(self.world.groups.shares.describe(group))
        if described.error_code:
            self.answers.append(str(error_code(described.error_code).name))
            return
        epochs = f"epoch {described.group_epoch}, assigned at {described.assignment_epoch}"
        self.answers.append(f"{group} {described.group_state}, {epochs}, {described.assignor_name}")
        for member in sorted(described.members, key=lambda each: each.member_id):
            reads = self._assignment(member.assignment.topic_partitions)
            self.answers.append(f"  {self._name(member.member_id)} at {member.member_epoch} reads {reads}")
        known = self.world.shard.groups.share(group)
        assert known is not None
        for what in ("initializing", "initialized"):
            topics = getattr(known.state_partitions, what).values()
            if topics:
                rows = sorted(f"{each.name}:{','.join(map(str, sorted(each.partitions)))}" for each in topics)
                self.answers.append(f"  {what} {' '.join(rows)}")
        if known.state_partitions.deleting:
            self.answers.append(f"  deleting {' '.join(sorted(known.state_partitions.deleting.values()))}")

    def _offsets(self, plain: list[str], options: dict[str, str]) -> None:
        group, *words = plain
        topics = [
            describe.DescribeShareGroupOffsetsRequestTopic(topic_name=topic, partitions=numbers)
            for word in words
            for topic, numbers in _partition_sets(word)
        ]
        request = describe.DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=topics or None)

        def shown(response: Any) -> str:
            rows = [
                f"{topic.topic_name}:{row.partition_index}="
                + (error_code(row.error_code).name if row.error_code else f"{row.start_offset}, lag {row.lag}")
                for topic in response.topics
                for row in topic.partitions
            ]
            return "; ".join(sorted(rows)) or _code(response, "nothing")

        self._expect("offsets", run_whole(self.world.groups.shares.describe_offsets(request)), shown)

    def _move(self, plain: list[str], options: dict[str, str]) -> None:
        group, word = plain
        where, offset = word.split("=")
        topic, number = where.split(":")
        row = alter.AlterShareGroupOffsetsRequestPartition(partition_index=int(number), start_offset=int(offset))
        request = alter.AlterShareGroupOffsetsRequest(
            group_id=group, topics=[alter.AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=[row])]
        )

        def shown(response: Any) -> str:
            return _code(response) if response.error_code else _code(response.responses[0].partitions[0])

        self._expect("move", self.world.groups.shares.alter_offsets(request), shown)

    def _drop_offsets(self, plain: list[str], options: dict[str, str]) -> None:
        group, *topics = plain
        request = delete.DeleteShareGroupOffsetsRequest(
            group_id=group, topics=[delete.DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in topics]
        )

        def shown(response: Any) -> str:
            if response.error_code:
                return _code(response)
            return " ".join(sorted(f"{row.topic_name} {_code(row)}" for row in response.responses))

        self._expect("drop_offsets", self.world.groups.shares.delete_offsets(request), shown)

    def _done(self, plain: list[str], options: dict[str, str]) -> None:
        group, word = plain
        where, count = word.split("=")
        topic, number = where.split(":")
        self.world.shares.done[group, self.topics[topic], int(number)] = int(count)

    def _end(self, plain: list[str], options: dict[str, str]) -> None:
        where, end = plain[0].split("=")
        topic, number = where.split(":")
        self.world.shares.ends[TopicPartition(topic, int(number))] = (
            int(end) if end.isdigit() else KafkaError(ErrorCode[end])
        )

    def _states(self, plain: list[str], options: dict[str, str]) -> None:
        self.world.shares.refuse = ErrorCode.NONE if plain[0] == "fine" else ErrorCode[plain[0]]

    def _hold(self, plain: list[str], options: dict[str, str]) -> None:
        self.world.shares.held = []

    def _release(self, plain: list[str], options: dict[str, str]) -> None:
        self.world.shares.let_go()
