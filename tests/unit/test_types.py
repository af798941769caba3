"""Ids as text: exactly what was written, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.types import uuid_from_text, uuid_to_text


@given(st.binary(min_size=16, max_size=16))
def test_an_id_survives_being_written(value: bytes) -> None:
    assert uuid_from_text(uuid_to_text(value)) == value


@given(st.binary(min_size=16, max_size=16), st.integers(0, 21), st.sampled_from(["", "\0", "*", " "]))
def test_a_torn_id_is_no_id(value: bytes, place: int, hole: str) -> None:
    text = uuid_to_text(value)
    with pytest.raises(ValueError, match="is not a Kafka id"):
        uuid_from_text(text[:place] + hole)
    with pytest.raises(ValueError, match="is not a Kafka id"):
        uuid_from_text(text[:place] + hole + text[place + 1 :])
