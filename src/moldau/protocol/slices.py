"""Reading and writing large messages a little at a time.

A message with very many elements would hold its thread for as long as all of them take. The generated `read_slices` and
`write_slices` are therefore generators that do the same as `read_all` and `write_all`, and pause: each `yield` says how
many elements were dealt with since the last one. Whoever runs them decides at each pause whether to go on now, later or
not at all. Only structs that hold arrays have them; arrays of anything simpler are cut into pieces here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import islice
from sys import getrefcount
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.arrays import read_many, read_uuids
from moldau.types import Uuid

if TYPE_CHECKING:
    from moldau.protocol.wire import Writer

T = TypeVar("T")

Slices: TypeAlias = Generator[int, None, T]

# What a request may name at most, counting the elements of all its arrays: far above what any honest client asks for.
MOST_ELEMENTS: Final = 200_000

# Elements between two pauses, for those without arrays of their own: some tens of microseconds.
_PIECE: Final = 32
# Elements that are freed in one go.
_MANY: Final = 256
# References to what only its message, or its array, holds, seen from a function that has it in its hands.
_OURS: Final = 3


def check_count(count: int) -> None:
    """Refuses an array that alone is more than a request may have, before any of it is read."""
    if count > MOST_ELEMENTS:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"An array of {count} elements is not taken.")


def struct_slices(
    read_all: Callable[[Any, int, int, int], tuple[list[T], int]],
    data: Any,
    pos: int,
    version: int,
    count: int,
    *,
    bounded: bool = True,
) -> Slices[tuple[list[T], int]]:
    if count <= _PIECE:
        items, pos = read_all(data, pos, version, count)
        yield count
        return items, pos
    if bounded:
        check_count(count)
    items = []
    while count:
        size = min(count, _PIECE)
        piece, pos = read_all(data, pos, version, size)
        items += piece
        count -= size
        yield size
    return items, pos


def value_slices(
    read: Callable[[Any, int], tuple[T, int]], data: Any, pos: int, count: int, *, bounded: bool = True
) -> Slices[tuple[list[T], int]]:
    if bounded:
        check_count(count)
    values: list[T] = []
    while count:
        size = min(count, _PIECE)
        piece, pos = read_many(read, data, pos, size)
        values += piece
        count -= size
        yield size
    return values, pos


def uuid_slices(data: Any, pos: int, count: int, *, bounded: bool = True) -> Slices[tuple[list[Uuid], int]]:
    if bounded:
        check_count(count)
    values: list[Uuid] = []
    while count:
        size = min(count, _PIECE)
        piece, pos = read_uuids(data, pos, size)
        values += piece
        count -= size
        yield size
    return values, pos


def written_slices(
    write_all: Callable[[Writer, Iterable[T], int], None], out: Writer, items: Sequence[T], version: int
) -> Slices[None]:
    if len(items) <= _PIECE:
        write_all(out, items, version)
        yield len(items)
        return
    rest = iter(items)
    while piece := list(islice(rest, _PIECE)):
        write_all(out, piece, version)
        yield len(piece)


def freed(message: Any, *, alone: bool = False) -> Slices[None]:
    """Lets go of the elements of a message that is done with: freeing very many at once takes its time, too.

    Only arrays that nobody else holds are emptied; what is short, or somebody else's, is left to go with the message.
    `alone` says that nobody else has the message, as with a request: then short arrays within it are emptied as well,
    since there may be very many of them.
    """
    for field in message.FIELDS:
        elements = getattr(message, field)
        if type(elements) is not list or not elements:
            continue
        ours = getrefcount(elements) == _OURS
        if hasattr(elements[0], "FIELDS"):
            if len(elements) <= _MANY and not (alone and ours):
                for element in elements:
                    yield from freed(element)
                continue
            while ours and elements:
                element = elements[-1]
                unshared = getrefcount(element) == _OURS
                yield from freed(element, alone=unshared)
                del elements[-1]
                yield 1
        elif ours and (alone or len(elements) > _MANY):
            while elements:
                del elements[-_MANY:]
                yield _MANY
