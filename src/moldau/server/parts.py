"""A request of very many elements, handled as if the client had sent several smaller ones.

A controller or a coordinator decides a request whole, at once. So where the work grows with the request it is cut into
parts along its arrays, each part is handled and answered like a request, with room for others between them, and the
answers are put together again. Requests of usual size are one part and never come here.

Where in a request and in its answer the arrays are is told by the names of their fields, from the outside in:
`Parts(("topics", "partitions"), ("topics", "partitions"))`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Final

from moldau.dataclass import dataclass
from moldau.protocol.message import Message
from moldau.slicing import Work, pieces

# Elements of a part, where one takes some tens of microseconds.
USUAL: Final = 200


@dataclass(frozen=True, slots=True)
class Parts:
    asked: tuple[str, ...]
    answered: tuple[str, ...]
    size: int = USUAL
    # Fields by which an element is known, where the request must not name one twice: those stay in one part.
    unique: tuple[str, ...] = ()
    # What an element asks for, if that is much and is told once however often it is asked for.
    once: Callable[[Any], Hashable] | None = None

    def is_large(self, request: Message) -> bool:
        return _weight(getattr(request, self.asked[0]), self.asked[1:], self.size) > self.size

    def cut(self, request: Message) -> Iterator[Message | None]:
        """The parts; None now and then, because cutting takes its time, too."""
        elements = getattr(request, self.asked[0])
        if self.unique:
            elements = yield from self._grouped(elements)
        if self.once is not None:
            elements = yield from self._without_repeats(elements, self.once)
        for some in _pieces(elements, self.asked[1:], self.size):
            yield None if some is None else request.changed(**{self.asked[0]: some})

    def _grouped(self, elements: Iterable[Any]) -> Work[list[Any]]:
        """Those of one name beside each other; more than two of them say no more than two do."""
        same: dict[Hashable, list[Any]] = {}
        for element in elements:
            name = element if isinstance(element, str) else tuple([getattr(element, name) for name in self.unique])
            found = same.setdefault(name, [])
            if len(found) < 2:
                found.append(element)
            yield None
        grouped: list[Any] = []
        for some in pieces(same.values()):
            for found in some:
                grouped += found
            yield None
        return grouped

    def _without_repeats(self, elements: Iterable[Any], once: Callable[[Any], Hashable]) -> Work[list[Any]]:
        seen: set[Hashable] = set()
        left: list[Any] = []
        for element in elements:
            asked = once(element)
            if asked is None or asked not in seen:
                seen.add(asked)
                left.append(element)
            yield None
        return left

    def together(self, answers: list[Any]) -> Work[Message]:
        """One answer of many, which are let go one by one; one that refuses everything stands for all."""
        for answer in answers:
            if getattr(answer, "error_code", 0):
                return answer  # type: ignore[no-any-return]
        whole, elements, ours = answers[0], list[Any](), dict[int, list[Any]]()
        answers.reverse()
        while answers:
            _append(elements, getattr(answers.pop(), self.answered[0]), self.answered[1:], ours)
            yield
        return whole.changed(**{self.answered[0]: elements})  # type: ignore[no-any-return]


def _weight(elements: Sequence[Any] | None, path: tuple[str, ...], limit: int) -> int:
    """How many elements there are on all levels, or some number above `limit`."""
    weight = len(elements or ())
    if path:
        for element in elements or ():
            if weight > limit:
                break
            weight += _weight(getattr(element, path[0]), path[1:], limit)
    return weight


def _pieces(elements: Sequence[Any] | None, path: tuple[str, ...], size: int) -> Iterator[list[Any] | None]:
    piece: list[Any] = []
    left = size
    for element in elements or ():
        weight = 1 + (_weight(getattr(element, path[0]), path[1:], size) if path else 0)
        if weight > left and piece:
            yield piece
            piece, left = [], size
        if weight > size:
            for some in _pieces(getattr(element, path[0]), path[1:], size):
                yield None if some is None else [element.changed(**{path[0]: some})]
            continue
        piece.append(element)
        left -= weight
        yield None
    if piece:
        yield piece


def _append(elements: list[Any], more: Sequence[Any], path: tuple[str, ...], ours: dict[int, list[Any]]) -> None:
    """What was cut apart belongs together again: the last of one part and the first of the next, if they are one.
    `ours` are the arrays that were made here, by their identity: they grow where they are."""
    if elements and more and path and _name(elements[-1], path) == _name(more[0], path):
        last = elements[-1]
        inner = getattr(last, path[0])
        if id(inner) not in ours:
            inner = list(inner)
            ours[id(inner)] = inner
            elements[-1] = last.changed(**{path[0]: inner})
        _append(inner, getattr(more[0], path[0]), path[1:], ours)
        more = more[1:]
    elements += more


def _name(element: Any, path: tuple[str, ...]) -> list[Any]:
    """All an element says but for what is in it."""
    return [getattr(element, field) for field in element.FIELDS if field != path[0]]
