"""`moldau produce`: records from standard input or files to a topic."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from moldau.cli.arguments import at_least, checked, key_value
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import DONE, INTERRUPTED, Failure
from moldau.cli.progress import Progress
from moldau.cli.record_input import FORMATS, InputError, Parser, read_pieces
from moldau.cli.record_output import unescape
from moldau.cli.table import note, print_json
from moldau.errors import ErrorCode, KafkaError
from moldau.quantities import parse_duration, parse_size

if TYPE_CHECKING:
    from moldau.client.producer.topic_writer import TopicWriter

_EPILOG = """\
formats of the input:
  line     one record per line (default); --key-separator splits a line into key and value
  json     one JSON object per line: key, value, headers, partition, timestamp, all optional; a value that is not
           a string is sent as its JSON, key_base64 and value_base64 take bytes that are no text.
           What `moldau consume --format json` prints can be fed in again
  hex      one record per line, its bytes in hexadecimal; base64 likewise
  raw      the whole input is the value of one record

examples:
  echo 'hello' | moldau produce rivers
  moldau produce rivers --key-separator : --file towns.txt --compression zstd
  echo '{"key":"k","value":{"town":"Praha"},"headers":{"from":"me"}}' | moldau produce rivers --format json
  moldau produce pictures --format raw --key cover --file cover.png"""

_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
_ACKS = {"0": 0, "1": 1, "all": -1, "-1": -1}


def configure(parser: ArgumentParser) -> None:
    parser.description = "Write records from standard input or a file to a topic."
    parser.epilog = _EPILOG
    parser.add_argument("topic", metavar="TOPIC")
    source = parser.add_argument_group("input")
    source.add_argument("--file", metavar="PATH", action="append", default=[], help="read from a file; repeatable")
    source.add_argument("--format", choices=FORMATS, default="line", metavar="FORMAT", help="see below (default line)")
    source.add_argument("--delimiter", metavar="TEXT", type=unescape, help="what separates records (default \\n)")
    source.add_argument("--null-marker", metavar="TEXT", type=unescape, help="a key or value with this text is null")
    record = parser.add_argument_group("records")
    keys = record.add_mutually_exclusive_group()
    keys.add_argument("-K", "--key-separator", metavar="TEXT", type=unescape, help="what stands between key and value")
    keys.add_argument("-k", "--key", metavar="KEY", type=unescape, help="the key of every record")
    record.add_argument(
        "-H", "--header", metavar="NAME=VALUE", action="append", type=key_value, default=[], help="repeatable"
    )
    record.add_argument("-p", "--partition", metavar="N", type=at_least(0), help="default: by key, else sticky")
    sending = parser.add_argument_group("sending")
    sending.add_argument("-z", "--compression", choices=_COMPRESSIONS, default="none", help="default none")
    sending.add_argument("--compression-level", metavar="N", type=int, help="default: the codec's own")
    sending.add_argument(
        "--acks",
        type=_acks,
        default=-1,
        metavar="0|1|all",
        help="who must have a record before it counts (default all)",
    )
    sending.add_argument(
        "--batch-size", metavar="SIZE", type=checked(parse_size), default=256 * 1024, help="default 256k"
    )
    sending.add_argument(
        "--linger",
        metavar="TIME",
        type=checked(parse_duration),
        default=0.05,
        help="send an unfilled batch when the input pauses this long (default 50ms)",
    )
    parser.add_argument("--json", action="store_true", help="print a summary as JSON on standard output")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress and no summary on standard error")
    add_connection(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    from moldau.client.producer.topic_writer import TopicWriter
    from moldau.protocol.records import Compression

    parser = _parser(options)
    progress = Progress(shown=not options.quiet)
    with connect(options) as cluster:
        try:
            writer = TopicWriter(
                cluster,
                options.topic,
                acks=options.acks,
                compression=Compression[options.compression.upper()],
                level=options.compression_level,
                batch_bytes=max(options.batch_size, 1),
                linger=options.linger,
            )
        except KafkaError as error:
            raise _advised(error, options.topic) from error
        status = DONE
        try:
            _send_all(options, parser, writer, progress)
        except KeyboardInterrupt:
            # What was read before Ctrl-C was meant to be sent.
            status = INTERRUPTED
        except InputError:
            # So was what was read before the damage; a script then knows where to go on.
            _finish(options, writer, progress)
            raise
        except KafkaError as error:
            progress.clear()
            raise _advised(error, options.topic) from error
        _finish(options, writer, progress)
    return status


def _parser(options: Namespace) -> Parser:
    return Parser(
        options.format,
        key_separator=options.key_separator,
        key=options.key,
        headers=[(name, value.encode()) for name, value in options.header],
        null_marker=options.null_marker,
    )


def _send_all(options: Namespace, parser: Parser, writer: TopicWriter, progress: Progress) -> None:
    delimiter = None if options.format == "raw" else (options.delimiter or b"\n")
    for descriptor in _inputs(options.file):
        for pieces in read_pieces(descriptor, delimiter, options.linger):
            for piece in pieces:
                if options.format == "json" and not piece.strip():
                    continue
                record = parser.parse(piece)
                writer.append(
                    record.value,
                    record.key,
                    record.headers,
                    partition=options.partition if record.partition is None else record.partition,
                    timestamp=record.timestamp,
                )
            if not pieces:
                writer.flush()
            writer.settle()
            progress.update(writer.records, writer.sent_bytes)


def _finish(options: Namespace, writer: TopicWriter, progress: Progress) -> None:
    writer.flush()
    progress.update(writer.records, writer.sent_bytes)
    progress.clear()
    if options.json:
        print_json(_summary(options.topic, writer, progress))
    if not options.quiet:
        note(f"{options.topic}: {progress.summary()}")


def _inputs(paths: list[str]) -> Iterator[int]:
    """File descriptors to read, one after the other; `-` and no file at all mean standard input."""
    for path in paths or ["-"]:
        if path == "-":
            yield sys.stdin.fileno()
        else:
            with _opened(path) as descriptor:
                yield descriptor


@contextmanager
def _opened(path: str) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}.") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _summary(topic: str, writer: TopicWriter, progress: Progress) -> dict[str, object]:
    return {
        "topic": topic,
        "records": progress.records,
        "bytes": progress.bytes,
        "seconds": round(progress.seconds, 3),
        "partitions": [
            {
                "partition": index,
                "records": written.records,
                "batches": written.batches,
                "first_offset": written.first_offset,
                "last_offset": written.last_offset,
            }
            for index, written in sorted(writer.written.items())
        ],
    }


def _advised(error: KafkaError, topic: str) -> KafkaError:
    """The same error with the command that helps."""
    if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and "partition" not in error.message:
        return KafkaError(error.code, f"{error.message} Create it with `moldau topics create {topic}`.")
    if error.code is ErrorCode.MESSAGE_TOO_LARGE:
        return KafkaError(
            error.code, f"{error.message} Try a smaller --batch-size, or raise the topic's max.message.bytes."
        )
    return error


def _acks(text: str) -> int:
    try:
        return _ACKS[text.lower()]
    except KeyError:
        raise ArgumentTypeError(f"{text!r} is not one of 0, 1, all") from None
