"""Our `dataclass` beside the standard one: the same classes made with both behave the same."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Hashable
from typing import Any, ClassVar

import pytest

from moldau.dataclass import FrozenError, dataclass, field, replace


@dataclass(slots=True, frozen=True)
class Place:
    LIMIT: ClassVar[int] = 7
    host: str
    port: int = 9092
    tags: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(slots=True)
class Counter:
    count: int = 0
    last: int = field(default=3, kw_only=True)


@dataclass(slots=True, frozen=True)
class Named(Place):
    port: int = 1
    name: str = ""


@dataclass(slots=True, eq=False)
class Alone:
    value: int


@dataclass(slots=True, frozen=True)
class Empty:
    pass


@dataclass(slots=True, frozen=True)
class Own:
    value: int

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 5

    def __repr__(self) -> str:
        return "own"


def standard(cls: type, **settings: Any) -> Any:
    """The same class again, from the standard library."""
    body: dict[str, Any] = {"__annotations__": dict(cls.__annotations__), "__module__": __name__}
    return dataclasses.dataclass(slots=True, **settings)(type(cls.__name__, (), body))


def test_fields_defaults_and_factories() -> None:
    first, second = Place("a"), Place("a", tags=[])
    assert (first.host, first.port, first.tags, first.text, Place.LIMIT) == ("a", 9092, [], "a:9092", 7)
    assert first.tags is not second.tags
    assert first == second
    assert first != Place("a", 1)
    assert Place.__match_args__ == ("host", "port", "tags")


def test_a_missing_or_an_unknown_argument_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match="host"):
            Place()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="nothing"):
            Place("a", nothing=1)  # type: ignore[call-arg]


def test_by_name_only() -> None:
    assert Counter(1, last=2).last == 2
    assert (Counter().last, Counter.__match_args__) == (3, ("count",))
    with pytest.raises(TypeError):
        Counter(1, 2)  # type: ignore[misc]


def test_inherited_fields_come_first_and_may_be_given_anew() -> None:
    named = Named("a", name="n")
    assert (named.port, named.name, Named.__match_args__) == (1, "n", ("host", "port", "tags", "name"))
    assert named != Place("a", 1)
    assert not hasattr(named, "__dict__")


def test_frozen_objects_stay_as_they_were_made() -> None:
    place = Place("a")
    with pytest.raises(FrozenError, match="host"):
        place.host = "b"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del place.host
    counter = Counter()
    counter.count = 5
    assert counter.count == 5
    with pytest.raises(AttributeError):
        counter.other = 5  # type: ignore[attr-defined]


def test_hashes_are_those_of_the_fields() -> None:
    assert {Named("a", tags=()), Named("a", tags=())} == {Named("a", tags=())}  # type: ignore[arg-type]
    assert len({Empty(), Empty()}) == 1
    assert not isinstance(Counter(), Hashable)
    one, other = Alone(1), Alone(1)
    assert one != other
    assert len({one, other}) == 2
    assert (Own(1) == Own(2), hash(Own(1)), repr(Own(1))) == (True, 5, "own")


@pytest.mark.parametrize(("cls", "values"), [(Place, ("a", 1, ["t"])), (Counter, ()), (Empty, ())])
def test_repr_is_the_standard_one(cls: type, values: tuple[Any, ...]) -> None:
    ours = cls(*values)
    if cls is Counter:
        assert repr(ours) == "Counter(count=0, last=3)"
    else:
        assert repr(ours) == repr(standard(cls, frozen=True)(*values))


@pytest.mark.parametrize("instance", [Place("a", 2, ["t"]), Named("a", name="n"), Counter(2, last=9), Empty()])
def test_copies_and_pickles_are_equal(instance: Any) -> None:
    assert copy.copy(instance) == copy.deepcopy(instance) == pickle.loads(pickle.dumps(instance)) == instance


def test_replace() -> None:
    place = Place("a", 1, ["t"])
    assert replace(place, port=2) == Place("a", 2, ["t"])
    assert replace(Counter(1, last=2), count=5) == Counter(5, last=2)
    with pytest.raises(TypeError):
        replace(place, nothing=1)


def test_patterns_see_the_fields() -> None:
    match Place("a", 5):
        case Place(host, 5):
            assert host == "a"
        case _:
            pytest.fail("no match")


def test_a_node_loads_neither_the_standard_one_nor_what_a_first_batch_brings() -> None:
    """What a start costs is modules; these came back by one import in one of six hundred."""
    script = (
        "import moldau.cli.start, moldau.node, moldau.runtime.real, sys;"
        "print(*sorted({'dataclasses', 'inspect', 'shutil', 'lz4', 'zstandard', 'cramjam', 'ssl', 'asyncio'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
