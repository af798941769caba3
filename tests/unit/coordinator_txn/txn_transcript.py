"""Transactions as a play: each line a request or a turn of fortune, below it what was answered.

    init A [timeout=MS] [version=V] [has=ID/EPOCH]    A initializes its transactional id; it keeps what it is given
    add A t:0,1 [v2]            adds partitions (AddPartitionsToTxn; `v2`: as a leader does it for version 2)
    verify A t:0                asks whether they are in it
    offsets A                   AddOffsetsToTxn for a group
    commit A, abort A           EndTxn; `version=V` (5 is transactions version 2), `as=ID/EPOCH`
    show [A]                    what the log remembers
    wait MS                     time passes
    reload                      the coordinator starts again from its log
    hold, release [first]       markers wait; they arrive, or the first of them that were sent
    fail t:0 CODE, heal         markers on the partition are refused; no longer
    lag, catch up               the high watermark of the log stands still; it follows again
    refuse CODE, accept         the log refuses appends, or takes them again
    drop t, create t N          the topic is deleted; it is there again, with N partitions
    feature N                   the cluster agrees on transaction.version N
    exhaust A                   A initializes its id until one epoch is left

Every marker that reaches a partition is printed, with a star.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from txn_world import STATE, TxnWorld

from moldau.coordinator.shard import Result
from moldau.coordinator.txn.settings import TransactionSettings
from moldau.coordinator.txn.transaction import LARGEST_EPOCH, Producer, Transaction, transaction_record
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.feature_level_record import FeatureLevelRecord
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from moldau.slicing import run_whole
from moldau.types import TopicPartition

REWRITE = "MOLDAU_REWRITE_TRANSCRIPTS"


def check_transcript(path: Path) -> None:
    """Plays the file and compares; with MOLDAU_REWRITE_TRANSCRIPTS=1 writes what was answered instead."""
    written = path.read_text()
    played = play(written)
    if os.environ.get(REWRITE):
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
            stage = Stage(dict(word.split("=", 1) for word in words[1:]))
        elif words and not line.startswith("#"):
            stage = stage or Stage({})
            lines += [f"> {answer}" for answer in stage.play(words)]
    return "\n".join(lines) + "\n"


class Stage:
    def __init__(self, settings: dict[str, str]) -> None:
        version = int(settings.pop("version", "2"))
        self.world = TxnWorld(version, TransactionSettings(**{name: int(value) for name, value in settings.items()}))
        self.producers: dict[str, Producer] = {}
        self.answers: list[str] = []

    def play(self, words: list[str]) -> list[str]:
        self.answers = []
        options = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        plain = [word for word in words[1:] if "=" not in word]
        getattr(self, "_" + words[0])(*plain, **({"options": options} if options else {}))
        self.world.time.settle()
        markers, self.world.markers.sent = self.world.markers.sent, []
        return self.answers + [f"* {marker}" for marker in markers]

    # ----------------------------------------------------------------------------------------------------- requests

    def _init(self, name: str, options: dict[str, str] | None = None) -> None:
        options = options or {}
        request = InitProducerIdRequest(
            transactional_id=name.lower(), transaction_timeout_ms=int(options.get("timeout", "60000"))
        )
        if "has" in options:
            request.producer_id, request.producer_epoch = map(int, options["has"].split("/"))
        answer = self.world.coordinator.init_producer_id(request, int(options.get("version", "4")))

        def settled(response: Any) -> str:
            if response.error_code:
                return f"{name} init: {error_code(response.error_code).name}"
            self.producers[name] = Producer(response.producer_id, response.producer_epoch)
            return f"{name} init: producer {response.producer_id} epoch {response.producer_epoch}"

        self._report(answer, settled)

    def _add(self, name: str, places: str, how: str = "", options: dict[str, str] | None = None) -> None:
        answer = self.world.coordinator.add_partitions(
            name.lower(), self._producer(name, options), _places(places), 2 if how == "v2" else 0
        )
        self._report(answer, lambda code: f"{name} add: {_said(code)}")

    def _verify(self, name: str, places: str, options: dict[str, str] | None = None) -> None:
        codes = self.world.coordinator.verify_partitions(name.lower(), self._producer(name, options), _places(places))
        said = ", ".join(f"{place.topic}:{place.partition} {_said(code)}" for place, code in codes.items())
        self.answers.append(f"{name} verify: {said}")

    def _offsets(self, name: str) -> None:
        producer = self.producers[name]
        request = AddOffsetsToTxnRequest(
            transactional_id=name.lower(), producer_id=producer.id, producer_epoch=producer.epoch, group_id="g"
        )
        answer = self.world.coordinator.add_offsets(request, 3)
        self._report(answer, lambda response: f"{name} offsets: {_said(response.error_code)}")

    def _commit(self, name: str, options: dict[str, str] | None = None) -> None:
        self._end(name, True, options or {})

    def _abort(self, name: str, options: dict[str, str] | None = None) -> None:
        self._end(name, False, options or {})

    def _end(self, name: str, commit: bool, options: dict[str, str]) -> None:
        producer, version = self._producer(name, options), int(options.get("version", "3"))
        request = EndTxnRequest(
            transactional_id=name.lower(), producer_id=producer.id, producer_epoch=producer.epoch, committed=commit
        )

        def settled(response: Any) -> str:
            said = _said(response.error_code)
            if not response.error_code and version >= 5:
                self.producers[name] = Producer(response.producer_id, response.producer_epoch)
                said = f"producer {response.producer_id} epoch {response.producer_epoch}"
            return f"{name} {'commit' if commit else 'abort'}: {said}"

        self._report(self.world.coordinator.end(request, version), settled)

    def _producer(self, name: str, options: dict[str, str] | None) -> Producer:
        if options and "as" in options:
            return Producer(*map(int, options["as"].split("/")))
        return self.producers[name]

    def _report(self, answer: Deferred[Any], text: Callable[[Any], str]) -> None:
        def settled(value: Any, error: BaseException | None) -> None:
            assert error is None, error
            self.answers.append(text(value))

        answer.then(settled)

    # ------------------------------------------------------------------------------------------------------- looking

    def _show(self, name: str | None = None) -> None:
        for key, transaction in sorted(self.world.transactions().items()):
            if name is None or key == name.lower():
                self.answers.append(f"{key.upper()} {_described(transaction)}")

    def _describe(self, name: str) -> None:
        request = DescribeTransactionsRequest(transactional_ids=[name.lower()])
        (row,) = self.world.coordinator.describe_transactions(request).transaction_states
        topics = " ".join(f"{topic.topic}:{','.join(map(str, topic.partitions))}" for topic in row.topics)
        said = f"{row.transaction_state} producer {row.producer_id} epoch {row.producer_epoch} {topics}".rstrip()
        self.answers.append(f"{name}: {error_code(row.error_code).name if row.error_code else said}")

    def _list(self, options: dict[str, str] | None = None) -> None:
        options = options or {}
        request = ListTransactionsRequest(
            state_filters=options["state"].split(",") if "state" in options else [],
            producer_id_filters=[int(options["producer"])] if "producer" in options else [],
            duration_filter=int(options.get("longer", "-1")),
            transactional_id_pattern=options.get("pattern"),
        )
        listed = run_whole(self.world.coordinator.list_transactions(request))
        found: list[Any] = []
        if isinstance(listed, Deferred):
            listed.then(lambda value, _: found.append(value))
            self.world.time.settle()
        response = found[0] if found else listed
        rows = sorted((row.transactional_id, row.transaction_state) for row in response.transaction_states)
        said = ", ".join(f"{name} {state}" for name, state in rows) or "nothing"
        if response.error_code:
            said = error_code(response.error_code).name
        if response.unknown_state_filters:
            said += f" (not known: {', '.join(response.unknown_state_filters)})"
        self.answers.append(said)

    # ------------------------------------------------------------------------------------------------------- fortune

    def _wait(self, ms: str) -> None:
        self.world.time.advance(int(ms))

    def _reload(self) -> None:
        self.world.reload()

    def _hold(self) -> None:
        self.world.markers.held = True

    def _release(self, which: str = "") -> None:
        if which:
            self.world.markers.waiting.pop(0)()
        else:
            self.world.markers.held = False
            self.world.markers.release()

    def _fail(self, place: str, code: str) -> None:
        self.world.markers.failing[_places(place)[0]] = ErrorCode[code]

    def _heal(self) -> None:
        self.world.markers.failing.clear()

    def _lag(self) -> None:
        self.world.log.automatic = False

    def _catch(self, up: str) -> None:
        self.world.log.automatic = True
        self.world.log.commit(STATE)

    def _refuse(self, code: str) -> None:
        self.world.log.refuse = KafkaError(ErrorCode[code])

    def _accept(self) -> None:
        self.world.log.refuse = None

    def _drop(self, topic: str) -> None:
        self.world.drop_topic(topic)

    def _create(self, topic: str, partitions: str) -> None:
        self.world.create_topic(topic, int(partitions))

    def _feature(self, level: str) -> None:
        self.world.change([FeatureLevelRecord(name="transaction.version", feature_level=int(level))])

    def _exhaust(self, name: str) -> None:
        """As if it had been initialized some thirty thousand times; the last of them is real."""
        used = self.world.transactions()[name.lower()]._replace(producer_epoch=LARGEST_EPOCH - 2)
        record = transaction_record(used, self.world.shard.transaction_version)
        self.world.coordinator.runtime.write("use up the epochs", 0, lambda _: Result([record], None))
        self._init(name)


def _places(text: str) -> list[TopicPartition]:
    topic, _, indexes = text.partition(":")
    return [TopicPartition(topic, int(index)) for index in indexes.split(",")]


def _said(code: int) -> str:
    return error_code(code).name if code else "ok"


def _described(transaction: Transaction) -> str:
    places = " ".join(map(str, sorted(transaction.partitions)))
    text = f"{transaction.state.label} producer {transaction.producer_id} epoch {transaction.producer_epoch}"
    return f"{text} {places}".rstrip()
