"""Every transcript (see `share_states` for the language), and the arithmetic of batches, against a dictionary."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from share_states import TOPIC_ID, Stage, check_transcript

from moldau.coordinator.share.state import SharePartitionKey
from moldau.coordinator.share.state_batches import Batch, combined
from moldau.errors import ErrorCode, KafkaError

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    check_transcript(path)


@st.composite
def batch(draw: st.DrawFn) -> Batch:
    first = draw(st.integers(0, 30))
    return Batch(first, first + draw(st.integers(0, 9)), draw(st.sampled_from([0, 2, 4])), draw(st.integers(1, 3)))


# As one acknowledgement says it, in order, or as several that were written together do.
rows = st.lists(batch(), max_size=5) | st.lists(batch(), max_size=5).map(sorted)


@given(st.lists(st.tuples(rows, st.integers(0, 30)), max_size=8))
def test_combined_batches_hold_the_later_state_of_every_offset(changes: list[tuple[list[Batch], int]]) -> None:
    known: tuple[Batch, ...] = ()
    by_offset: dict[int, tuple[int, int]] = {}
    start = 0
    for rows, at in changes:
        start = max(start, at)
        known = combined(known, rows, start)
        for first, last, state, deliveries in rows:
            for offset in range(first, last + 1):
                by_offset[offset] = max(by_offset.get(offset, (0, 0)), (deliveries, state))
        by_offset = {offset: value for offset, value in by_offset.items() if offset >= start}
        spread = {offset: (row.deliveries, row.state) for row in known for offset in range(row.first, row.last + 1)}
        assert spread == by_offset
        assert sum(row.last - row.first + 1 for row in known) == len(by_offset), "no offset stands twice"
        for before, after in pairwise(known):
            assert before.last < after.first, "in order"
            if before.last + 1 == after.first:
                assert before[2:] != after[2:], "what is alike is one"


def test_states_of_other_topics_stay_when_one_is_deleted() -> None:
    stage = Stage({})
    for partition in ("0", "1"):
        stage.play(["initialize", partition, "epoch=1", "start=0"])
    (shard,) = [shard for _, shard, _ in stage.coordinator.runtime.shards()]

    def tombstones(*topic_ids: bytes) -> int:
        return sum(record is not None for record in shard._of_topics(frozenset(topic_ids)))

    assert tombstones(b"another".ljust(16)) == 0
    assert tombstones(b"another".ljust(16), TOPIC_ID) == 2


@pytest.mark.parametrize(("group_id", "partition"), [("", 0), ("g", -1)])
def test_a_share_partition_has_a_group_and_a_number(group_id: str, partition: int) -> None:
    coordinator = Stage({}).coordinator
    with pytest.raises(KafkaError) as refused:
        coordinator._partition_of(SharePartitionKey(group_id, TOPIC_ID, partition))
    assert refused.value.code is ErrorCode.INVALID_REQUEST
