"""Fetch sessions, as transcripts: who asks what with which id and epoch, and what is told."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.errors import ErrorCode
from moldau.server.fetch_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MIN_EVICTION_MS,
    NO_SESSION,
    FetchContext,
    FetchPartition,
    FetchSessions,
    PartitionOutcome,
    SessionAnswer,
    next_epoch,
)

ID = bytes(range(16))
MAX_INT = 2**31 - 1


class Counting:
    """Chance that counts: session ids are 1, 2, 3, ..."""

    def __init__(self) -> None:
        self.next = 0

    def bytes(self, count: int) -> bytes:
        return bytes(count)

    def below(self, limit: int) -> int:
        self.next += 1
        return (self.next - 1) % limit


class Fetcher:
    """A client of one cache. Partitions are written `name:offset`, outcomes `name:records@high_watermark`."""

    def __init__(self, slots: int = 10) -> None:
        self.sessions = FetchSessions(slots, Counting())
        self.now = 0

    def begin(
        self,
        session_id: int,
        epoch: int,
        asked: str = "",
        forget: str = "",
        *,
        topic_ids: bool = False,
        follower: bool = False,
    ) -> FetchContext:
        return self.sessions.begin(
            session_id,
            epoch,
            [self._partition(word, topic_ids) for word in asked.split()],
            [(ID if topic_ids else word, 0) for word in forget.split()],
            uses_topic_ids=topic_ids,
            privileged=follower,
            now_ms=self.now,
        )

    @staticmethod
    def _partition(word: str, topic_ids: bool) -> FetchPartition:
        name, _, offset = word.partition(":")
        return FetchPartition(ID if topic_ids else name, 0, int(offset or 0), 1000)

    def finish(self, context: FetchContext, *outcomes: PartitionOutcome) -> SessionAnswer:
        return context.finish(outcomes or [quiet(p.topic) for p in context.partitions], self.now)

    def full(self, asked: str, **options: bool) -> int:
        return self.finish(self.begin(NO_SESSION, INITIAL_EPOCH, asked, **options)).session_id


def quiet(topic: str | bytes, high_watermark: int = 10) -> PartitionOutcome:
    return PartitionOutcome(topic, 0, 0, high_watermark, 0, 0)


def data(topic: str, high_watermark: int = 10) -> PartitionOutcome:
    return PartitionOutcome(topic, 0, 0, high_watermark, 0, 500)


def names(context: FetchContext) -> str:
    return " ".join(f"{p.topic}:{p.fetch_offset}" for p in context.partitions)


def told(answer: SessionAnswer) -> Sequence[int]:
    assert answer.error == ErrorCode.NONE
    assert answer.included is not None
    return list(answer.included)


# ------------------------------------------------------------------------------------------ the four kinds


def test_sessionless_fetch_is_served_as_it_is() -> None:
    fetcher = Fetcher()
    context = fetcher.begin(NO_SESSION, FINAL_EPOCH, "a:1 b:2")
    assert names(context) == "a:1 b:2"
    assert fetcher.finish(context) == (ErrorCode.NONE, NO_SESSION, None)
    assert len(fetcher.sessions) == 0


def test_a_full_fetch_gets_a_session_and_is_answered_in_full() -> None:
    fetcher = Fetcher()
    context = fetcher.begin(NO_SESSION, INITIAL_EPOCH, "a:1 b:2")
    assert names(context) == "a:1 b:2"
    answer = fetcher.finish(context, quiet("a"), data("b"))
    assert answer == (ErrorCode.NONE, 1, None)
    assert len(fetcher.sessions) == 1
    assert fetcher.sessions.partition_count == 2


def test_an_incremental_fetch_is_told_only_what_is_new() -> None:
    fetcher = Fetcher()
    session = fetcher.full("a:1 b:2 c:3")
    context = fetcher.begin(session, 1)
    assert names(context) == "a:1 b:2 c:3"
    answer = fetcher.finish(context, quiet("a"), data("b"), quiet("c", high_watermark=11))
    assert answer.session_id == session
    assert told(answer) == [1, 2]
    # What was told is not told again.
    context = fetcher.begin(session, 2)
    assert told(fetcher.finish(context, quiet("a"), quiet("b"), quiet("c", high_watermark=11))) == []


def test_partitions_are_added_changed_and_forgotten() -> None:
    fetcher = Fetcher()
    session = fetcher.full("a:1 b:2")
    context = fetcher.begin(session, 1, "b:20 c:30", forget="a unknown")
    assert names(context) == "b:20 c:30"
    # A partition that is new to the session is told of, even without records.
    assert told(fetcher.finish(context, quiet("b"), quiet("c"))) == [1]
    assert fetcher.sessions.partition_count == 2


def test_forgetting_the_last_partition_closes_the_session() -> None:
    fetcher = Fetcher()
    session = fetcher.full("a")
    context = fetcher.begin(session, 1, forget="a")
    assert fetcher.finish(context) == (ErrorCode.NONE, NO_SESSION, None)
    assert len(fetcher.sessions) == 0
    assert fetcher.begin(session, 2).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


# --------------------------------------------------------------------------------------------- what is new


@pytest.mark.parametrize(
    ("outcome", "included"),
    [
        (PartitionOutcome("a", 0, 0, 10, 0, 0), False),
        (PartitionOutcome("a", 0, 0, 10, 0, 1), True),
        (PartitionOutcome("a", 0, 0, 11, 0, 0), True),
        (PartitionOutcome("a", 0, 0, 10, 5, 0), True),
        (PartitionOutcome("a", 0, 0, 10, 0, 0, must_answer=True), True),
        (PartitionOutcome("a", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 10, 0, 0), True),
    ],
)
def test_what_makes_a_partition_worth_telling(outcome: PartitionOutcome, included: bool) -> None:
    fetcher = Fetcher()
    session = fetcher.full("a")
    assert told(fetcher.finish(fetcher.begin(session, 1), outcome)) == ([0] if included else [])


def test_after_an_error_the_partition_is_told_again() -> None:
    fetcher = Fetcher()
    session = fetcher.full("a")
    broken = PartitionOutcome("a", 0, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1, 0)
    assert told(fetcher.finish(fetcher.begin(session, 1), broken)) == [0]
    assert told(fetcher.finish(fetcher.begin(session, 2), broken)) == [0]
    assert told(fetcher.finish(fetcher.begin(session, 3), quiet("a"))) == [0]
    assert told(fetcher.finish(fetcher.begin(session, 4), quiet("a"))) == []


def test_partitions_with_records_go_to_the_end() -> None:
    fetcher = Fetcher()
    session = fetcher.full("a b c d")
    fetcher.finish(fetcher.begin(session, 1), data("a"), quiet("b"), data("c"), quiet("d"))
    context = fetcher.begin(session, 2)
    assert names(context) == "b:0 d:0 a:0 c:0"
    # News without records do not cost the place in the row.
    fetcher.finish(context, quiet("b", high_watermark=99), quiet("d"), quiet("a"), quiet("c"))
    assert names(fetcher.begin(session, 3)) == "b:0 d:0 a:0 c:0"


def test_a_partition_named_twice_counts_once_as_said_last() -> None:
    fetcher = Fetcher()
    assert names(fetcher.begin(NO_SESSION, FINAL_EPOCH, "a:1 b:2 a:3")) == "a:3 b:2"
    session = fetcher.full("a:1 a:2")
    assert fetcher.sessions.partition_count == 1
    assert names(fetcher.begin(session, 1)) == "a:2"


def test_a_session_grows_too_large_for_what_it_holds_not_for_what_it_is_said_to_forget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("moldau.server.fetch_sessions.MOST_PARTITIONS", 3)
    fetcher = Fetcher()
    session = fetcher.full("a:1 b:1")
    assert names(fetcher.begin(session, 1, "c:1 d:1", forget="a")) == "b:1 c:1 d:1"
    assert fetcher.begin(session, 2, "e:1", forget="x y z").error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(fetcher.sessions) == 0


def test_nothing_is_rebuilt_while_nothing_changes() -> None:
    fetcher = Fetcher()
    session = fetcher.full("a:1 b:2")
    first = fetcher.begin(session, 1)
    fetcher.finish(first, quiet("a"), quiet("b"))
    second = fetcher.begin(session, 2)
    assert second.partitions is first.partitions


# ----------------------------------------------------------------------------------------- ids and epochs


def test_an_unknown_session_is_an_error_of_the_whole_request() -> None:
    fetcher = Fetcher()
    context = fetcher.begin(77, 1, "a")
    assert context.error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert names(context) == ""
    assert fetcher.finish(context) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, NO_SESSION, ())


@pytest.mark.parametrize("epoch", [2, 3, MAX_INT])
def test_an_unexpected_epoch_is_an_error_and_the_session_goes_on(epoch: int) -> None:
    fetcher = Fetcher()
    session = fetcher.full("a")
    assert fetcher.begin(session, epoch, "b").error == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    context = fetcher.begin(session, 1)
    assert names(context) == "a:0"


def test_an_epoch_used_twice_is_an_error() -> None:
    fetcher = Fetcher()
    session = fetcher.full("a")
    fetcher.begin(session, 1)
    assert fetcher.begin(session, 1).error == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_a_parked_fetch_that_was_overtaken_is_refused_when_it_ends() -> None:
    fetcher = Fetcher()
    session = fetcher.full("a")
    parked = fetcher.begin(session, 1)
    fetcher.finish(fetcher.begin(session, 2))
    assert fetcher.finish(parked) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, NO_SESSION, ())
    assert parked.throttled() == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, NO_SESSION, ())


def test_ids_and_names_do_not_mix() -> None:
    fetcher = Fetcher()
    by_name = fetcher.full("a")
    by_id = fetcher.full("a", topic_ids=True)
    assert fetcher.begin(by_name, 1, topic_ids=True).error == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert fetcher.begin(by_id, 1).error == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    context = fetcher.begin(by_id, 1, topic_ids=True)
    assert [p.topic for p in context.partitions] == [ID]


@pytest.mark.parametrize("epoch", [INITIAL_EPOCH, FINAL_EPOCH])
def test_a_full_fetch_closes_the_session_it_names(epoch: int) -> None:
    fetcher = Fetcher()
    session = fetcher.full("a b")
    answer = fetcher.finish(fetcher.begin(session, epoch, "c"))
    assert answer.session_id == (2 if epoch == INITIAL_EPOCH else NO_SESSION)
    assert fetcher.begin(session, 1).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_epochs_wrap_to_one() -> None:
    assert next_epoch(INITIAL_EPOCH) == 1
    assert next_epoch(MAX_INT) == 1
    assert next_epoch(FINAL_EPOCH) == FINAL_EPOCH


def test_a_throttled_answer_keeps_the_session_and_tells_nothing() -> None:
    fetcher = Fetcher()
    session = fetcher.full("a")
    context = fetcher.begin(session, 1)
    assert context.throttled() == (ErrorCode.NONE, session, ())
    assert told(fetcher.finish(fetcher.begin(session, 2), data("a"))) == [0]


# ------------------------------------------------------------------------------------------------ eviction


def test_a_full_cache_refuses_sessions_of_equal_worth() -> None:
    fetcher = Fetcher(slots=2)
    assert fetcher.full("a b") == 1
    assert fetcher.full("a b") == 2
    assert fetcher.full("a b c") == NO_SESSION
    assert fetcher.sessions.evictions == 0


def test_an_unused_session_makes_room() -> None:
    fetcher = Fetcher(slots=2)
    unused, used = fetcher.full("a b"), fetcher.full("a b")
    fetcher.now = MIN_EVICTION_MS
    fetcher.begin(used, 1)
    assert fetcher.full("c") == NO_SESSION
    fetcher.now = MIN_EVICTION_MS + 1
    assert fetcher.full("c") == 3
    assert fetcher.sessions.evictions == 1
    assert fetcher.begin(unused, 1).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert fetcher.begin(used, 2).error == ErrorCode.NONE


def test_an_old_smaller_session_gives_way_to_a_larger_one() -> None:
    fetcher = Fetcher(slots=2)
    small, large = fetcher.full("a"), fetcher.full("a b c")
    fetcher.now = MIN_EVICTION_MS + 1
    fetcher.begin(small, 1)
    fetcher.begin(large, 1)
    assert fetcher.full("a") == NO_SESSION, "not larger"
    assert fetcher.full("a b") == 3
    assert fetcher.begin(small, 2).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert fetcher.full("a b c d") == 4, "the youngest stays, the larger but older one goes"
    assert fetcher.begin(large, 2).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_young_session_does_not_give_way_to_a_larger_one() -> None:
    fetcher = Fetcher(slots=1)
    fetcher.full("a")
    fetcher.now = MIN_EVICTION_MS
    fetcher.begin(1, 1)
    assert fetcher.full("a b c") == NO_SESSION


def test_a_follower_takes_the_place_of_a_consumer_but_not_of_a_young_follower() -> None:
    fetcher = Fetcher(slots=2)
    consumer = fetcher.full("a b c")
    follower = fetcher.full("a", follower=True)
    assert fetcher.full("x", follower=True) == 3
    assert fetcher.begin(consumer, 1).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert fetcher.full("x y z", follower=True) == NO_SESSION
    assert fetcher.begin(follower, 1).error == ErrorCode.NONE
    assert fetcher.full("x y z") == NO_SESSION, "a consumer never displaces a follower"


def test_without_slots_there_are_no_sessions() -> None:
    fetcher = Fetcher(slots=0)
    assert fetcher.full("a") == NO_SESSION
    assert len(fetcher.sessions) == 0


# ------------------------------------------------------------------------------------------ all of it at once

steps = st.lists(
    st.tuples(
        st.sampled_from(["full", "fetch", "forget", "add", "wait", "close"]),
        st.integers(0, 30),
        st.integers(1, 5),
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 4), steps)
def test_the_books_are_always_right(slots: int, plan: list[tuple[str, int, int]]) -> None:
    """Whatever happens: never more sessions than slots, and the counts agree with what is held."""
    fetcher = Fetcher(slots)
    epochs: dict[int, int] = {}
    for action, pick, size in plan:
        asked = " ".join(f"t{number}" for number in range(size))
        if action == "full":
            session = fetcher.full(asked, follower=pick % 3 == 0)
            if session:
                epochs[session] = 1
        elif action == "wait":
            fetcher.now += pick * 10_000
        elif epochs:
            session = sorted(epochs)[pick % len(epochs)]
            epoch = FINAL_EPOCH if action == "close" else epochs[session]
            context = fetcher.begin(
                session, epoch, asked if action == "add" else "", forget=asked if action == "forget" else ""
            )
            answer = fetcher.finish(context)
            if answer.session_id == session:
                epochs[session] = next_epoch(epochs[session])
            else:
                assert context.error in (ErrorCode.NONE, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
                del epochs[session]
        held = fetcher.sessions._sessions.values()
        assert len(held) <= slots
        assert fetcher.sessions.partition_count == sum(len(session) for session in held)
        assert [s.last_used_ms for s in held] == sorted(s.last_used_ms for s in held)
        listed = {key[2] for key in fetcher.sessions._evictable_by_privileged}
        assert listed <= set(fetcher.sessions._sessions)
        assert {s.id for s in held if not s.privileged} <= listed
