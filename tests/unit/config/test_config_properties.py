from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.config.definition import ConfigError
from moldau.config.properties import decode_properties, parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("a=b", {"a": "b"}),
        ("a = b\n", {"a": "b"}),
        ("a:b", {"a": "b"}),
        ("a b c", {"a": "b c"}),
        ("a\t\f=  b", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("=b", {"": "b"}),
        ("a==b", {"a": "=b"}),
        ("a= : b", {"a": ": b"}),
        ("a : = b", {"a": "= b"}),
        ("  # no\n\t! no\n  a=1", {"a": "1"}),
        ("a=1 # part of it", {"a": "1 # part of it"}),
        ("a=b  ", {"a": "b  "}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\rb=2\r\nc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1,\\\n    2,\\\n  3\nb=4", {"a": "1,2,3", "b": "4"}),
        ("a=1\\\n# not a comment", {"a": "1# not a comment"}),
        ("a=1\\\n\nb=2", {"a": "1", "b": "2"}),
        ("a=1\\", {"a": "1"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\\\\\n2", {"a": "1\\2"}),
        ("# comment \\\na=1", {"a": "1"}),
        ("a\\ b\\=c\\:d=e", {"a b=c:d": "e"}),
        ("a=\\t\\n\\r\\f\\x", {"a": "\t\n\r\fx"}),
        ("a=C:\\\\kafka", {"a": "C:\\kafka"}),
        ("a=\\u00e9\\u0041", {"a": "éA"}),
        ("a=\\ud83d\\ude00", {"a": "😀"}),
        ("a=é", {"a": "é"}),
        ("a\x0bb=1", {"a\x0bb": "1"}),
    ],
)
def test_as_java_reads_it(text, expected):
    assert parse_properties(text) == expected


@pytest.mark.parametrize("escape", ["\\u12", "\\u", "\\u12g4", "\\u+123"])
def test_a_broken_escape_is_named_with_its_line(escape):
    with pytest.raises(ConfigError, match=r"^line 2 contains"):
        parse_properties(f"a=1\nb={escape}")


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(ConfigError, match="line 1 contains half of a surrogate pair"):
        parse_properties("a=\\ud83d")


def test_files_are_utf8_or_else_latin1():
    assert decode_properties("\ufeffa=é".encode()) == {"a": "é"}
    assert decode_properties("a=é".encode("latin-1")) == {"a": "é"}


def written(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\=:#! \t\f" else {"\n": "\\n", "\r": "\\r"}.get(c, c) for c in text)


words = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)


@settings(max_examples=200)
@given(st.dictionaries(words, words, max_size=5))
def test_what_is_written_with_escapes_is_read_back(properties):
    text = "\n".join(f"{written(name)}={written(value)}" for name, value in properties.items())
    assert parse_properties(text) == properties


@settings(max_examples=200)
@given(st.text(st.sampled_from("ab=: \t\\\n\r#!u0"), max_size=40))
def test_any_text_is_read_or_refused(text):
    with suppress(ConfigError):
        assert "\n" not in "".join(parse_properties(text))
