"""What the sender knows of one partition: which batch is next, under which number."""

from __future__ import annotations

from math import inf

from moldau.client.producer.batch import NOBODY, Batch, Identity
from moldau.client.producer.partition import PartitionState

FIRST = Identity(7, 0)
SECOND = Identity(7, 1)


def filled(state: PartitionState, *sizes: int) -> None:
    for number, size in enumerate(sizes):
        batch = Batch.open(state.lane, 10_000, float(number))
        for _ in range(size):
            batch.append(0, None, b"x", None)
        state.lane.waiting.append(batch)


def sent(state: PartitionState, identity: Identity = FIRST) -> Batch:
    batch = state.take()
    assert batch is not None
    state.number(batch, identity)
    return batch


def test_numbers_follow_the_records() -> None:
    state = PartitionState("rivers", 0)
    filled(state, 3, 2, 4)
    assert [sent(state).sequence for _ in range(3)] == [0, 3, 5]
    assert state.next_sequence == 9


def test_nothing_overtakes_a_batch_that_is_repeated() -> None:
    state = PartitionState("rivers", 0)
    filled(state, 1, 1, 1, 1)
    one, two, three = sent(state), sent(state), sent(state)
    state.returned(one)
    state.repeat(one)
    assert state.ready_at(0.0, False, 1) == inf, "two and three are still under way"
    state.returned(two)
    state.repeat(two)
    state.returned(three)
    assert state.ready_at(0.0, False, 1) == 0.0
    assert sent(state) is one
    assert one.sequence == 0
    assert state.ready_at(0.0, False, 1) == inf, "one at a time until all is repeated"
    state.returned(one)
    assert sent(state) is two
    assert (two.sequence, two.attempts) == (1, 2)


def test_those_behind_come_back_in_any_order() -> None:
    state = PartitionState("rivers", 0)
    filled(state, 1, 1, 1)
    batches = [sent(state) for _ in range(3)]
    for batch in (batches[2], batches[0], batches[1]):
        state.returned(batch)
        state.repeat(batch)
    assert list(state.retries) == batches


def test_a_new_epoch_starts_at_zero_with_what_is_repeated() -> None:
    state = PartitionState("rivers", 0)
    filled(state, 2, 3, 1)
    sent(state)
    second, third = sent(state), sent(state)
    for batch in (second, third):
        state.returned(batch)
        state.repeat(batch)
    state.restart(SECOND)
    assert [(batch.identity, batch.sequence) for batch in state.retries] == [(SECOND, 0), (SECOND, 3)]
    assert state.next_sequence == 4


def test_another_identity_waits_until_nothing_of_the_old_is_under_way() -> None:
    state = PartitionState("rivers", 0)
    filled(state, 1, 1, 1)
    first = sent(state, FIRST)
    assert sent(state, SECOND).identity == FIRST
    state.returned(first)
    state.returned(state.in_flight[0])
    assert sent(state, SECOND).identity == SECOND


def test_without_an_identity_nothing_is_numbered() -> None:
    state = PartitionState("rivers", 0)
    filled(state, 1)
    assert sent(state, NOBODY).sequence == -1


def test_what_waited_too_long_is_taken_out_and_leaves_a_gap() -> None:
    state = PartitionState("rivers", 0)
    filled(state, 1, 1)
    batch = sent(state)
    state.returned(batch)
    state.repeat(batch)
    assert state.expired(now=10.0, limit=10.0) == [batch]
    assert state.broken
    assert len(state.expired(now=20.0, limit=10.0)) == 1


def test_the_halves_of_a_batch_hold_its_records() -> None:
    state = PartitionState("rivers", 0)
    filled(state, 5)
    whole = sent(state)
    halves = list(whole.halves(0.0))
    assert [(first, half.count) for first, half in halves] == [(0, 2), (2, 3)]
    assert all(half.created == whole.created for _, half in halves)
