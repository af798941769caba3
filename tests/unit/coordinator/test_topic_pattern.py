"""Patterns over topic names: RE2's answers, in steps that hold up nobody."""

from __future__ import annotations

import re

import pytest
from coordinator_world import FakeTime, PatientWorkers
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.coordinator.group import topic_pattern
from moldau.coordinator.group.topic_pattern import MAX_LENGTH, PatternResolver, TopicPattern, Topics, check_pattern
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import MetadataImage, TopicImage, TopicsImage
from moldau.runtime.real import RealRuntime

_ATOMS = st.sampled_from(["a", "b", "-", r"\.", ".", "[ab]", "[^a]", "[a-c_]", "^", "$", r"\d", r"\w", r"\S"])

# Ten thousand states in ten characters; what made an automaton in Python think for a minute.
HOSTILE = ["(.?){900}", "([a-z0-9]{0,40}){20}x", r"(\W?){900}"]


def _grow(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(parts, parts).map("".join),
        st.tuples(parts, parts).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(parts, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,}", "*?"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    )


@settings(max_examples=150)
@given(pattern=st.recursive(_ATOMS, _grow, max_leaves=8), names=st.lists(st.text("abc-._1", max_size=8), max_size=12))
def test_the_answers_are_those_of_python(pattern: str, names: list[str]) -> None:
    compiled = TopicPattern(pattern)
    assert {name: compiled.matches(name) for name in names} == {
        name: re.fullmatch(pattern, name) is not None for name in names
    }


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("orders-.*", ["orders-", "orders-1"], ["orders", "my-orders-1"]),
        ("^orders-.*$", ["orders-1"], ["xorders-1"]),
        # As librdkafka sends it.
        ("(^orders-.*)|(^x$)", ["orders-1", "x"], ["xx", "my-orders-1"]),
        ("a^b", [], ["ab", "a^b"]),
        ("^a|^b.*", ["a", "b", "bc"], ["ac"]),
        ("(?i)Orders", ["orders", "ORDERS"], ["order"]),
        ("(?P<region>eu|us)-[0-9]{1,2}", ["eu-1", "us-12"], ["eu-", "eu-123", "as-1"]),
        (r"\borders\b.*", ["orders-1"], ["orders1"]),
        ("a{x}", ["a{x}"], ["a"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("a|bc", ["a", "bc"], ["abc", "ac"]),
        ("", [""], ["a"]),
    ],
)
def test_what_is_matched(pattern: str, matching: list[str], others: list[str]) -> None:
    compiled = TopicPattern(pattern)
    assert [name for name in [*matching, *others] if compiled.matches(name)] == matching


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|a)*b", "(a?){50}a{50}b", "(.*)(.*)(.*)(.*)x"])
def test_patterns_that_stop_a_backtracking_engine(pattern: str) -> None:
    assert not TopicPattern(pattern).matches("a" * 249)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "(a", "a)", "[a", "*", "a**", "+a", "a{3,2}", "a{1001}", r"\1", "a\\", "(?=a)", "(?<!a)"),
        *("(?P=x)", "[b-a]", "(?P<x", "a" * (MAX_LENGTH + 1), "(a{1000}){1000}"),
        # What takes the engine long to compile.
        *(r"\pL" * 21, r"\PL|" * 21, r"\pL{1000}", "a{1000}" * 200),
    ],
)
def test_what_is_refused(pattern: str) -> None:
    with pytest.raises(KafkaError) as refused:
        check_pattern(pattern)
    assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


# ------------------------------------------------------------------------------------------------------ the resolver


def topics(*names: str, offset: int = 1) -> MetadataImage:
    images = {name: TopicImage(name, index.to_bytes(16, "big"), {}) for index, name in enumerate(names)}
    return MetadataImage(offset=offset, topics=TopicsImage(images, {image.id: image for image in images.values()}))


class World:
    def __init__(self, *names: str) -> None:
        self.time = FakeTime()
        self.workers = PatientWorkers(self.time)
        self.resolver = PatternResolver(self.workers, self.time)
        self.resolver.on_topics(topics(*names))
        self.found: dict[str, tuple[Topics, int]] = {}

    def resolve(self, pattern: str) -> None:
        self.resolver.resolve(pattern, lambda names, version: self.found.update({pattern: (names, version)}))

    def work(self, steps: int = 1) -> None:
        """So many steps of the worker, which is held."""
        assert self.workers.held is not None
        for _ in range(steps):
            self.workers.held.pop(0)()

    def hold(self) -> None:
        """From now on the worker waits for `work`; the engine has been loaded."""
        self.resolve("loaded")
        self.time.settle()
        self.found.clear()
        self.workers.held = []


def test_topics_of_a_pattern_are_found_once_per_metadata() -> None:
    world = World("orders-1", "orders-2", "__consumer_offsets", "__mine")
    world.resolve("orders-.*")
    world.time.settle()
    assert world.found["orders-.*"] == (frozenset({"orders-1", "orders-2"}), 1)
    assert world.resolver.known("orders-.*") == {"orders-1", "orders-2"}
    world.workers.held = []
    world.resolve("orders-.*")
    assert not world.workers.held, "it is known"
    world.resolver.on_topics(topics("orders-3", offset=2))
    assert world.resolver.known("orders-.*") is None
    world.resolve("orders-.*")
    world.resolve("orders-.*")
    assert len(world.workers.held) == 1
    world.work(2)
    assert world.found["orders-.*"] == (frozenset({"orders-3"}), 2)
    assert not world.workers.held


def test_internal_topics_are_no_part_of_a_pattern() -> None:
    world = World("__consumer_offsets", "__transaction_state", "__mine", "a")
    world.resolve(".*")
    world.time.settle()
    assert world.found[".*"][0] == {"__mine", "a"}


def test_an_answer_for_older_metadata_says_so_and_is_not_kept() -> None:
    world = World("orders-1")
    world.hold()
    world.resolve("orders-.*")
    world.resolver.on_topics(topics("orders-2", offset=5))
    world.work(2)
    assert world.found["orders-.*"] == (frozenset({"orders-1"}), 1)
    assert world.resolver.known("orders-.*") is None


def test_a_slow_pattern_takes_turns_with_the_others() -> None:
    world = World(*(f"{'a' * 200}{number}" for number in range(3000)), "orders-1")
    world.hold()
    world.resolve(HOSTILE[0])
    world.work()
    for pattern in "bcd":
        world.resolve(f"{pattern}.*")
    steps = 0
    while len(world.found) < 3:
        world.work()
        steps += 1
    assert HOSTILE[0] not in world.found
    assert steps < 30
    while HOSTILE[0] not in world.found:
        world.work()
        steps += 1
    assert steps > 3000 * 1000 // 200_000


def test_loading_compiling_and_matching_are_steps_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_ = topic_pattern._compile
    monkeypatch.setattr(
        topic_pattern, "_compile", lambda pattern, *rest: compiled.append(pattern) or compile_(pattern, *rest)
    )
    world = World("a")
    world.workers.held = []
    world.resolver.prepare("a.*").then(lambda _, error: None)
    world.work()
    assert not compiled, "the engine is loaded"
    world.work()
    assert compiled == ["a.*"], "it is checked"
    world.work()
    assert len(compiled) > 1
    assert world.resolver.known("a.*") is None, "it is compiled"
    world.work()
    assert world.resolver.known("a.*") == {"a"}
    world.resolve("b")
    world.work()
    assert compiled[-1] == "b", "the engine is loaded once"


def test_a_few_patterns_are_matched_at_a_time_and_a_check_comes_first() -> None:
    world = World(*(f"{'a' * 200}{number}" for number in range(2500)))
    world.hold()
    for number in range(6):
        world.resolve(f"x{number}")
    seen: list[BaseException | None] = []
    world.resolver.prepare("(").then(lambda _, error: seen.append(error))
    world.work()
    world.work()
    assert [error.code for error in seen if isinstance(error, KafkaError)] == [ErrorCode.INVALID_REGULAR_EXPRESSION]
    order = []
    while len(world.found) < 6:
        before = set(world.found)
        world.work()
        order += sorted(world.found.keys() - before)
    # Four steps each: four of them take turns, the last two come when there is room.
    assert order == ["x0", "x1", "x2", "x3", "x4", "x5"]


def test_a_new_subscription_waits_for_its_topics_but_not_for_long() -> None:
    world = World("a")
    world.hold()
    seen: list[BaseException | None] = []
    world.resolver.prepare("a.*").then(lambda _, error: seen.append(error))
    world.work()
    assert not seen
    world.time.advance(1000)
    assert seen == [None]
    assert world.resolver.known("a.*") is None
    world.work(2)
    assert world.resolver.known("a.*") == {"a"}
    world.resolver.prepare("a.*").then(lambda _, error: seen.append(error))
    assert seen == [None, None]


def test_a_pattern_that_is_none_stands_for_nothing(caplog: pytest.LogCaptureFixture) -> None:
    world = World("a")
    world.resolve("(")
    world.time.settle()
    assert world.found["("] == (frozenset(), 1)
    assert "not a regular expression" in caplog.text


def test_after_closing_nobody_is_called() -> None:
    world = World("a")
    world.hold()
    world.resolve("a")
    world.resolver.close()
    world.work()
    world.resolve("b")
    assert not world.found
    assert not world.workers.held


def test_hostile_patterns_on_real_workers() -> None:
    runtime = RealRuntime()
    resolver = PatternResolver(runtime.workers, runtime.loop)
    resolver.on_topics(topics(*(f"{'a' * 200}{number}" for number in range(200))))
    found: dict[str, Topics] = {}

    def done(names: dict[str, Topics], version: int) -> None:
        found.update(names)
        runtime.loop.stop()

    resolver.resolve_all(HOSTILE, done)
    runtime.loop.run()
    runtime.close()
    assert [len(found[pattern]) for pattern in HOSTILE] == [200, 0, 0]
