"""Learning of a topic that is to be written, which a broker may have to create first."""

from __future__ import annotations

from moldau.client.conversation import Conversation, Learn, Pause
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError


def topic_to_write(name: str) -> Conversation[ClusterView]:
    """A view with the topic in it. Asks until there is one: a broker that creates topics by itself needs a moment, and
    one that does not may be told to by somebody else."""
    failures = 0
    while True:
        try:
            view: ClusterView = yield Learn([name], create=True)
            view.topic(name)
            return view
        except KafkaError as error:
            if not error.retriable:
                raise
            missing = error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            yield Pause(min(failures, 1) if missing else failures, error)
            failures += 1
