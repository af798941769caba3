"""`moldau consume --group` and `--share-group`: records as a member of a group. What was written out is committed, or
accepted; whatever ends the command, the group is left in order."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol, Self

from moldau.cli.connection import client_settings, connect
from moldau.cli.failure import DONE, FAILED, USAGE, Failure
from moldau.cli.progress import Progress
from moldau.cli.record_output import Formatter
from moldau.cli.table import note
from moldau.errors import KafkaError
from moldau.moments import Word
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.cli.record_output import Record
    from moldau.client.consumer.face import KafkaConsumer
    from moldau.client.share.face import KafkaShareConsumer

_OUTPUT_BUFFER: Final = 64 * 1024
# At once, unless fewer are wanted.
_MOST: Final = 500
_POLL_MS: Final = 500


class _Member(Protocol):
    @property
    def is_in(self) -> bool:
        """Whether the group has taken it up; before that there cannot be anything to read."""
        ...

    def poll(self, most: int) -> Mapping[TopicPartition, Sequence[Record]]: ...

    def accept(self) -> Iterable[str]:
        """What was polled last is done with. Sentences about what the group does not take, and hands out again."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class _Leaving:
    """The end of either kind of member."""

    _consumer: KafkaConsumer | KafkaShareConsumer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.__exit__(kind, error, trace)


class _OfConsumerGroup(_Leaving):
    _consumer: KafkaConsumer

    def __init__(self, options: Namespace) -> None:
        from moldau.client.consumer.face import KafkaConsumer

        self._consumer = KafkaConsumer(
            *dict.fromkeys(options.topics),
            **client_settings(options),
            group_id=options.group,
            auto_offset_reset=options.start.value,
            enable_auto_commit=False,
            allow_auto_create_topics=False,
            isolation_level=options.isolation.replace("-", "_"),
        )

    @property
    def is_in(self) -> bool:
        return self._consumer.group_metadata().generation_id >= 0

    def poll(self, most: int) -> Mapping[TopicPartition, Sequence[Record]]:
        return self._consumer.poll(_POLL_MS, most)

    def accept(self) -> Iterable[str]:
        try:
            self._consumer.commit()
        except KafkaError as error:
            yield f"What was read last may be read again by this group: {error}"


class _OfShareGroup(_Leaving):
    _consumer: KafkaShareConsumer

    def __init__(self, options: Namespace) -> None:
        from moldau.client.share.face import KafkaShareConsumer

        self._consumer = KafkaShareConsumer(
            *dict.fromkeys(options.topics),
            **client_settings(options),
            group_id=options.share_group,
            max_poll_records=_most(options, 0),
            # More than is wanted would be locked for everybody else.
            share_acquire_mode="batch_optimized" if options.max is None else "record_limit",
        )

    @property
    def is_in(self) -> bool:
        return bool(self._consumer.assignment())

    def poll(self, most: int) -> Mapping[TopicPartition, Sequence[Record]]:
        return self._consumer.poll(_POLL_MS, most)

    def accept(self) -> Iterable[str]:
        for where, error in self._consumer.commit_sync().items():
            if error is not None:
                yield f"What was read of {where} is delivered again: {error}"


def consume_as_member(options: Namespace, write: Formatter) -> int:
    kind = _check_share_group(options) if options.share_group is not None else _check_group(options)
    progress = Progress(shown=not options.quiet and not sys.stdout.isatty())
    if options.max == 0:
        return DONE
    _check_topics(options)
    with open(sys.stdout.fileno(), "wb", _OUTPUT_BUFFER, closefd=False) as output, kind(options) as member:
        try:
            refused = _consume(member, options, write, output, progress)
        finally:
            progress.clear()
    if not options.quiet and not sys.stdout.isatty():
        note(f"{', '.join(options.topics)}: {progress.summary()}")
    for sentence in refused:
        note(f"moldau: {sentence}")
    return FAILED if refused else DONE


def _check_group(options: Namespace) -> type[_OfConsumerGroup]:
    if options.start not in (Word.EARLIEST, Word.LATEST):
        raise Failure(
            "A group goes on where it stands. --from earliest and latest say where it begins if it has committed "
            "nothing; `moldau groups reset-offsets` moves it.",
            USAGE,
        )
    _refuse("--group", "the group's matter", {
        "--tail": options.tail is not None,
        "--until": options.until is not None,
        "--partition": options.partition,
    })  # fmt: skip
    return _OfConsumerGroup


def _check_share_group(options: Namespace) -> type[_OfShareGroup]:
    _refuse("--share-group", "the share group's matter", {
        "--from": options.start is not Word.EARLIEST,
        "--tail": options.tail is not None,
        "--until": options.until is not None,
        "--partition": options.partition,
        "--isolation": options.isolation != "read-uncommitted",
    })  # fmt: skip
    return _OfShareGroup


def _refuse(chosen: str, why: str, given: Mapping[str, object]) -> None:
    for name, value in given.items():
        if value:
            raise Failure(f"{name} is {why}, and does not go with {chosen}.", USAGE)


def _check_topics(options: Namespace) -> None:
    """A member waits for a topic that is not there; whoever has mistyped its name would wait for ever."""
    from moldau.client.admin import describe_topics

    with connect(options) as cluster:
        cluster.run(describe_topics(list(dict.fromkeys(options.topics))))


def _most(options: Namespace, read: int) -> int:
    return _MOST if options.max is None else min(_MOST, options.max - read)


def _consume(
    member: _Member, options: Namespace, write: Formatter, output: BinaryIO, progress: Progress
) -> dict[str, None]:
    """What the group refused, as sentences."""
    refused: dict[str, None] = {}
    heard = monotonic()
    while options.max is None or progress.records < options.max:
        was_in = member.is_in
        found = member.poll(_most(options, progress.records))
        records, size = progress.records, progress.bytes
        for (topic, partition), part in found.items():
            for record in part:
                records += 1
                size += len(record.key or b"") + len(record.value or b"")
                output.write(write(topic, partition, record))
        progress.update(records, size)
        if found:
            output.flush()
            refused.update(dict.fromkeys(member.accept()))
        if found or not was_in:
            heard = monotonic()
        elif options.idle is not None and monotonic() - heard >= options.idle:
            break
    return refused
