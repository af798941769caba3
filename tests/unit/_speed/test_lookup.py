"""The search in an offset index and its twin: the same entries, however many there are and whatever is asked."""

from __future__ import annotations

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau import _speed
from moldau._speed.reference import lookup as reference

if not _speed.COMPILED:
    pytest.skip("the kernels are not compiled here: there is nothing to hold equal", allow_module_level=True)

from moldau._speed import lookup as compiled

TWINS = [reference, compiled]
numbers = st.integers(0, 2**31 - 1)
asked = st.one_of(st.integers(-2, 40), st.integers(-(2**62), 2**62))


@st.composite
def indexes(draw: st.DrawFn) -> tuple[bytes, int]:
    small = st.integers(0, 30)
    each = draw(st.sampled_from([small, numbers]))
    count = draw(st.integers(0, 12))
    offsets = sorted(draw(st.lists(each, min_size=count, max_size=count)))
    positions = sorted(draw(st.lists(each, min_size=count, max_size=count)))
    unused = draw(st.binary(max_size=20))
    return b"".join(pack(">ii", *entry) for entry in zip(offsets, positions, strict=True)) + unused, count


@given(indexes(), asked)
def test_the_twins_find_the_same(index: tuple[bytes, int], value: int) -> None:
    view, count = index
    for view_of in (bytes, bytearray, memoryview):
        for name in ("entries_up_to", "entries_before"):
            one, other = (getattr(twin, name)(view_of(view), count, value) for twin in TWINS)
            assert one == other


@pytest.mark.parametrize("twin", TWINS)
def test_what_is_found(twin):
    view = b"".join(pack(">ii", offset, position) for offset, position in [(3, 0), (7, 100), (7, 200), (9, 300)])
    assert [twin.entries_up_to(view, 4, offset) for offset in (2, 3, 6, 7, 8, 9, 99)] == [0, 1, 1, 3, 3, 4, 4]
    assert [twin.entries_before(view, 4, position) for position in (0, 1, 100, 101, 999)] == [0, 1, 1, 2, 4]
    assert twin.entries_up_to(view, 1, 99) == 1
    assert twin.entries_up_to(b"", 0, 99) == 0


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("count", [-1, 2])
def test_entries_that_are_not_there(twin, count):
    with pytest.raises(ValueError, match=r"no -?[12] entries in 15 bytes"):
        twin.entries_up_to(bytes(15), count, 0)
    with pytest.raises(ValueError, match=r"no -?[12] entries in 15 bytes"):
        twin.entries_before(bytes(15), count, 0)
