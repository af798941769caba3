"""What compaction keeps of a log: the latest of every key, offsets, sequences, markers, and tombstones for a while."""

from __future__ import annotations

import pytest
from compaction_kit import COMPACT, compact, content, keyed, open_compacted, segment_of
from storage_kit import NOW, append, at_time, batch, marker, names_in, open_log

from moldau.dataclass import replace
from moldau.errors import ProtocolError
from moldau.protocol.records import Compression
from moldau.storage.compaction import Uncleanable, _Reader
from moldau.storage.dirtiness import dirtiness, must_be_compacted
from moldau.storage.log import Origin


def headers(log):
    return [placed.header for segment in log.segments for placed in segment.batches()]


def transactional(producer_id=1, sequence=0, epoch=0):
    return {
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "base_sequence": sequence,
        "is_transactional": True,
    }


def end(log, producer_id=1, *, commit, epoch=0):
    append(log, marker(producer_id, epoch, commit=commit), origin=Origin.COORDINATOR)


def test_only_the_latest_record_of_a_key_stays_at_its_offset(tmp_path):
    log = open_compacted(tmp_path)
    segment_of(log, (b"a", b"1"), (b"b", b"1"))
    segment_of(log, (b"a", b"2"))
    segment_of(log, (b"c", b"1"), (b"a", b"3"))
    segment_of(log, (b"d", b"1"))
    append(log, keyed((b"b", b"9")))
    done = compact(log)
    # The open segment is out of reach, so its record replaces nothing yet.
    assert content(log) == [(1, b"b", b"1"), (3, b"c", b"1"), (4, b"a", b"3"), (5, b"d", b"1"), (6, b"b", b"9")]
    assert (log.local.first_dirty_offset, done.records_read, done.records_kept) == (6, 6, 4)
    assert (log.log_end_offset, log.segments.base_offsets) == (7, (0, 6))
    log.close()
    again = open_compacted(tmp_path)
    assert [offset for offset, _, _ in content(again)] == [1, 3, 4, 5, 6]
    again.close()


def test_the_second_time_starts_where_the_first_ended(tmp_path):
    log = open_compacted(tmp_path)
    segment_of(log, (b"a", b"1"), (b"b", b"1"))
    compact(log)
    segment_of(log, (b"a", b"2"))
    compact(log)
    assert content(log) == [(1, b"b", b"1"), (2, b"a", b"2")]
    log.close()


def test_every_offset_can_be_fetched_as_before(tmp_path):
    """A consumer at an offset that is gone gets the next record there is."""
    log = open_compacted(tmp_path, replace(COMPACT, index_interval_bytes=50))
    for index in range(60):
        segment_of(log, (b"k%d" % (index % 7), b"%d" % index), timestamp=NOW + index)
    compact(log)
    kept = [offset for offset, _, _ in content(log)]
    assert kept == list(range(53, 60))
    for offset in range(60):
        found = log.local.locate(offset)
        assert found is not None
        assert found[0].header_at(found[1]).last_offset >= offset
    assert at_time(log, NOW + 55).offset == 55
    log.close()


def test_segments_are_put_together_up_to_the_size_of_one(tmp_path):
    log = open_compacted(tmp_path, replace(COMPACT, segment_bytes=400))
    for index in range(10):
        segment_of(log, (b"k%d" % index, b"v" * 30))
    assert len(log.segments) == 11
    compact(log)
    assert 3 <= len(log.segments) < 11
    assert all(segment.size <= 400 for segment in log.segments)
    assert [offset for offset, _, _ in content(log)] == list(range(10))
    # The snapshots of the segments that are gone went with them.
    bases = {segment.base_offset for segment in log.segments}
    snapshots = [int(name[:20]) for name in names_in(tmp_path / "orders-0") if name.endswith(".snapshot")]
    assert set(snapshots) <= bases
    log.close()


def test_a_batch_larger_than_the_buffer(tmp_path):
    log = open_compacted(tmp_path)
    segment_of(log, (b"a", b"x" * 5000), (b"b", b"y" * 5000))
    segment_of(log, (b"a", b"z"))
    compact(log, buffer_size=100)
    assert [(offset, key) for offset, key, _ in content(log)] == [(1, b"b"), (2, b"a")]
    log.close()


@pytest.mark.parametrize("codec", [c for c in Compression if c])
def test_compressed_batches_stay_compressed(tmp_path, codec):
    log = open_compacted(tmp_path)
    segment_of(log, (b"a", b"1" * 300), (b"b", b"1" * 300), compression=codec)
    segment_of(log, (b"c", b"1" * 300), compression=codec)
    segment_of(log, (b"a", b"2"))
    before = headers(log)
    compact(log)
    assert [(offset, key) for offset, key, _ in content(log)] == [(1, b"b"), (2, b"c"), (3, b"a")]
    found = headers(log)
    assert [header.compression for header in found] == [codec, codec, 0]
    assert (found[0].base_offset, found[0].last_offset) == (0, 1)
    assert found[1] == before[1]  # nothing to take away: as it was, to the byte
    log.close()


def test_tombstones_go_after_their_time(tmp_path):
    log = open_compacted(tmp_path, replace(COMPACT, delete_retention_ms=1000))
    segment_of(log, (b"a", b"1"), (b"b", b"1"))
    segment_of(log, (b"a", None))
    compact(log, now_ms=NOW)
    assert content(log) == [(1, b"b", b"1"), (2, b"a", None)]
    segment_of(log, (b"x", b"1"))
    compact(log, now_ms=NOW + 999)
    assert content(log)[1] == (2, b"a", None)
    segment_of(log, (b"x", b"2"))
    compact(log, now_ms=NOW + 1000)
    assert [(key, value) for _, key, value in content(log)] == [(b"b", b"1"), (b"x", b"2")]
    log.close()


def test_an_emptied_batch_stays_while_it_holds_the_last_sequence(tmp_path):
    log = open_compacted(tmp_path)
    one = {"producer_id": 7, "producer_epoch": 0}
    segment_of(log, (b"a", b"1"), **one, base_sequence=0)
    segment_of(log, (b"a", b"2"), **one, base_sequence=1)
    segment_of(log, (b"a", b"3"))
    compact(log)
    assert [(header.base_offset, header.count) for header in headers(log)] == [(1, 0), (2, 1)]
    log.segments.release()
    again = open_compacted(tmp_path, clean_shutdown=False)
    repeated = keyed((b"a", b"2"), **one, base_sequence=1)
    info = again.append_as_leader(repeated, 0, len(repeated), 1)
    assert (info.duplicate, info.base_offset) == (True, 1)
    again.close()


def test_the_last_batch_of_the_range_stays_even_if_empty(tmp_path):
    """So that a follower that copies the log ends at the same offset."""
    log = open_compacted(tmp_path)
    segment_of(log, (b"a", b"2"))
    append(log, keyed((b"b", b"1"), is_transactional=True, producer_id=1, producer_epoch=0, base_sequence=0))
    end(log, commit=False)
    log.local.roll()
    log.producers.entries.clear()
    compact(log, now_ms=NOW)
    compact_again(log, NOW + 10 * COMPACT.delete_retention_ms)
    assert headers(log)[-1].last_offset == 2
    log.close()


def compact_again(log, now_ms, passes=1):
    for _ in range(passes):
        log.local.first_dirty_offset = 0
        compact(log, now_ms=now_ms)


def test_aborted_records_go_and_the_marker_outlives_them(tmp_path):
    log = open_compacted(tmp_path, replace(COMPACT, delete_retention_ms=1000))
    append(log, keyed((b"a", b"good")))
    append(log, keyed((b"a", b"bad"), **transactional()))
    end(log, commit=False)
    log.local.roll()
    segment_of(log, (b"z", b"1"))
    log.producers.entries.clear()
    compact(log, now_ms=NOW)
    data = [(header.base_offset, header.is_control) for header in headers(log)]
    assert data == [(0, False), (2, True), (3, False)]
    assert [entry.first_offset for segment in log.segments for entry in segment.transaction_index.entries] == [1]
    # Next time nothing of the transaction is seen any more: the marker gets its horizon, and goes when it is reached.
    compact_again(log, NOW)
    assert [header.has_delete_horizon for header in headers(log)] == [False, True, False]
    assert [entry for segment in log.segments for entry in segment.transaction_index.entries] == []
    compact_again(log, NOW + 1000)
    assert [header.base_offset for header in headers(log)] == [0, 3]
    log.close()


def test_an_abort_does_not_replace_what_was_there(tmp_path):
    log = open_compacted(tmp_path)
    segment_of(log, (b"a", b"good"))
    append(log, keyed((b"a", b"bad"), **transactional(), compression=Compression.GZIP))
    end(log, commit=False)
    log.local.roll()
    compact(log)
    read = log.read(0, 1 << 20, log.log_end_offset, at_least_one=True, committed=True)
    assert content(log)[0] == (0, b"a", b"good")
    # The aborted batch is the producer's last one: it stays, without its record, and the list says it was aborted.
    assert [(header.base_offset, header.count) for header in headers(log)] == [(0, 1), (1, 0), (2, 1)]
    assert read.aborted == [(1, 1)]
    log.close()


def test_a_commit_marker_stays_while_records_of_its_transaction_do(tmp_path):
    log = open_compacted(tmp_path, replace(COMPACT, delete_retention_ms=0))
    segment_of(log, (b"a", b"1"), **transactional())
    end(log, commit=True)
    log.local.roll()
    segment_of(log, (b"b", b"1"))
    log.producers.entries.clear()
    for passed in range(4):
        compact_again(log, NOW + passed)
    assert [header.is_control for header in headers(log)] == [False, True, False]
    segment_of(log, (b"a", b"2"))
    for passed in range(4, 8):
        compact_again(log, NOW + passed)
    assert [(header.base_offset, header.is_control) for header in headers(log)] == [(2, False), (3, False)]
    log.close()


def test_an_open_transaction_holds_compaction_back(tmp_path):
    log = open_compacted(tmp_path)
    segment_of(log, (b"a", b"1"))
    segment_of(log, (b"a", b"2"), **transactional())
    segment_of(log, (b"a", b"3"))
    assert dirtiness(log, NOW).end_offset == 1
    end(log, commit=True)
    assert dirtiness(log, NOW).end_offset == 3
    log.close()


def test_the_marker_of_a_producer_that_wrote_nothing_else_keeps_its_epoch(tmp_path):
    log = open_compacted(tmp_path, replace(COMPACT, delete_retention_ms=0))
    segment_of(log, (b"a", b"1"), **transactional())
    end(log, commit=False, epoch=5)
    log.local.roll()
    for passed in range(4):
        compact_again(log, NOW + passed)
    log.segments.release()
    again = open_compacted(tmp_path, clean_shutdown=False)
    assert again.producers.entries[1].epoch == 5
    again.close()


def test_more_keys_than_memory_take_several_passes(tmp_path):
    log = open_compacted(tmp_path)
    for index in range(40):
        segment_of(log, (b"k%d" % index, b"1"), (b"same", b"%d" % index))
    passes = 0
    while dirtiness(log, NOW).dirty_bytes and passes < 20:
        compact(log, memory=24 * 12)
        passes += 1
    assert 3 < passes < 20
    assert len(content(log)) == 41
    assert content(log)[-1] == (79, b"same", b"39")
    log.close()


def test_a_batch_with_more_keys_than_memory_cannot_be_cleaned(tmp_path):
    log = open_compacted(tmp_path)
    segment_of(log, *[(b"k%d" % index, b"1") for index in range(20)])
    with pytest.raises(Uncleanable, match=r"log\.cleaner\.dedupe\.buffer\.size"):
        compact(log, memory=24 * 5)
    log.close()


def test_damage_is_not_made_to_look_sound(tmp_path):
    log = open_compacted(tmp_path)
    segment_of(log, (b"a", b"1"), (b"b", b"1"))
    segment_of(log, (b"a", b"2"))
    file = tmp_path / "orders-0" / f"{0:020d}.log"
    data = bytearray(file.read_bytes())
    data[-2] ^= 1
    file.write_bytes(data)
    with pytest.raises(Uncleanable, match="checksum"):
        compact(log)
    log.segments.release()


# ----------------------------------------------------------------------------------------------------- when


def test_the_ratio_decides(tmp_path):
    log = open_compacted(tmp_path, replace(COMPACT, min_cleanable_dirty_ratio=0.5))
    assert not must_be_compacted(log, dirtiness(log, NOW))
    for index in range(3):
        segment_of(log, (b"k%d" % index, b"1"))
    assert dirtiness(log, NOW).ratio == 1.0
    compact(log)
    segment_of(log, (b"x", b"1"))
    found = dirtiness(log, NOW)
    assert found.ratio == pytest.approx(0.25, abs=0.02)
    assert not must_be_compacted(log, found)
    log.local.update_config(replace(COMPACT, min_cleanable_dirty_ratio=0.2))
    assert must_be_compacted(log, found)
    log.close()


def test_young_records_wait(tmp_path):
    log = open_compacted(tmp_path, replace(COMPACT, min_compaction_lag_ms=1000))
    segment_of(log, (b"a", b"1"), timestamp=NOW - 2000)
    segment_of(log, (b"a", b"2"), timestamp=NOW)
    assert dirtiness(log, NOW).end_offset == 1
    assert dirtiness(log, NOW + 1000).end_offset == 2
    log.close()


def test_old_records_do_not_wait_for_the_ratio(tmp_path):
    settings = replace(COMPACT, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=1000)
    log = open_compacted(tmp_path, settings)
    segment_of(log, (b"a", b"1"), timestamp=NOW)
    assert not must_be_compacted(log, dirtiness(log, NOW + 1000))
    assert must_be_compacted(log, dirtiness(log, NOW + 1001))
    log.close()


def test_a_log_that_was_cut_or_moved_on_is_dirty_again(tmp_path):
    log = open_compacted(tmp_path)
    for index in range(4):
        segment_of(log, (b"k%d" % index, b"1"))
    compact(log)
    assert log.local.first_dirty_offset == 4
    log.local.truncate_to(2)
    assert log.local.first_dirty_offset == 2
    log.local.advance_log_start(log.high_watermark)
    log.local.first_dirty_offset = 0
    assert dirtiness(log, NOW).first_dirty_offset == log.log_start_offset
    log.close()


def test_an_ordinary_log_keeps_everything(tmp_path):
    log = open_log(tmp_path)
    append(log, batch(b"1"))
    assert not log.config.compact
    log.close()


@pytest.mark.parametrize(("compacted_once", "kept"), [(True, [b"one", b"three"]), (False, [b"one"])])
def test_a_hole_between_segments_is_damage_unless_the_log_was_compacted_once(tmp_path, compacted_once, kept):
    log = open_log(tmp_path, COMPACT)
    for value in (b"one", b"two", b"three"):
        segment_of(log, (b"key", value))
    log.segments.release()
    for path in (tmp_path / "orders-0").glob("00000000000000000001.*"):
        path.unlink()
    # The topic is set to delete by now, and nothing says that its segments were forced to disk.
    deleting = replace(COMPACT, compact=False, delete=True)
    after = open_log(tmp_path, deleting, clean_shutdown=False, recovery_point=0, compacted_once=compacted_once)
    assert [value for _, _, value in content(after)] == kept
    after.segments.release()


def test_a_batch_that_ends_behind_its_file_is_damage():
    class File:
        path = "/log/0.log"

        def read(self, position, size):
            return b"x" * size

    reader = _Reader(File(), 100, 60)
    assert len(reader.read()) == 60
    reader.used(50)
    assert len(reader.read()) == 50
    with pytest.raises(ProtocolError, match=r"0\.log ends inside a batch"):
        reader.used(0)
