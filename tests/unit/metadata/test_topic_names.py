"""Topic names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.errors import ErrorCode, KafkaError
from moldau.metadata import topic_name


def test_internal_topics() -> None:
    assert topic_name.is_internal("__consumer_offsets")
    assert topic_name.is_internal("__transaction_state")
    assert not topic_name.is_internal("__cluster_metadata")
    assert not topic_name.is_internal("orders")


@given(st.text(alphabet="abcXYZ019._-", min_size=1, max_size=249))
def test_legal_names_are_accepted(name: str) -> None:
    if name not in (".", ".."):
        topic_name.validate(name)


@given(st.text(min_size=1).filter(lambda name: not name.isascii() or not name.replace("_", "").isalnum()))
def test_other_characters_are_refused(name: str) -> None:
    if set(name) <= set("._-") | set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"):
        return
    with pytest.raises(KafkaError) as caught:
        topic_name.validate(name)
    assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_what_collides() -> None:
    assert topic_name.collision_key("a.b") == topic_name.collision_key("a_b") != topic_name.collision_key("a.c")
    assert topic_name.collision_key("plain-name") is None
