"""The share coordinator as a play: each line a request or a turn of fortune, below it what was answered.

initialize 0 epoch=N start=N          of partition 0 (or 0,1) of the topic; the group is always g
write 0 leader=N [epoch=N] [start=N] [done=N] [7-9:available:1 ...]
read 0 leader=N
summary 0, delete 0
log                                   the records of the state topic
start                                 up to where it has been pruned
wait MS                               time passes
reload                                the coordinator starts again from its log
lag, catch up                         the high watermark of the log stands still; it follows again
drop                                  the topic is deleted
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from coordinator_world import FakeTime, MemoryLog

from moldau.coordinator.record_framing import decode_record
from moldau.coordinator.share.coordinator import ShareCoordinator
from moldau.coordinator.share.settings import ShareCoordinatorSettings
from moldau.coordinator.share.state import RECORD_TYPES, SHARE_STATE_TOPIC
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, error_code
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages import delete_share_group_state as deletes
from moldau.protocol.messages import initialize_share_group_state as initializes
from moldau.protocol.messages import read_share_group_state as reads
from moldau.protocol.messages import read_share_group_state_summary as summaries
from moldau.protocol.messages import write_share_group_state as writes
from moldau.protocol.messages.partition_record import PartitionRecord
from moldau.protocol.messages.remove_topic_record import RemoveTopicRecord
from moldau.protocol.messages.topic_record import TopicRecord
from moldau.protocol.records import decode_batch
from moldau.types import TopicPartition

STATE = TopicPartition(SHARE_STATE_TOPIC, 0)
TOPIC_ID = (7).to_bytes(16, "big")
STATES = ["available", "acquired", "acknowledged", "?", "archived"]


def check_transcript(path: Path) -> None:
    """Plays the file and compares; with MOLDAU_REWRITE_TRANSCRIPTS=1 writes what was answered instead."""
    written = path.read_text()
    played = play(written)
    if os.environ.get("MOLDAU_REWRITE_TRANSCRIPTS"):
        path.write_text(played)
    assert played == written


def play(text: str) -> str:
    stage: Stage | None = None
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("> "):
            continue
        lines.append(line)
        words = line.split()
        if words and words[0] == "settings":
            stage = Stage({name: int(value) for name, value in (word.split("=", 1) for word in words[1:])})
        elif words and not line.startswith("#"):
            stage = stage or Stage({})
            lines += [f"> {answer}" for answer in stage.play(words)]
    return "\n".join(lines) + "\n"


class Stage:
    def __init__(self, settings: dict[str, int]) -> None:
        self.time = FakeTime()
        self.log = MemoryLog()
        self.pruned: int | None = None
        self.coordinator = ShareCoordinator(
            ShareCoordinatorSettings(**settings), self.log, self.time, self.time, self._prune
        )
        self.image = MetadataImage()
        self.epoch = 0
        for number, name, count in ((1, SHARE_STATE_TOPIC, 1), (7, "t", 4)):
            topic_id = number.to_bytes(16, "big")
            self.change(
                TopicRecord(name=name, topic_id=topic_id),
                *[
                    PartitionRecord(partition_id=index, topic_id=topic_id, replicas=[1], isr=[1], leader=1)
                    for index in range(count)
                ],
            )
        self.reload()
        self.answers: list[str] = []

    def _prune(self, partition: TopicPartition, offset: int) -> None:
        assert partition == STATE
        self.pruned = offset

    def change(self, *records: Any) -> None:
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.apply(self.image.offset + 1, 1)
        self.coordinator.on_image(delta, self.image)

    def reload(self) -> None:
        self.epoch += 1
        self.coordinator.load(0, self.epoch)
        self.time.settle()

    def play(self, words: list[str]) -> list[str]:
        self.answers = []
        verb, rest = words[0], words[1:]
        options = {name: int(value) for name, value in (word.split("=") for word in rest if "=" in word)}
        match verb:
            case "initialize" | "write" | "read" | "summary" | "delete":
                rows = [int(number) for number in rest[0].split(",")]
                batches = [word for word in rest[1:] if "=" not in word]
                self._ask(verb, rows, options, batches)
            case "log":
                self._show_log()
            case "start":
                self.answers.append("nothing is pruned" if self.pruned is None else f"from {self.pruned}")
            case "wait":
                self.time.advance(int(rest[0]))
            case "reload":
                self.reload()
            case "lag":
                self.log.automatic = False
            case "catch":
                self.log.automatic = True
                self.log.commit(STATE)
            case "drop":
                self.change(RemoveTopicRecord(topic_id=TOPIC_ID))
            case _:
                raise ValueError(verb)
        self.time.settle()
        return self.answers

    def _ask(self, verb: str, rows: list[int], options: dict[str, int], batches: list[str]) -> None:
        coordinator = self.coordinator
        epoch, leader, start = options.get("epoch", -1), options.get("leader", -1), options.get("start", -1)
        answer: Deferred[Any]
        match verb:
            case "initialize":
                parts: list[Any] = [
                    initializes.PartitionData(partition=row, state_epoch=epoch, start_offset=start) for row in rows
                ]
                topics: list[Any] = [initializes.InitializeStateData(topic_id=TOPIC_ID, partitions=parts)]
                answer = coordinator.initialize(
                    initializes.InitializeShareGroupStateRequest(group_id="g", topics=topics)
                )
            case "write":
                found = [_batch(word) for word in batches]
                parts = [
                    writes.PartitionData(
                        partition=row,
                        state_epoch=epoch,
                        leader_epoch=leader,
                        start_offset=start,
                        delivery_complete_count=options.get("done", -1),
                        state_batches=found,
                    )
                    for row in rows
                ]
                topics = [writes.WriteStateData(topic_id=TOPIC_ID, partitions=parts)]
                answer = coordinator.write(writes.WriteShareGroupStateRequest(group_id="g", topics=topics))
            case "read":
                parts = [reads.PartitionData(partition=row, leader_epoch=leader) for row in rows]
                topics = [reads.ReadStateData(topic_id=TOPIC_ID, partitions=parts)]
                answer = coordinator.read(reads.ReadShareGroupStateRequest(group_id="g", topics=topics))
            case "summary":
                parts = [summaries.PartitionData(partition=row, leader_epoch=leader) for row in rows]
                topics = [summaries.ReadStateSummaryData(topic_id=TOPIC_ID, partitions=parts)]
                answer = coordinator.read_summary(
                    summaries.ReadShareGroupStateSummaryRequest(group_id="g", topics=topics)
                )
            case _:
                parts = [deletes.PartitionData(partition=row) for row in rows]
                topics = [deletes.DeleteStateData(topic_id=TOPIC_ID, partitions=parts)]
                answer = coordinator.delete(deletes.DeleteShareGroupStateRequest(group_id="g", topics=topics))
        self.time.settle()
        if not answer.settled:
            self.answers.append("(waits)")

        def told(response: Any, error: BaseException | None) -> None:
            assert error is None, error
            for topic in response.results:
                for row in topic.partitions:
                    self.answers.append(f"{row.partition}: {_result(row)}")

        answer.then(told)

    def _show_log(self) -> None:
        data, _ = self.log.read(STATE, 0, 1 << 30)
        position = 0
        for batch in self.log.batches[STATE]:
            for record in decode_batch(data, position, position + len(batch)):
                decoded = decode_record(RECORD_TYPES, record.key, record.value)
                assert decoded is not None
                self.answers.append(f"{record.offset} {_record(decoded.key, decoded.value)}")
            position += len(batch)


def _batch(word: str) -> writes.StateBatch:
    offsets, state, deliveries = word.split(":")
    first, _, last = offsets.partition("-")
    return writes.StateBatch(
        first_offset=int(first),
        last_offset=int(last or first),
        delivery_state=STATES.index(state),
        delivery_count=int(deliveries),
    )


def _batches(rows: Any) -> str:
    return "".join(
        f" {row.first_offset}-{row.last_offset}:{STATES[row.delivery_state]}:{row.delivery_count}" for row in rows
    )


def _result(row: Any) -> str:
    if row.error_code != ErrorCode.NONE:
        return error_code(row.error_code).name + (f" ({row.error_message})" if row.error_message else "")
    if not hasattr(row, "start_offset"):
        return "ok"
    text = f"epoch {row.state_epoch} start {row.start_offset}"
    if hasattr(row, "leader_epoch"):
        return f"{text} leader {row.leader_epoch} done {row.delivery_complete_count}"
    return text + _batches(row.state_batches)


def _record(key: Any, value: Any) -> str:
    name = f"{key.group_id}:t:{key.partition}"
    if value is None:
        return f"tombstone {name}"
    kind = type(value).__name__.removeprefix("Share").removesuffix("Value").lower()
    state = f" state {value.state_epoch}" if kind == "snapshot" else ""
    return (
        f"{kind} {name} epoch {value.snapshot_epoch}{state} leader {value.leader_epoch} start {value.start_offset} "
        f"done {value.delivery_complete_count}{_batches(value.state_batches)}"
    )
