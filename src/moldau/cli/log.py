"""`moldau log`: what is in the files of a log, for people or as JSON (`dump`), and whether it is sound (`verify`)."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_subcommand, add_subcommands
from moldau.cli.failure import DAMAGED, DONE
from moldau.cli.log_verify import VERIFY_EPILOG, configure_verify, verify
from moldau.cli.progress import Progress
from moldau.cli.table import note, print_json_line, print_table
from moldau.quantities import counted, format_size, format_time

if TYPE_CHECKING:
    from moldau.cli.dump.content import Decoder
    from moldau.cli.dump.files import DumpFile
    from moldau.cli.dump.index import Entries
    from moldau.cli.dump.segment import Batch

_SHOWN = 120

_EPILOG = """\
Reads segments (.log), indexes (.index, .timeindex, .txnindex), producer snapshots (.snapshot), metadata snapshots
(.checkpoint), checkpoints and properties, by their names. A directory stands for the files in it. Records of
__cluster_metadata, __consumer_offsets, __transaction_state and __share_group_state are taken apart field by field.

--verify checks checksums, opens every batch, checks the order of offsets and epochs, and compares the indexes with
the log beside them. Exit status 4 means that damage was found, also without --verify where a file cannot be read.

examples:
  moldau log dump data/rivers-0
  moldau log dump data/rivers-0/00000000000000000000.log --records
  moldau log dump data/__cluster_metadata-0 --metadata
  moldau log dump -r data --verify --quiet"""


def configure(parser: ArgumentParser) -> None:
    parser.description = "Look into the files of logs on disk. Nothing is ever written."
    commands = add_subcommands(parser)
    dump = add_subcommand(commands, "dump", _dump, "show the content of segments, indexes and checkpoints", _EPILOG)
    dump.add_argument("paths", metavar="PATH", nargs="+", help="files or directories")
    dump.add_argument("--records", action="store_true", help="also show the records inside batches")
    dump.add_argument(
        "--metadata",
        action="store_true",
        help="take the records for metadata records, wherever they lie (implies --records)",
    )
    dump.add_argument("--verify", action="store_true", help="check everything; exit status 4 on damage")
    dump.add_argument("-r", "--recursive", action="store_true", help="also look into directories below")
    dump.add_argument("-q", "--quiet", action="store_true", help="show only what --verify finds")
    dump.add_argument("--json", action="store_true", help="one JSON object per line")
    configure_verify(add_subcommand(commands, "verify", verify, "check a whole data directory", VERIFY_EPILOG))


def _dump(options: Namespace) -> int:
    from moldau.cli.dump.files import find

    files = [file for path in options.paths for file in find(path, recursive=options.recursive)]
    output = _Output(options)
    # Whoever sees the lines sees how far it is.
    progress = Progress(shown=options.quiet or not sys.stdout.isatty())
    for number, file in enumerate(files, 1):
        progress.tell(f"{file.path} ({number:,} of {counted(len(files), 'file')})")
        output.begin(file)
        _DUMPERS[file.kind.name](file, options, output)
    progress.clear()
    if options.verify:
        output.conclude(len(files))
    return DAMAGED if output.problems else DONE


class _Output:
    """Where the lines go: a title per file and a table for people, objects for machines, problems beside both."""

    def __init__(self, options: Namespace) -> None:
        self.problems = 0
        self._quiet = options.quiet
        self._json = options.json
        self._file: DumpFile | None = None
        self._titled = False

    def begin(self, file: DumpFile) -> None:
        self._file = file
        if not self._quiet and not self._json:
            print(f"\n{file.path} ({file.kind.value})" if self._titled else f"{file.path} ({file.kind.value})")
            self._titled = True

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """`columns` in the words of the JSON; people see them in capitals."""
        if self._quiet:
            return
        if self._json:
            for row in rows:
                self.object("entry", dict(zip(columns, row, strict=True)))
        elif rows:
            print_table([name.upper().replace("_", " ") for name in columns], rows, indent="  ")
        else:
            print("  empty")

    def line(self, text: str) -> None:
        if not self._quiet and not self._json:
            print(text)

    def object(self, kind: str, content: dict[str, Any]) -> None:
        if not self._quiet and self._json and self._file is not None:
            print_json_line({"file": self._file.path, "kind": kind, **content})

    def problem(self, sentence: str) -> None:
        self.problems += 1
        if self._file is None:
            return
        if self._json:
            print_json_line({"file": self._file.path, "kind": "problem", "message": sentence})
        note(f"moldau: {self._file.path}: {sentence}.")

    def conclude(self, files: int) -> None:
        if not self._json:
            found = counted(self.problems, "problem") if self.problems else "no problem"
            print(f"{counted(files, 'file')} checked, {found} found.")


# ------------------------------------------------------------------------------------------------------ segments


def _dump_segment(file: DumpFile, options: Namespace, output: _Output) -> None:
    from moldau.cli.dump.content import METADATA_TOPIC, decoder
    from moldau.cli.dump.files import Kind, mapped
    from moldau.cli.dump.segment import Damage, Order, content_problems, walk

    is_metadata = options.metadata or file.kind is Kind.METADATA_SNAPSHOT
    decode = decoder(METADATA_TOPIC if is_metadata else file.topic)
    order = Order(file.base_offset)
    batches = 0
    with mapped(file.path) as data:
        output.line(f"  {_BATCH_TITLE}" if len(data) else "  empty")
        try:
            for batch in walk(data):
                batches += 1
                output.line(f"  {_batch_line(batch)}")
                output.object("batch", _batch_data(batch))
                if options.records or options.metadata:
                    _show_records(batch, decode, output)
                if options.verify:
                    for problem in order.problems(batch) + content_problems(batch):
                        output.problem(problem)
        except Damage as damage:
            output.problem(str(damage))
        output.line(f"  {counted(batches, 'batch')}, {format_size(len(data))}")


_BATCH_TITLE = (
    f"{'OFFSETS':<17} {'POSITION':>10} {'SIZE':>8} {'RECORDS':>7} {'EPOCH':>5}  {'LATEST TIMESTAMP':<24} "
    f"{'CODEC':<6} PRODUCER AND KIND"
)


def _batch_line(batch: Batch) -> str:
    header = batch.header
    offsets = f"{header.base_offset}-{header.last_offset}" if header.last_offset_delta else str(header.base_offset)
    words = [
        *([f"{header.producer_id}/{header.producer_epoch}"] if header.producer_id >= 0 else []),
        *([f"from {header.base_sequence}"] if header.base_sequence >= 0 else []),
        *(["transactional"] if header.is_transactional else []),
        *(["control"] if header.is_control else []),
        *(["log append time"] if header.timestamp_type else []),
        *([f"format {header.magic}"] if header.magic < 2 else []),
    ]
    return (
        f"{offsets:<17} {batch.position:>10} {header.size:>8} {header.count:>7} {header.partition_leader_epoch:>5}  "
        f"{format_time(header.max_timestamp):<24} {_codec(header.compression):<6} {' '.join(words)}"
    ).rstrip()


def _batch_data(batch: Batch) -> dict[str, Any]:
    from moldau.cli.dump.segment import crc_fits

    header = batch.header
    return {
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "position": batch.position,
        "size": header.size,
        "records": header.count,
        "magic": header.magic,
        "leader_epoch": header.partition_leader_epoch,
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "timestamp_type": "LogAppendTime" if header.timestamp_type else "CreateTime",
        "compression": _codec(header.compression),
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "last_sequence": header.last_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "delete_horizon": header.has_delete_horizon,
        "crc": f"{header.crc:08x}",
        "crc_fits": crc_fits(batch),
    }


def _codec(number: int) -> str:
    from moldau.protocol.records import Compression

    return Compression(number).name.lower() if number in list(Compression) else f"codec {number}"


def _show_records(batch: Batch, decode: Decoder, output: _Output) -> None:
    from moldau.cli.dump.content import control
    from moldau.errors import ProtocolError
    from moldau.protocol.records import decode_batch

    try:
        # Damaged records are shown as far as they can be opened; --verify is for the judgement.
        records = decode_batch(batch.data, check_crc=False)
    except ProtocolError as error:
        output.line(f"      cannot be opened: {error}")
        return
    show = control if batch.header.is_control else decode
    for record in records:
        content = show(record)
        output.object("record", {"offset": record.offset, "timestamp": record.timestamp, **content})
        output.line(f"      {record.offset:>8}  {format_time(record.timestamp)}  {_shown(content)}")


def _shown(content: dict[str, Any]) -> str:
    if "type" in content:
        version = f" v{content['version']}" if "version" in content else ""
        details = {name: value for name, value in content.items() if name not in ("type", "version")}
        body = details["data"] if list(details) == ["data"] else details
        return f"{content['type']}{version} {json.dumps(body, ensure_ascii=False)}"
    return " ".join(f"{name}={_short(value)}" for name, value in content.items())


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


# ------------------------------------------------------------------------------------------------------- indexes


def _dump_offset_index(file: DumpFile, options: Namespace, output: _Output) -> None:
    from moldau.cli.dump import index

    _dump_index(
        file,
        options,
        output,
        ["offset", "position"],
        lambda data: index.offset_entries(data, file.base_offset),
        index.check_offset_index,
    )


def _dump_time_index(file: DumpFile, options: Namespace, output: _Output) -> None:
    from moldau.cli.dump import index

    _dump_index(
        file,
        options,
        output,
        ["timestamp", "offset"],
        lambda data: index.time_entries(data, file.base_offset),
        index.check_time_index,
    )


def _dump_transaction_index(file: DumpFile, options: Namespace, output: _Output) -> None:
    from moldau.cli.dump import index

    _dump_index(
        file,
        options,
        output,
        ["producer_id", "first_offset", "last_offset", "last_stable_offset"],
        index.transaction_entries,
        index.check_transaction_index,
    )


def _dump_index(
    file: DumpFile,
    options: Namespace,
    output: _Output,
    columns: Sequence[str],
    read: Callable[[memoryview], Entries],
    check: Callable[[Sequence[tuple[int, ...]], Sequence[Batch]], list[str]],
) -> None:
    from moldau.cli.dump.files import mapped
    from moldau.cli.dump.index import batches_of

    with mapped(file.path) as data:
        entries = read(data)
    output.table(columns, entries.rows)
    for problem in entries.problems:
        output.problem(problem)
    if not options.verify or not entries.rows:
        return
    try:
        with mapped(file.beside(".log")) as log:
            problems = check(entries.rows, batches_of(log))
    except FileNotFoundError:
        problems = ["has no log beside it to be compared with"]
    for problem in problems:
        output.problem(problem)


# ----------------------------------------------------------------------------------------------------- all others


def _dump_state(file: DumpFile, options: Namespace, output: _Output) -> None:
    from moldau.cli.dump import state
    from moldau.cli.dump.files import Kind

    readers: dict[Kind, Callable[[bytes], state.State]] = {
        Kind.PRODUCER_SNAPSHOT: state.producer_snapshot,
        Kind.EPOCH_CHECKPOINT: state.epoch_checkpoint,
        Kind.OFFSET_CHECKPOINT: state.offset_checkpoint,
        Kind.PROPERTIES: state.properties,
        Kind.QUORUM_STATE: state.quorum_state,
    }
    with open(file.path, "rb") as source:
        content = readers[file.kind](source.read())
    output.table(content.columns, content.rows)
    for problem in content.problems:
        output.problem(problem)


_DUMPERS: dict[str, Callable[[DumpFile, Namespace, _Output], None]] = {
    "LOG": _dump_segment,
    "METADATA_SNAPSHOT": _dump_segment,
    "OFFSET_INDEX": _dump_offset_index,
    "TIME_INDEX": _dump_time_index,
    "TRANSACTION_INDEX": _dump_transaction_index,
    "PRODUCER_SNAPSHOT": _dump_state,
    "EPOCH_CHECKPOINT": _dump_state,
    "OFFSET_CHECKPOINT": _dump_state,
    "PROPERTIES": _dump_state,
    "QUORUM_STATE": _dump_state,
}
