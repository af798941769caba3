"""What an application subscribes to: topics by name or by a pattern, and which of them are not there yet.

A topic that appears after the application began to wait for it has no record older than the wait. So where nothing is
committed it is read from its first record on, also with `auto_offset_reset="latest"`: what is written between its
creation and the moment this client hears of it would be skipped otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from re import Pattern
from typing import Any

from moldau.client.metadata import ClusterView, TopicView, check_topic
from moldau.errors.named import IllegalStateError


class Subscription:
    """`names` are the topics in force, None without a subscription. Written by the application's thread; `look_at` runs
    on the network's."""

    def __init__(self, *, exclude_internal: bool) -> None:
        self.names: frozenset[str] | None = None
        self.pattern: Pattern[str] | None = None
        self._exclude_internal = exclude_internal
        self._absent: set[str] = set()
        # What was believed of the topics before anybody was asked on behalf of the subscription.
        self._before: dict[str, TopicView | None] = {}
        # With a pattern: all topics there were at the beginning. Whatever matches later has appeared since.
        self._first: frozenset[str] | None = None
        # With a pattern: whether a name fits. Each is looked at once, however many there are and however often told of.
        self._fitting: dict[str, bool] = {}

    def begin(self, topics: Sequence[str], pattern: str | Pattern[str] | None, view: ClusterView) -> None:
        self.names = frozenset(topics)
        self.pattern = re.compile(pattern) if isinstance(pattern, str) else pattern
        self._before = {name: view.topics.get(name) for name in self.names}
        self._first = None
        self._absent = set()
        self._fitting = {}

    def end(self) -> None:
        self.names = self.pattern = None

    def began_with(self, view: ClusterView) -> None:
        """Told all topics there are, once."""
        self._first = frozenset(view.topics)

    def look_at(self, view: ClusterView) -> None:
        if self.pattern is not None:
            names = self._matching(view)
            if names != self.names:
                if self._first is not None:
                    self._absent |= names - self._first - (self.names or frozenset())
                self.names = names
        elif self.names:
            known = {name: view.topics.get(name) for name in self.names}
            # Without partitions, and not just believed so: a broker has been asked and has said so.
            self._absent |= {
                name
                for name, topic in known.items()
                if topic is not None and not topic.partitions and topic is not self._before.get(name)
            }

    def _matching(self, view: ClusterView) -> frozenset[str]:
        assert self.pattern is not None
        match, fitting, exclude = self.pattern.match, self._fitting, self._exclude_internal
        found = []
        for name, topic in view.topics.items():
            fits = fitting.get(name)
            if fits is None:
                fits = fitting[name] = match(name) is not None
            if fits and not (exclude and topic.internal):
                found.append(name)
        return frozenset(found)

    def missing(self, view: ClusterView) -> bool:
        """Whether something is subscribed to by name that has no partitions as far as is known."""
        if self.pattern is not None:
            return False
        topics = view.topics
        return any(name not in topics or not topics[name].partitions for name in self.names or ())

    def appeared(self, topics: Iterable[str]) -> set[str]:
        """Those of the topics that were waited for; each is named once."""
        found = self._absent.intersection(topics)
        self._absent -= found
        return found


def check_subscription(topics: Sequence[str], pattern: str | Pattern[str] | None, listener: Any) -> None:
    """TypeError, ValueError and IllegalStateError as kafka-python raises them."""
    if not topics and not pattern:
        raise ValueError("either topics or a pattern are needed")
    if topics and pattern:
        raise IllegalStateError("Either topics or a pattern are needed, not both.")
    if topics and (isinstance(topics, str) or not isinstance(topics, Sequence | set | frozenset)):
        raise TypeError("topics are given as a list of names")
    for name in topics:
        check_topic(name)
    if listener is not None and not hasattr(listener, "on_partitions_assigned"):
        raise TypeError("a listener is a ConsumerRebalanceListener")
