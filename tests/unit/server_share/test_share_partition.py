"""Every transcript of a share partition; see `share_stage` for the language."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from share_stage import check_transcript

from moldau.server.share.acquisition import Acquired, Span, in_batches
from moldau.server.share.in_flight import State
from moldau.server.share.share_partition import Acknowledgement, Change, SharePartition

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    check_transcript(path)


def acquired_by(member: str, count: int, said: Sequence[Acknowledgement] = ()) -> tuple[SharePartition, Change | None]:
    """So many records of one batch, all of them delivered to a member; and what he said of some."""
    partition = SharePartition(0)
    partition.acquire(member, 0, [Span(0, count - 1)], count, 0)
    return partition, partition.acknowledge(member, said, 1) if said else None


def test_what_is_done_with_behind_the_start_is_counted() -> None:
    partition, change = acquired_by("m", 10, [Acknowledgement(3, 5, [1]), Acknowledgement(7, 8, [2])])
    assert change is not None
    assert partition.delivery_complete_count == 3, "as it will be when that is written down"
    partition.complete(change, written=True)
    assert partition.delivery_complete_count == 3
    partition, change = acquired_by("m", 10, [Acknowledgement(3, 5, [1])])
    assert change is not None
    partition.complete(change, written=False)
    assert partition.delivery_complete_count == 0


def test_who_leaves_gives_back_what_nothing_was_said_of() -> None:
    partition, change = acquired_by("m", 10, [Acknowledgement(3, 5, [1])])
    given_back = partition.release("m")
    assert change is not None
    assert given_back is not None
    assert given_back.ranges == [Span(0, 2), Span(6, 9)]
    partition.complete(given_back, written=True)
    partition.complete(change, written=True)
    assert [(run.first, run.last, run.state) for run in partition.runs] == [
        (0, 2, State.AVAILABLE),
        (3, 5, State.ACKNOWLEDGED),
        (6, 9, State.AVAILABLE),
    ]
    assert partition.release("other") is None


@pytest.mark.parametrize("end", [3, 4, 6])
def test_a_log_that_ends_earlier_leaves_no_empty_runs(end: int) -> None:
    partition, change = acquired_by("m", 10, [Acknowledgement(3, 5, [1])])
    assert change is not None
    partition.complete(change, written=True)
    partition.cut(end)
    assert partition.end == end
    assert all(len(run) > 0 for run in partition.runs)
    assert partition.runs[-1].last == end - 1


def test_batches_are_cut_where_a_batch_of_the_log_begins() -> None:
    spans = [Span(0, 3), Span(4, 9), Span(10, 10)]
    cut = in_batches([Acquired(0, 10, 1)], spans, 4)
    assert cut == [Acquired(0, 3, 1), Acquired(4, 9, 1), Acquired(10, 10, 1)]
    assert in_batches([Acquired(0, 9, 1)], spans, 4) == [Acquired(0, 3, 1), Acquired(4, 9, 1)]
    assert in_batches([Acquired(0, 10, 1)], spans, 11) == [Acquired(0, 10, 1)]
