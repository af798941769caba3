"""Fetch sessions: everything once, then only what changed."""

from __future__ import annotations

from moldau.client.consumer.sessions import FetchSession, Wanted
from moldau.client.metadata import ClusterView, TopicView
from moldau.protocol.messages.fetch import FetchRequest
from moldau.types import TopicPartition

ONE, TWO = TopicPartition("moldau", 0), TopicPartition("moldau", 1)


def view(id: int = 1) -> ClusterView:
    return ClusterView(topics={"moldau": TopicView("moldau", bytes([id]) * 16)})


def wanted(offset: int) -> Wanted:
    return Wanted(offset, 0, -1, -1, 1000)


def filled(session: FetchSession, known: ClusterView, **offsets: int) -> FetchRequest:
    request = FetchRequest()
    places = {"one": ONE, "two": TWO}
    session.fill(request, {places[name]: wanted(offset) for name, offset in offsets.items()}, known)
    return request


def named(request: FetchRequest) -> list[tuple[int, int]]:
    return [(each.partition, each.fetch_offset) for topic in request.topics for each in topic.partitions]


def forgotten(request: FetchRequest) -> list[int]:
    return [number for topic in request.forgotten_topics_data for number in topic.partitions]


def test_only_changes_are_told() -> None:
    session = FetchSession()
    first = filled(session, view(), one=5, two=6)
    assert (first.session_id, first.session_epoch, named(first)) == (0, 0, [(0, 5), (1, 6)])
    session.answered(77)
    second = filled(session, view(), one=9, two=6)
    assert (second.session_id, second.session_epoch, named(second)) == (77, 1, [(0, 9)])
    session.answered(77)
    third = filled(session, view(), two=6)
    assert (third.session_epoch, named(third), forgotten(third)) == (2, [], [0])
    session.answered(77)
    assert named(filled(session, view(), one=9, two=6)) == [(0, 9)]


def test_starts_over_when_the_broker_forgot() -> None:
    session = FetchSession()
    filled(session, view(), one=5)
    session.answered(77)
    session.reset()
    again = filled(session, view(), one=5)
    assert (again.session_id, again.session_epoch, named(again)) == (0, 0, [(0, 5)])
    session.answered(0)
    assert filled(session, view(), one=6).session_epoch == 0


def test_starts_over_when_a_topic_is_another_one() -> None:
    session = FetchSession()
    filled(session, view(), one=5)
    session.answered(77)
    assert named(filled(session, view(id=2), one=5)) == [(0, 5)]


def test_without_sessions_everything_is_told_each_time() -> None:
    session = FetchSession(incremental=False)
    for _ in range(2):
        request = filled(session, view(), one=5)
        assert (request.session_id, request.session_epoch, named(request)) == (0, -1, [(0, 5)])
        session.answered(77)
