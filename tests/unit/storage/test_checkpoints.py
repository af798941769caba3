from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storage_kit import FailingDisk, names_in

from moldau.runtime.disk import RealDisk
from moldau.storage.checkpoint import CheckpointError, OffsetCheckpoint, read_checkpoint, replace_file
from moldau.storage.epoch_cache import EpochCache
from moldau.storage.partition_metadata import read_topic_id, write_topic_id
from moldau.types import TopicPartition

ID = bytes(range(16))


def checkpoint(path):
    return OffsetCheckpoint(RealDisk(), str(path / "recovery-point-offset-checkpoint"))


def test_the_format_is_kafkas(tmp_path):
    offsets = {TopicPartition("orders", 10): 7, TopicPartition("orders", 2): 5, TopicPartition("bills", 0): 0}
    checkpoint(tmp_path).write(offsets)
    text = (tmp_path / "recovery-point-offset-checkpoint").read_text()
    assert text == "0\n3\nbills 0 0\norders 2 5\norders 10 7\n"
    assert checkpoint(tmp_path).read() == offsets
    assert names_in(tmp_path) == ["recovery-point-offset-checkpoint"]


def test_no_file_and_an_empty_file_hold_nothing(tmp_path):
    assert checkpoint(tmp_path).read() == {}
    (tmp_path / "recovery-point-offset-checkpoint").write_text("")
    assert checkpoint(tmp_path).read() == {}


@pytest.mark.parametrize(
    "text",
    [
        "1\n0\n",
        "x\n0\n",
        "0\n2\norders 0 5\n",
        "0\n0\norders 0 5\n",
        "0\n1\norders 5\n",
        "0\n1\norders 0 x\n",
        "0\n-1\n",
    ],
)
def test_damage_is_named(tmp_path, text):
    (tmp_path / "recovery-point-offset-checkpoint").write_text(text)
    with pytest.raises(CheckpointError, match="recovery-point-offset-checkpoint"):
        checkpoint(tmp_path).read()


def test_bytes_that_are_not_text(tmp_path):
    (tmp_path / "recovery-point-offset-checkpoint").write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError):
        checkpoint(tmp_path).read()


@pytest.mark.parametrize("failing", ["open", "rename"])
def test_a_write_that_fails_leaves_the_old_content(tmp_path, failing):
    disk = FailingDisk()
    path = str(tmp_path / "file")
    replace_file(disk, path, b"old")
    disk.refuse = lambda operation, _: operation == failing
    with pytest.raises(OSError, match="error"):
        replace_file(disk, path, b"new")
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_half_written_temporary_file_does_no_harm(tmp_path):
    disk = FailingDisk()
    path = str(tmp_path / "file")
    replace_file(disk, path, b"old")
    disk.bytes_left = 2
    with pytest.raises(OSError, match="space"):
        replace_file(disk, path, b"newer")
    assert (tmp_path / "file").read_bytes() == b"old"
    disk.bytes_left = None
    replace_file(disk, path, b"n")
    assert (tmp_path / "file").read_bytes() == b"n"


# ------------------------------------------------------------------------------------------------------------- epochs


def cache(path, *entries):
    epochs = EpochCache(RealDisk(), str(path / "leader-epoch-checkpoint"))
    for epoch, offset in entries:
        epochs.assign(epoch, offset)
    return epochs


def rows(epochs):
    return [tuple(entry) for entry in epochs.entries]


def test_epochs_in_kafkas_file(tmp_path):
    epochs = cache(tmp_path, (0, 0), (3, 100))
    assert not (tmp_path / "leader-epoch-checkpoint").exists()
    epochs.flush()
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n3 100\n"
    again = EpochCache.load(RealDisk(), epochs.path)
    assert (rows(again), again.latest_epoch) == ([(0, 0), (3, 100)], 3)


def test_an_epoch_is_entered_once(tmp_path):
    assert rows(cache(tmp_path, (1, 0), (1, 5), (1, 9))) == [(1, 0)]


def test_entries_that_contradict_a_new_one_go(tmp_path):
    assert rows(cache(tmp_path, (1, 0), (2, 10), (3, 20), (4, 10))) == [(1, 0), (4, 10)]
    assert rows(cache(tmp_path, (1, 0), (5, 10), (3, 20))) == [(1, 0), (3, 20)]
    assert rows(cache(tmp_path, (2, 10), (2, 4))) == [(2, 4)]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(-1, (-1, -1)), (1, (1, 0)), (2, (2, 10)), (3, (2, 10)), (4, (4, 30)), (6, (6, 99)), (7, (-1, -1))],
)
def test_where_an_epoch_ended(tmp_path, asked, answer):
    # An epoch before all others is answered with itself and the start of what is left.
    epochs = cache(tmp_path, (2, 0), (4, 10), (6, 30))
    assert epochs.end_offset_for(asked, 99) == answer


def test_nothing_is_known_of_any_epoch_in_an_empty_log(tmp_path):
    assert cache(tmp_path).end_offset_for(3, 99) == (-1, -1)


def test_the_epoch_of_an_offset(tmp_path):
    epochs = cache(tmp_path, (2, 5), (4, 10))
    assert [epochs.epoch_at(offset) for offset in (4, 5, 9, 10, 99)] == [-1, 2, 2, 4, 4]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 40)), max_size=12), st.integers(0, 45), st.integers(0, 45))
def test_epochs_stay_in_order_and_cuts_keep_the_answers(tmp_path_factory, assigned, start, end):
    path = tmp_path_factory.getbasetemp()
    epochs = cache(path, *assigned)
    before = rows(epochs)
    assert before == sorted(before)
    assert len({offset for _, offset in before}) == len(before)
    known = {offset: epochs.epoch_at(offset) for offset in range(start, end)}
    epochs.truncate_from_end(end)
    epochs.truncate_from_start(start)
    assert all(offset < end for _, offset in rows(epochs)) or start >= end
    for offset, epoch in known.items():
        assert epochs.epoch_at(offset) == epoch


def test_a_damaged_epoch_file_counts_as_empty(tmp_path):
    path = tmp_path / "leader-epoch-checkpoint"
    for text in ("0\n1\n1 x\n", "0\n2\n1 0\n", "9\n0\n", "0\n1\n1 2 3\n", "0\n1\n-1 0\n"):
        path.write_text(text)
        assert rows(EpochCache.load(RealDisk(), str(path))) == []


# --------------------------------------------------------------------------------------------------------- topic ids


def test_the_topic_id_of_a_log(tmp_path):
    assert read_topic_id(RealDisk(), str(tmp_path)) is None
    write_topic_id(RealDisk(), str(tmp_path), ID)
    assert (tmp_path / "partition.metadata").read_text() == "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert read_topic_id(RealDisk(), str(tmp_path)) == ID


@pytest.mark.parametrize(
    "text",
    [
        "",
        "version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw",
        "version: 0\ntopic_id: short",
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
    ],
)
def test_damaged_topic_ids(tmp_path, text):
    (tmp_path / "partition.metadata").write_text(text)
    with pytest.raises(CheckpointError):
        read_topic_id(RealDisk(), str(tmp_path))


def test_lines_are_read_back(tmp_path):
    assert read_checkpoint(RealDisk(), str(tmp_path / "none")) == []


def test_the_epoch_a_log_starts_in_begins_with_it(tmp_path):
    epochs = EpochCache.load(RealDisk(), str(tmp_path / "leader-epoch-checkpoint"))
    for epoch, start in ((1, 0), (2, 10), (5, 20)):
        epochs.assign(epoch, start)
    epochs.truncate_from_start(15)
    assert [tuple(entry) for entry in epochs.entries] == [(2, 15), (5, 20)]
    epochs.truncate_from_start(3)
    assert [tuple(entry) for entry in epochs.entries] == [(2, 15), (5, 20)]
