"""Patterns over topic names: the same answers as Python's `re` where both know the syntax, and never a long wait."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.coordinator.group.topic_pattern import compile_pattern
from moldau.errors import ErrorCode, KafkaError

_ATOMS = st.sampled_from(["a", "b", "-", r"\.", ".", "[ab]", "[^a]", "[a-c_]", "^", "$", r"\d", r"\w", r"\S"])


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
    compiled = compile_pattern(pattern)
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
        ("a{x}", ["a{x}"], ["a"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("", [""], ["a"]),
    ],
)
def test_what_is_matched(pattern: str, matching: list[str], others: list[str]) -> None:
    compiled = compile_pattern(pattern)
    assert compiled.select([*matching, *others]) == frozenset(matching)


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|a)*b", "(a?){50}a{50}b", "(.*)(.*)(.*)(.*)x"])
def test_patterns_that_stop_a_backtracking_engine(pattern: str) -> None:
    assert not compile_pattern(pattern).matches("a" * 249)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "(a", "a)", "[a", "*", "a**", "+a", "a{3,2}", "a{1001}", r"\1", r"\b", "a\\", "(?=a)", "(?<!a)"),
        *("(?P=x)", "[b-a]", "(?P<x", "a" * 1001, "(a{1000}){1000}", "(" * 60 + ")" * 60),
    ],
)
def test_what_is_refused(pattern: str) -> None:
    with pytest.raises(KafkaError) as refused:
        compile_pattern(pattern)
    assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION
