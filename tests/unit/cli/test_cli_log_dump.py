"""`moldau log dump` on directories written by the storage room, whole and damaged."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder

from moldau.cli.main import main
from moldau.config.topic import LogConfig
from moldau.protocol.message import Message
from moldau.protocol.messages.config_record import ConfigRecord
from moldau.protocol.messages.leader_change_message import LeaderChangeMessage
from moldau.protocol.messages.offset_commit_key import OffsetCommitKey
from moldau.protocol.messages.offset_commit_value import OffsetCommitValue
from moldau.protocol.messages.topic_record import TopicRecord
from moldau.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from moldau.protocol.records import (
    Compression,
    ControlType,
    EndTransaction,
    control_record,
    encode_batch,
    end_transaction_record,
)
from moldau.runtime.clock import SystemClock
from moldau.runtime.disk import RealDisk
from moldau.storage.log import Log, Origin
from moldau.types import uuid_to_text

FIRST_MS = 1_767_323_045_000


def append(log: Log, batch: bytes, origin: Origin = Origin.CLIENT) -> None:
    data = bytearray(batch)
    log.append_as_leader(memoryview(data), 0, len(data), 3, origin=origin)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Five batches of four records, two transactions (one aborted), an entry in each index for every batch."""
    path = tmp_path / "rivers-0"
    log = Log.open(str(path), LogConfig(index_interval_bytes=1, segment_bytes=1 << 20), RealDisk(), SystemClock())
    for number in range(5):
        records = [(FIRST_MS + number * 10 + index, b"key", b"value %d" % index, [("h", b"x")]) for index in range(4)]
        append(log, encode_batch(records, compression=Compression.ZSTD if number == 2 else Compression.NONE))
    for producer, committed in ((7, False), (8, True)):
        batch = encode_batch(
            [(FIRST_MS + 100, None, b"in a transaction", ())],
            producer_id=producer,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
        append(log, batch)
        marker = encode_batch(
            [end_transaction_record(EndTransaction(committed, 1), FIRST_MS + 101)],
            producer_id=producer,
            producer_epoch=0,
            is_transactional=True,
            is_control=True,
        )
        append(log, marker, Origin.COORDINATOR)
    log.close()
    return path


def segment(directory: Path) -> Path:
    return directory / "00000000000000000000.log"


class Dump:
    """Runs the command in this process; keeps what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        status = main(["log", "dump", *map(str, arguments)])
        printed = self._capsys.readouterr()
        return status, printed.out, printed.err

    def lines(self, *arguments: object) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self(*arguments, "--json")[1].splitlines()]


@pytest.fixture
def dump(capsys: pytest.CaptureFixture[str]) -> Dump:
    return Dump(capsys)


# ------------------------------------------------------------------------------------------------------ whole


def test_a_directory_is_sound(dump: Dump, directory: Path) -> None:
    status, printed, complaints = dump(directory, "--verify")
    assert (status, complaints) == (0, "")
    assert "no problem found" in printed
    for kind in ("segment", "offset index", "time index", "transaction index", "producer snapshot", "leader epoch"):
        assert kind in printed


def test_batches(dump: Dump, directory: Path) -> None:
    batches = dump.lines(segment(directory))
    assert [batch["kind"] for batch in batches] == ["batch"] * 9
    third, aborted, marker = batches[2], batches[5], batches[6]
    assert (third["base_offset"], third["last_offset"], third["compression"], third["records"]) == (8, 11, "zstd", 4)
    assert (third["max_timestamp"], third["leader_epoch"], third["crc_fits"]) == (FIRST_MS + 23, 3, True)
    assert (aborted["transactional"], aborted["producer_id"], aborted["base_sequence"]) == (True, 7, 0)
    assert marker["control"] is True
    printed = dump(segment(directory))[1]
    assert "8-11 " in printed
    assert "7/0 from 0 transactional\n" in printed
    assert printed.endswith(f"9 batches, {segment(directory).stat().st_size / 1024:.1f} KiB\n")


def test_records(dump: Dump, directory: Path) -> None:
    records = [line for line in dump.lines(segment(directory), "--records") if line["kind"] == "record"]
    assert [record["offset"] for record in records] == list(range(24))
    assert records[9]["value"] == "value 1"
    assert records[9]["headers"] == [{"name": "h", "value": "x"}]
    assert (records[21]["type"], records[21]["data"]) == ("ABORT", {"coordinator_epoch": 1})
    assert records[23]["type"] == "COMMIT"
    printed = dump(segment(directory), "--records")[1]
    assert 'key="key" value="value 3"' in printed
    assert "ABORT v0" in printed


def test_indexes_and_state(dump: Dump, directory: Path) -> None:
    by_file: dict[str, list[dict[str, Any]]] = {}
    for line in dump.lines(directory):
        by_file.setdefault(Path(line["file"]).name, []).append(line)
    positions = [batch["position"] for batch in by_file["00000000000000000000.log"]]
    index = by_file["00000000000000000000.index"]
    assert index
    assert {entry["position"] for entry in index} <= set(positions)
    assert by_file["00000000000000000000.timeindex"][0]["timestamp"] >= FIRST_MS
    (aborted,) = by_file["00000000000000000000.txnindex"]
    assert (aborted["producer_id"], aborted["first_offset"], aborted["last_offset"]) == (7, 20, 21)
    (epoch,) = by_file["leader-epoch-checkpoint"]
    assert (epoch["epoch"], epoch["start_offset"]) == (3, 0)
    (snapshot,) = (entries for name, entries in by_file.items() if name.endswith(".snapshot"))
    assert [entry["producer_id"] for entry in snapshot] == [7, 8]


def test_quiet_says_only_the_verdict(dump: Dump, directory: Path) -> None:
    status, printed, _ = dump(directory.parent, "-r", "--verify", "--quiet")
    assert status == 0
    assert printed.endswith("checked, no problem found.\n")
    assert printed.count("\n") == 1


def test_reserved_space_is_no_damage(dump: Dump, directory: Path) -> None:
    for name in ("00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex"):
        with (directory / name).open("ab") as file:
            file.write(bytes(240))
    assert dump(directory, "--verify")[0] == 0


def test_nothing_is_written(dump: Dump, directory: Path) -> None:
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.iterdir()}
    dump(directory, "--records", "--verify")
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.iterdir()} == before


# ---------------------------------------------------------------------------------------------------- damaged


def damage(path: Path, position: int, content: bytes) -> None:
    data = bytearray(path.read_bytes())
    data[position : position + len(content)] = content
    path.write_bytes(data)


def test_a_changed_byte_is_found_by_its_checksum(dump: Dump, directory: Path) -> None:
    damage(segment(directory), 80, b"\xaa")
    status, printed, complaints = dump(directory, "--verify")
    assert status == 4
    assert "the batch at position 0 (offset 0) does not fit its checksum" in complaints
    assert "1 problem found" in printed
    assert dump(directory)[0] == 0, "without --verify nothing is judged"
    (problem,) = (line for line in dump.lines(directory, "--verify") if line["kind"] == "problem")
    assert "checksum" in problem["message"]


def test_a_file_that_ends_too_early(dump: Dump, directory: Path) -> None:
    path = segment(directory)
    path.write_bytes(path.read_bytes()[:-5])
    status, _, complaints = dump(path)
    assert status == 4
    assert "should have 78 bytes, but only 73 are left" in complaints


def test_nonsense_in_between(dump: Dump, directory: Path) -> None:
    second = dump.lines(segment(directory))[1]["position"]
    damage(segment(directory), second + 8, b"\xff\xff\xff\xff")
    status, printed, complaints = dump(segment(directory), "--verify")
    assert status == 4
    assert f"no batch can be read at position {second}" in complaints
    assert "1 batch, " in printed


def test_batches_out_of_order(dump: Dump, directory: Path) -> None:
    second = dump.lines(segment(directory))[1]["position"]
    damage(segment(directory), second, (2).to_bytes(8, "big"))  # the base offset is not part of the checksum
    complaints = dump(segment(directory), "--verify")[2]
    assert f"the batch at position {second} begins with offset 2, but offset 3 came before it" in complaints


@pytest.mark.parametrize(
    ("name", "position", "content", "complaint"),
    [
        (".index", 4, pack(">i", 1), "no batch begins there"),
        (".index", 8, pack(">i", 1), "is out of order"),
        (".timeindex", 0, pack(">q", FIRST_MS), "nothing up to offset"),
        (".timeindex", 12, pack(">q", 5), "is out of order"),
        (".timeindex", 8, pack(">i", 9999), "but the log ends with 23"),
        (".txnindex", 2, pack(">q", 99), "producer 99 aborted at offset 21, but there is no such marker"),
        (".txnindex", 0, pack(">h", 5), "an entry of version 5"),
    ],
)
def test_indexes_that_do_not_fit_the_log(
    dump: Dump, directory: Path, name: str, position: int, content: bytes, complaint: str
) -> None:
    path = directory / f"00000000000000000000{name}"
    damage(path, position, content)
    status, _, complaints = dump(path, "--verify")
    assert status == 4
    assert complaint in complaints


def test_small_files_that_are_damaged(dump: Dump, directory: Path) -> None:
    (snapshot,) = directory.glob("*.snapshot")
    damage(snapshot, 12, b"\xff")
    assert "is damaged: its checksum does not fit" in dump(snapshot, "--verify")[2]
    checkpoint = directory / "leader-epoch-checkpoint"
    checkpoint.write_text("0\n3\n1 0\n1 5\n")
    status, _, complaints = dump(checkpoint, "--verify")
    assert status == 4
    assert "announces 3 entries and holds 2" in complaints
    assert "out of order: epoch 1 at offset 5" in complaints


def test_an_index_without_its_log(dump: Dump, directory: Path) -> None:
    segment(directory).unlink()
    assert "has no log beside it" in dump(directory / "00000000000000000000.index", "--verify")[2]


def test_paths_that_are_nothing(dump: Dump, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    for path, complaint in [
        (tmp_path / "missing.log", "does not exist"),
        (tmp_path / "notes.txt", "is not a file of a log directory"),
        (tmp_path, "There is no file of a log"),
    ]:
        status, _, complaints = dump(path)
        assert status == 1
        assert complaint in complaints


def test_messages_of_the_format_before_batches(dump: Dump, tmp_path: Path) -> None:
    builder = LegacyRecordBatchBuilder(1, 0, 1 << 20)
    for offset in range(3):
        builder.append(offset, timestamp=FIRST_MS + offset, key=None, value=b"old %d" % offset)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(bytes(builder.build()))
    lines = dump.lines(path, "--records", "--verify")
    assert [line["magic"] for line in lines if line["kind"] == "batch"] == [1, 1, 1]
    assert [line["value"] for line in lines if line["kind"] == "record"] == ["old 0", "old 1", "old 2"]
    damage(path, 40, b"X")
    assert dump(path, "--verify")[0] == 4


# --------------------------------------------------------------------------------------- Kafka's own records


def framed(message: Message, version: int) -> bytes:
    return bytes([1, message.API_KEY, version]) + message.encode(version)


def test_metadata_records(dump: Dump, tmp_path: Path) -> None:
    path = tmp_path / "__cluster_metadata-0" / "00000000000000000000.log"
    path.parent.mkdir()
    leader = LeaderChangeMessage(version=0, leader_id=1)
    topic = TopicRecord(name="rivers", topic_id=b"0123456789abcdef")
    path.write_bytes(
        encode_batch([control_record(ControlType.LEADER_CHANGE, leader.encode(0), FIRST_MS)], is_control=True)
        + encode_batch([(FIRST_MS, None, framed(topic, 0), ()), (FIRST_MS, None, b"\x01\x7f\x00", ())], base_offset=1)
    )
    shown = [line for line in dump.lines(path, "--records") if line["kind"] == "record"]
    assert (shown[0]["type"], shown[0]["data"]["leader_id"]) == ("LEADER_CHANGE", 1)
    assert shown[1]["type"] == "TopicRecord"
    assert shown[1]["data"] == {"name": "rivers", "topic_id": uuid_to_text(b"0123456789abcdef")}
    assert shown[2]["undecoded"] == "record type 127 is not known"
    assert 'TopicRecord v0 {"name": "rivers"' in dump(path, "--records")[1]
    # Elsewhere the same bytes are taken for metadata only when we say so.
    elsewhere = tmp_path / "00000000000000000000.log"
    elsewhere.write_bytes(path.read_bytes())
    assert "TopicRecord" not in dump(elsewhere, "--records")[1]
    assert "TopicRecord" in dump(elsewhere, "--metadata")[1]


def test_secrets_in_metadata_are_not_shown(dump: Dump, tmp_path: Path) -> None:
    path = tmp_path / "__cluster_metadata-0" / "00000000000000000000.log"
    path.parent.mkdir()
    names = ["listener.name.ssl.ssl.key.password", "sasl.jaas.config", "what.nobody.knows", "num.io.threads"]
    written = [ConfigRecord(resource_type=4, resource_name="1", name=name, value="vltava") for name in names]
    removed = ConfigRecord(resource_type=4, resource_name="1", name=names[0], value=None)
    user = UserScramCredentialRecord(
        name="jan", mechanism=1, salt=b"vltava", stored_key=b"vltava", server_key=b"vltava", iterations=4096
    )
    content = [*(framed(each, 0) for each in (*written, removed)), framed(user, 0)]
    path.write_bytes(encode_batch([(FIRST_MS, None, each, ()) for each in content]))
    shown = [line["data"] for line in dump.lines(path, "--records") if line["kind"] == "record"]
    assert [each["value"] for each in shown[:5]] == ["[hidden]", "[hidden]", "[hidden]", "vltava", None]
    keys = {name: shown[5][name] for name in ("name", "salt", "stored_key", "server_key", "iterations")}
    assert keys == {
        "name": "jan",
        "salt": "[hidden]",
        "stored_key": "[hidden]",
        "server_key": "[hidden]",
        "iterations": 4096,
    }
    text = dump(path, "--records")[1]
    assert text.count("vltava") == 1
    assert b64encode(b"vltava").decode() not in text


def test_committed_offsets(dump: Dump, tmp_path: Path) -> None:
    path = tmp_path / "__consumer_offsets-3" / "00000000000000000000.log"
    path.parent.mkdir()
    key = pack(">h", 1) + OffsetCommitKey(group="readers", topic="rivers", partition=2).encode(0)
    value = pack(">h", 3) + OffsetCommitValue(offset=17, metadata="m").encode(3)
    path.write_bytes(encode_batch([(FIRST_MS, key, value, ()), (FIRST_MS, key, None, ())]))
    commit, tombstone = (line for line in dump.lines(path, "--records") if line["kind"] == "record")
    assert commit["type"] == "OffsetCommit"
    assert commit["key"] == {"group": "readers", "topic": "rivers", "partition": 2}
    assert commit["value"]["offset"] == 17
    assert tombstone["value"] is None
