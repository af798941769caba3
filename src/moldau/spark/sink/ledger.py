"""What the broker remembers of a query: one compacted topic, in which a query has one state and a list of claims.

The state says which batch was decided last, with which transactions, and whether those have been ended. It is written
by the driver, in a transaction of the driver's own transactional id, so that only one driver at a time can write it.
A claim says that a task is going to use a transactional id. It is an ordinary record: the log puts claims in an order,
and of two tasks that want the same id the one whose claim comes first has it.

The topic is read to its real end. Other queries write to the same partition, and one whose driver died in the middle of
a transaction holds back what read_committed shows; so markers are looked at here, per producer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import time
from typing import Final, NamedTuple

from moldau.client.admin.configs import ConfigResource, ResourceType, describe_configs
from moldau.client.admin.offsets import LATEST, FoundOffset, IsolationLevel, list_offsets
from moldau.client.admin.topics import NewTopic, create_topics
from moldau.client.conversation import Conversation, Learn, Pause, retrying
from moldau.client.fetching import Fetched, FetchLimits, fetch_request, read_fetch
from moldau.client.metadata import ClusterView
from moldau.client.partitioner import partition_for_key
from moldau.client.producing import deliver
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages.fetch import FetchResponse
from moldau.protocol.records import BatchBuilder, ControlType, Record, control_type, decode_batch, read_header
from moldau.spark.options import OptionError
from moldau.spark.sink.content import Content
from moldau.types import TopicPartition

# Never changed: where a query's state is found must not depend on how many partitions somebody added.
PARTITIONS: Final = 8

_SETTINGS: Final = {
    "cleanup.policy": "compact",
    # Claims count until their batch is decided, and no transaction lives longer than this.
    "min.compaction.lag.ms": str(60 * 60 * 1000),
    "min.cleanable.dirty.ratio": "0.1",
    "segment.bytes": str(16 * 1024 * 1024),
    "segment.ms": str(24 * 60 * 60 * 1000),
    "compression.type": "producer",
}

# How far back from the end a state is looked for before everything is read.
_WINDOW: Final = 2000

_LIMITS: Final = FetchLimits(max_wait_ms=0, min_bytes=0, partition_bytes=8 * 1024 * 1024)


class Opened(NamedTuple):
    """A transaction that a task left open. `implicit` is Kafka's transaction version 2."""

    name: str
    producer_id: int
    producer_epoch: int
    implicit: bool


@dataclass(frozen=True)
class State:
    """`free` are ids of former winners that the same run may use again; claims count from offset `since` on.

    `content` and `input` say what was decided. States that were written before they did so have none.
    """

    batch: int
    finished: bool
    run: str
    transactions: tuple[Opened, ...] = ()
    free: tuple[str, ...] = ()
    since: int = 0
    content: Content | None = None
    input: str = ""

    def encode(self) -> bytes:
        return json.dumps(
            {
                "batch": self.batch,
                "finished": self.finished,
                "run": self.run,
                "transactions": [list(one) for one in self.transactions],
                "free": list(self.free),
                "since": self.since,
                "content": self.content,
                "input": self.input,
            },
            separators=(",", ":"),
        ).encode()

    @classmethod
    def decode(cls, data: bytes) -> State:
        said = json.loads(data)
        opened = tuple(Opened(*one) for one in said["transactions"])
        content = said.get("content")
        return cls(
            said["batch"],
            said["finished"],
            said["run"],
            opened,
            tuple(said["free"]),
            said["since"],
            None if content is None else Content(*content),
            said.get("input", ""),
        )


class Claim(NamedTuple):
    name: str
    run: str
    batch: int
    token: str
    offset: int = -1


@dataclass
class Ledger:
    """As it was when it was read, up to offset `end`. `pending` is a state whose transaction has no marker yet: a
    transaction counts as committed from a moment on that is a little earlier than its marker."""

    state: State | None = None
    claims: list[Claim] = field(default_factory=list)
    end: int = 0
    pending: bool = False

    def owner(self, name: str) -> str | None:
        """The token of the first claim."""
        return next((claim.token for claim in self.claims if claim.name == name), None)

    @property
    def claimed(self) -> set[str]:
        return {claim.name for claim in self.claims}


@dataclass(frozen=True)
class Account:
    """One query's place in the topic."""

    topic: str
    key: str

    @property
    def where(self) -> TopicPartition:
        return TopicPartition(self.topic, partition_for_key(self.key.encode(), PARTITIONS))

    @property
    def state_key(self) -> bytes:
        return self.key.encode()

    def claim_key(self, name: str) -> bytes:
        return f"{self.key}/{name}".encode()


def ensure(account: Account) -> Conversation[None]:
    """Creates the topic if it is not there; refuses one that would forget."""

    def look() -> Conversation[ClusterView]:
        view: ClusterView = yield Learn([account.topic], anew=True)
        return view

    view = yield from retrying(look)
    known = view.topics.get(account.topic)
    if known is None or known.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        outcomes = yield from create_topics([NewTopic(account.topic, PARTITIONS, -1, configs=_SETTINGS)])
        error = outcomes[0].error
        if error is not None and error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise error
        return
    if known.error is ErrorCode.NONE and len(known.partitions) < PARTITIONS:
        raise OptionError(
            f"The topic {account.topic} is to hold decisions and has {len(known.partitions)} partitions; "
            f"it needs {PARTITIONS}, or leave its creation to the sink."
        )
    policy = yield from _cleanup_policy(account.topic)
    if policy is not None and "delete" in policy:
        raise OptionError(
            f"The topic {account.topic} is to hold decisions and has cleanup.policy={policy}, which forgets them; "
            "it must be compact."
        )


def _cleanup_policy(topic: str) -> Conversation[str | None]:
    values = yield from describe_configs(ConfigResource(ResourceType.TOPIC, topic), ["cleanup.policy"])
    return next((value.value for value in values if value.name == "cleanup.policy"), None)


def read(account: Account) -> Conversation[Ledger]:
    """The state that stands, and the claims since. Creates the topic if need be."""
    where = account.where
    while True:
        found = yield from list_offsets({where: LATEST}, isolation=IsolationLevel.READ_UNCOMMITTED)
        latest = found[where]
        if isinstance(latest, FoundOffset):
            break
        if latest.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise latest
        yield from ensure(account)
        yield Pause(0, latest)
    start = max(0, latest.offset - _WINDOW)
    while True:
        ledger, complete = yield from _scan(account, start, latest.offset)
        if complete or start == 0:
            return ledger
        start = 0


def _scan(account: Account, start: int, end: int) -> Conversation[tuple[Ledger, bool]]:
    """What stands in a range of the log, and whether it is all that matters."""
    reading = _Reading(account)
    position = start
    while position < end:
        part: Fetched = yield from _fetch(account.where, position)
        for batch in part.batches:
            reading.take(batch, position)
        if part.next_position <= position:
            break
        position = part.next_position
    ledger = reading.ledger
    ledger.end = max(end, position)
    ledger.pending = reading.pending
    since = ledger.state.since if ledger.state is not None else 0
    ledger.claims = [claim for claim in ledger.claims if claim.offset >= since]
    return ledger, reading.found and since >= start


class _Reading:
    """Goes through batches in order; a state counts when the marker of its transaction comes by."""

    def __init__(self, account: Account) -> None:
        self.ledger = Ledger()
        self.found = False
        self._state_key = account.state_key
        self._claim_prefix = account.claim_key("")
        self._pending: dict[int, State | None] = {}

    @property
    def pending(self) -> bool:
        return bool(self._pending)

    def take(self, batch: memoryview, position: int) -> None:
        header = read_header(batch)
        records = [record for record in decode_batch(batch) if record.offset >= position]
        if header.is_control:
            self._marker(header.producer_id, records)
            return
        for record in records:
            if record.key == self._state_key:
                self._pending[header.producer_id] = State.decode(record.value) if record.value else None
            elif record.key is not None and record.key.startswith(self._claim_prefix) and record.value:
                name = record.key[len(self._claim_prefix) :].decode()
                run, number, token = json.loads(record.value)
                self.ledger.claims.append(Claim(name, run, number, token, record.offset))

    def _marker(self, producer_id: int, records: Sequence[Record]) -> None:
        if producer_id in self._pending and records:
            state = self._pending.pop(producer_id)
            if control_type(records[0]) == ControlType.COMMIT:
                self.ledger.state = state
                self.found = True


def _fetch(where: TopicPartition, position: int) -> Conversation[Fetched]:
    def attempt() -> Conversation[Fetched]:
        view: ClusterView = yield Learn([where.topic])
        isolation = IsolationLevel.READ_UNCOMMITTED
        response: FetchResponse = yield fetch_request(view, {where: position}, _LIMITS, isolation, view.leader(where))
        _check(response.error_code)
        (part,) = read_fetch(view, {where: position}, response, isolation)
        _check(part.error)
        return part

    return retrying(attempt, final=())


def write_claim(account: Account, claim: Claim) -> Conversation[None]:
    value = json.dumps([claim.run, claim.batch, claim.token]).encode()
    builder = BatchBuilder()
    builder.append(round(time() * 1000), account.claim_key(claim.name), value)
    answers = yield from deliver({account.where: builder.build()})
    answer = answers[account.where]
    if isinstance(answer, KafkaError):
        raise answer


def state_records(account: Account, state: State | None, gone: Iterable[str]) -> Mapping[bytes, bytes | None]:
    """What is written to say `state`; the claims `gone` are of no more use to anybody."""
    records: dict[bytes, bytes | None] = {account.claim_key(name): None for name in gone}
    records[account.state_key] = None if state is None else state.encode()
    return records


def _check(number: int) -> None:
    code = error_code(number)
    if code is not ErrorCode.NONE:
        raise KafkaError(code)
