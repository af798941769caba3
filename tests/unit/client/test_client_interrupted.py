"""Ctrl-C and other exceptions on the way: nothing is left behind, and limits are what was said."""

from __future__ import annotations

import os
import signal
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from scripted_peer import SILENCE, ScriptedPeer, metadata

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer, errors
from moldau.client.consumer import commits
from moldau.client.consumer.commits import Commits
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.init_producer_id import InitProducerIdResponse


def interrupt(_version: int, _request: Any) -> Any:
    """Ctrl-C while an answer is waited for that never comes."""
    os.kill(os.getpid(), signal.SIGINT)
    return SILENCE


def threads_of(client_id: str) -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(client_id)]


@pytest.mark.parametrize("kind", [KafkaConsumer, KafkaProducer, KafkaAdminClient])
def test_a_client_that_was_not_finished_leaves_no_thread(kind: Any) -> None:
    with ScriptedPeer({ApiKey.METADATA: interrupt}) as peer:
        with pytest.raises(KeyboardInterrupt):
            kind(bootstrap_servers=str(peer.address), client_id="unfinished")
        assert threads_of("unfinished") == []


def test_an_interrupted_close_of_a_producer_is_the_end() -> None:
    def describe(_version: int, _request: Any) -> Any:
        return metadata({1: peer.address}, {"rivers": {0: (1, 0)}})

    def identify(_version: int, _request: Any) -> Any:
        return InitProducerIdResponse(producer_id=9, producer_epoch=0)

    with ScriptedPeer(ranges={ApiKey.PRODUCE: (3, 12)}) as peer:
        peer.handlers |= {
            ApiKey.METADATA: describe,
            ApiKey.INIT_PRODUCER_ID: identify,
            ApiKey.PRODUCE: interrupt,
        }
        # Nothing is sent before somebody wants to see the end of it.
        producer = KafkaProducer(bootstrap_servers=str(peer.address), client_id="interrupted", linger_ms=60_000)
        future = producer.send("rivers", b"x")
        with pytest.raises(KeyboardInterrupt):
            producer.close()
        assert threads_of("interrupted") == []
        assert isinstance(future.exception, errors.KafkaTimeoutError)
        producer.close()


def test_all_steps_of_an_end_share_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(commits, "monotonic", lambda: now)
    network = SimpleNamespace(heard_at=99.0)
    session: Any = SimpleNamespace(timeout=30.0, config={}, network=network)
    nobody: Any = None
    ending = Commits(session, nobody, None, nobody)
    assert ending.time_left() == 30.0
    ending.finish(1.0)
    now = 100.75
    assert ending.time_left() == 0.25
    now = 102.0
    assert ending.time_left() == 0.0
    # Without a limit of its own: that of a request, and five seconds of silence.
    ending.finish(None)
    assert ending.time_left() == 5.0
    network.heard_at, now = 104.0, 105.0
    assert ending.time_left() == 4.0
    network.heard_at = now = 130.0
    assert ending.time_left() == 2.0


@pytest.mark.parametrize("kind", [KafkaConsumer, KafkaProducer])
def test_a_client_interrupted_while_its_thread_starts_leaves_none(
    kind: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = threading.Thread.start

    def struck(self: threading.Thread) -> None:
        """Python waits for the new thread to say that it runs; Ctrl-C ends that wait, but not the thread."""
        begin(self)
        if self.name.startswith("struck"):
            raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", struck)
    with pytest.raises(KeyboardInterrupt):
        kind(bootstrap_servers="127.0.0.1:1", client_id="struck")
    assert threads_of("struck") == []
