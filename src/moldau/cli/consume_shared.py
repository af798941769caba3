"""`moldau consume --share-group`: records as a member of a share group, each accepted once it has been written out."""

from __future__ import annotations

import sys
from argparse import Namespace
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO

from moldau.cli.connection import client_settings
from moldau.cli.failure import DONE, FAILED, USAGE, Failure
from moldau.cli.progress import Progress
from moldau.cli.record_output import Formatter
from moldau.cli.table import note
from moldau.moments import Word

if TYPE_CHECKING:
    from moldau.client.share.face import KafkaShareConsumer

_OUTPUT_BUFFER = 64 * 1024
# At once, unless fewer are wanted.
_MOST = 500
_POLL_MS = 500


def consume_shared(options: Namespace, write: Formatter) -> int:
    _check(options)
    from moldau.client.share.face import KafkaShareConsumer

    most = _MOST if options.max is None else min(options.max, _MOST)
    progress = Progress(shown=not options.quiet and not sys.stdout.isatty())
    if options.max == 0:
        return DONE
    with open(sys.stdout.fileno(), "wb", _OUTPUT_BUFFER, closefd=False) as output:
        consumer = KafkaShareConsumer(
            *dict.fromkeys(options.topics),
            **client_settings(options),
            group_id=options.share_group,
            max_poll_records=most,
            # More than is wanted would be locked for everybody else.
            share_acquire_mode="batch_optimized" if options.max is None else "record_limit",
        )
        with consumer:
            try:
                lost = _consume(consumer, options, write, output, progress)
            finally:
                progress.clear()
    if not options.quiet and not sys.stdout.isatty():
        note(f"{', '.join(options.topics)}: {progress.summary()}")
    for sentence in lost:
        note(f"moldau: {sentence}")
    return FAILED if lost else DONE


def _check(options: Namespace) -> None:
    for given, name in (
        (options.start is not Word.EARLIEST, "--from"),
        (options.tail is not None, "--tail"),
        (options.until is not None, "--until"),
        (options.partition, "--partition"),
        (options.isolation != "read-uncommitted", "--isolation"),
    ):
        if given:
            raise Failure(f"{name} is the share group's matter, and does not go with --share-group.", USAGE)


def _consume(
    consumer: KafkaShareConsumer, options: Namespace, write: Formatter, output: BinaryIO, progress: Progress
) -> list[str]:
    """Acknowledgements that brokers refused, as sentences: others get these records again."""
    lost: dict[str, None] = {}
    heard = monotonic()
    while options.max is None or progress.records < options.max:
        left = None if options.max is None else options.max - progress.records
        found = consumer.poll(_POLL_MS, left)
        records, size = progress.records, progress.bytes
        for (topic, partition), share in found.items():
            for record in share:
                records += 1
                size += len(record.key or b"") + len(record.value or b"")
                output.write(write(topic, partition, record))
        progress.update(records, size)
        if found:
            heard = monotonic()
            output.flush()
            for where, error in consumer.commit_sync().items():
                if error is not None:
                    lost[f"What was read of {where} is delivered again: {error}"] = None
        elif options.idle is not None and monotonic() - heard >= options.idle:
            break
    return list(lost)
