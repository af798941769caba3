"""`moldau log verify`: silent about what is sound, exact about what is not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from struct import pack

import pytest
from storage_kit import NOW, append, batch, marker

from malformed_batches import KINDS, TIME, batch_of, record, sized
from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.protocol.records import Compression
from moldau.runtime.disk import RealDisk
from moldau.runtime.real import RealRuntime
from moldau.storage.log import Origin
from moldau.storage.log_manager import LogManager
from moldau.storage.verification import find_logs, verify_directory, verify_log
from moldau.types import TopicPartition

CONFIG = LogConfig(segment_bytes=2000, index_interval_bytes=150)
LOG = f"{0:020d}.log"


@pytest.fixture
def data(tmp_path):
    """A data directory after a clean stop: rolled, indexed, compressed, with transactions and snapshots."""
    runtime = RealRuntime()
    config = BrokerConfig.parse({"log.dirs": str(tmp_path), "listeners": "PLAINTEXT://127.0.0.1:0"})
    logs = LogManager(config, runtime.disk, runtime.clock, runtime.random, cluster_id="verified")
    logs.start()
    log = logs.get_or_create(TopicPartition("orders", 0), bytes(15) + b"\1", CONFIG)
    for index in range(40):
        fields = {"producer_id": 5, "producer_epoch": 0, "base_sequence": index}
        append(log, batch(b"v" * 60, timestamp=NOW + index, compression=index % 5, **fields), epoch=index // 10)
    append(log, batch(b"t", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True), epoch=4)
    append(log, marker(1, 0, commit=False), epoch=4, origin=Origin.COORDINATOR)
    logs.close()
    runtime.close()
    return tmp_path


def check(data, **options):
    disk = RealDisk()
    (log,) = find_logs(disk, str(data))
    return verify_log(disk, log, **options)


def test_a_sound_directory(data):
    report = check(data, deep=True)
    assert (report.problems, report.notes) == ([], [])
    assert (report.records, report.next_offset, report.first_offset) == (42, 42, 0)
    assert report.segments > 2
    whole = verify_directory(RealDisk(), str(data), {TopicPartition("orders", 0): 42})
    assert (whole.problems, whole.notes) == ([], [])


def files(data, suffix):
    return sorted(path for path in (data / "orders-0").iterdir() if path.name.endswith(suffix))


def change(path, position, new):
    content = bytearray(path.read_bytes())
    content[position : position + len(new)] = new
    path.write_bytes(content)


def flip(path, position):
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def test_every_flipped_byte_of_a_segment_is_noticed(data):
    """The base offset and the epoch stand outside the checksum; they show by their order and beside the epochs."""
    file = files(data, ".log")[0]
    sound = file.read_bytes()
    unnoticed = []
    for position in range(0, len(sound), 7):
        flip(file, position)
        if not check(data).problems:
            unnoticed.append(position)
        file.write_bytes(sound)
    assert unnoticed == []


def test_damage_is_told_with_its_place(data):
    file = files(data, ".log")[1]
    flip(file, 200)
    report = check(data)
    assert any(file.name in problem and "checksum" in problem and "position" in problem for problem in report.problems)


def test_the_end_torn_off_after_a_crash_is_a_note(data):
    (data / ".kafka_cleanshutdown").unlink()
    last = files(data, ".log")[-1]
    last.write_bytes(last.read_bytes()[:-3])
    report = check(data)
    assert report.problems == []
    assert any("damaged" in note for note in report.notes)


@pytest.mark.parametrize(
    ("suffix", "position", "new", "said"),
    [
        (".index", 4, pack(">i", 3), "no batch begins"),
        (".index", 0, pack(">i", 500), "out of order"),
        (".timeindex", 0, pack(">q", NOW - 1), "there is a record of"),
        (".timeindex", 0, pack(">q", NOW + 10**9), "out of order"),
        (".snapshot", 8, b"\xff", "checksum does not fit"),
    ],
)
def test_indexes_and_snapshots(data, suffix, position, new, said):
    change(files(data, suffix)[1], position, new)
    (problem, *_) = check(data).problems
    assert said in problem
    assert files(data, suffix)[1].name in problem


def test_the_transaction_index(data):
    (file,) = [file for file in files(data, ".txnindex") if file.stat().st_size]
    change(file, 18, pack(">q", 7))
    assert any("marker at offset 7" in problem for problem in check(data).problems)
    file.write_bytes(file.read_bytes()[:-1])
    assert any("whole number" in problem for problem in check(data).problems)


def test_files_that_are_missing_or_left_over(data):
    files(data, ".index")[0].unlink()
    (data / "orders-0" / f"{7:020d}.log.deleted").touch()
    (data / "orders-0" / f"{999:020d}.timeindex").touch()
    report = check(data)
    assert any("is missing" in problem for problem in report.problems)
    assert len(report.notes) == 2


def test_epochs_and_checkpoints(data):
    (data / "orders-0" / "leader-epoch-checkpoint").write_text("0\n2\n3 10\n1 20\n")
    assert any("out of order" in problem for problem in check(data).problems)
    (data / "recovery-point-offset-checkpoint").write_text("0\n1\norders 0 99\n")
    report = verify_directory(RealDisk(), str(data), {TopicPartition("orders", 0): 42})
    assert any("99" in problem for problem in report.problems)
    (data / "meta.properties").write_text("version=1\n")
    assert any("cluster.id" in problem for problem in verify_directory(RealDisk(), str(data), {}).problems)


def write_log(data, batches):
    """The first segment of the log anew, with these batches only; nothing else is left of it."""
    for path in (data / "orders-0").iterdir():
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot"):
            path.unlink()
    place = data / "orders-0"
    (place / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    content, offset = b"", 0
    for one in batches:
        content += pack(">q", offset) + one[8:12] + pack(">i", 0) + one[16:]
        offset += int.from_bytes(one[57:61], "big")
    (place / LOG).write_bytes(content)
    for suffix in (".index", ".timeindex"):
        (place / LOG.replace(".log", suffix)).write_bytes(b"")
    return content


# More records than bytes is damage that the header alone shows.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "no records"])
def test_records_that_are_none(data, kind):
    """As an earlier version took them, or somebody's disk keeps them: told with place and reason, plain ones always."""
    body, count = KINDS[kind]
    good = batch_of(record(0), 1)
    bad = batch_of(body, count)
    write_log(data, [good, bad, good])
    (problem,) = check(data).problems
    where = int(re.search(rf"position (\d+), offsets 1\.\.{count}: ", problem)[1])
    assert len(good) + 61 <= where <= len(good) + len(bad)
    assert problem.startswith(LOG)
    packed = batch_of(body, count, codec=Compression.LZ4)
    write_log(data, [good, packed, good])
    assert check(data).problems == []
    (problem,) = check(data, deep=True).problems
    assert f"of what the batch at position {len(good)} unpacks to, offsets 1..{count}: " in problem


def test_a_header_that_lies_about_its_latest_record(data):
    write_log(data, [batch_of(record(0), 1, max_timestamp=5)])
    (problem,) = check(data).problems
    assert f"says its latest record is of 5, but that is of {TIME}" in problem


def test_a_batch_larger_than_what_is_read_at_once_is_opened_too(data):
    large = record(1, value=sized(bytes(5 << 20)))
    good = batch_of(record(0), 1)
    assert write_log(data, [good, batch_of(record(0) + large, 2), good])
    assert check(data).problems == []
    write_log(data, [good, batch_of(record(0) + large + record(0), 3), good])
    (problem,) = check(data).problems
    assert f"position {len(good) + 61 + len(record(0) + large)}, offsets 1..3: the record's offset" in problem
    write_log(data, [good, batch_of(record(0) + large + record(0), 3, codec=Compression.GZIP), good])
    assert len(check(data, deep=True).problems) == 1


def moldau(*arguments):
    return subprocess.run([sys.executable, "-m", "moldau", *arguments], capture_output=True, timeout=60, text=True)


def test_the_command(data):
    done = moldau("log", "verify", str(data))
    assert (done.returncode, done.stderr) == (0, "")
    assert "orders-0" in done.stdout
    assert "no problem found" in done.stdout
    flip(files(data, ".log")[0], 100)
    done = moldau("log", "verify", str(data))
    assert done.returncode == 4
    assert "checksum" in done.stderr
    report = json.loads(moldau("log", "verify", str(data), "--json", "--jobs", "2").stdout)
    assert (report["sound"], report["logs"][0]["name"]) == (False, "orders-0")


def test_the_command_on_nothing(tmp_path):
    done = moldau("log", "verify", str(tmp_path / "nowhere"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    done = moldau("log", "verify", str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


assert Compression.ZSTD == 4  # the batches of `data` go through every codec


def test_an_index_that_points_behind_the_log_and_a_log_that_ends_too_early(data):
    """Where the log is damaged it is told where; that its indexes know more is no other damage."""
    index, log = files(data, ".index")[-1], files(data, ".log")[-1]
    size = log.stat().st_size
    index.write_bytes(index.read_bytes().rstrip(b"\0") + pack(">ii", 900, size + 1000))
    report = check(data)
    assert [problem for problem in report.problems if "behind the end" in problem] == [
        f"{index.name} points to position {size + 1000}, behind the end of the log"
    ]
    flip(log, 100)
    report = check(data)
    assert any(problem.startswith(f"{log.name} is damaged from position") for problem in report.problems)
    assert not any("behind the end" in problem for problem in report.problems)


@pytest.mark.parametrize("name", ["node.log", f"{0:020d}.index", f"{7:020d}.snapshot"])
def test_a_data_directory_is_told_from_a_log_by_its_segments(data, name):
    """Somebody keeps the node's output beside its data; or left a single file of a log there."""
    (data / name).touch()
    assert [log.path for log in find_logs(RealDisk(), str(data))] == [str(data / "orders-0")]
    alone = find_logs(RealDisk(), str(data / "orders-0"))
    assert [(log.path, log.recovery_point) for log in alone] == [(str(data / "orders-0"), None)]
