from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.config.definition import (
    BOOLEAN,
    DOUBLE,
    DOUBLE_MAX,
    HIGH,
    INT,
    LIST,
    LONG,
    PASSWORD,
    SHORT,
    STRING,
    ConfigError,
    Password,
    Setting,
    at_least,
    between,
    distinct,
    each_of,
    one_of,
    optional,
)
from moldau.errors import ErrorCode, KafkaError


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (BOOLEAN, " True ", True),
        (BOOLEAN, "FALSE", False),
        (INT, " 42 ", 42),
        (INT, "+7", 7),
        (INT, "-2147483648", -(2**31)),
        (SHORT, "32767", 32767),
        (LONG, "9223372036854775807", 2**63 - 1),
        (DOUBLE, "1e3", 1000.0),
        (STRING, "  a b ", "a b"),
        (LIST, " a , b,c ", ("a", "b", "c")),
        (LIST, "   ", ()),
        (LIST, "a,,b", ("a", "", "b")),
        (PASSWORD, " secret ", Password("secret")),
    ],
)
def test_a_text_becomes_a_value_of_its_type(kind, text, value):
    assert kind.parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (BOOLEAN, "yes"),
        (BOOLEAN, ""),
        (INT, ""),
        (INT, "1_000"),
        (INT, "1.0"),
        (INT, "2147483648"),
        (INT, "--1"),
        (INT, "٣"),
        (INT, "9" * 5000),
        (SHORT, "32768"),
        (LONG, "9223372036854775808"),
        (DOUBLE, "nan"),
        (DOUBLE, "1_0"),
        (DOUBLE, "1e999"),
        (DOUBLE, "x"),
    ],
)
def test_a_text_of_another_type_is_refused_with_what_is_expected(kind, text):
    setting = Setting("some.name", kind, None, None, HIGH, "")
    with pytest.raises(ConfigError) as refusal:
        setting.parse(text)
    assert str(refusal.value) == f"some.name cannot be {text!r}: it must be {kind.expected}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (0.5, "0.5"),
        (100.0, "100.0"),
        (1e7, "1.0E7"),
        (12345678.5, "1.23456785E7"),
        (1e-5, "1.0E-5"),
        (-1e10, "-1.0E10"),
        (DOUBLE_MAX, "1.7976931348623157E308"),
    ],
)
def test_doubles_are_written_as_java_writes_them(value, text):
    assert DOUBLE.text(value) == text


@settings(max_examples=200)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_double_reads_back_as_the_same_double(value):
    assert DOUBLE.parse(DOUBLE.text(value)) == value


@pytest.mark.parametrize(
    ("kind", "allowed", "good", "bad"),
    [
        (INT, at_least(1), "1", "0"),
        (DOUBLE, between(0, 1), "1.0", "1.1"),
        (STRING, one_of("a", "b"), "b", "c"),
        (LIST, each_of("a", "b", may_be_empty=False), "b,a", ""),
        (LIST, each_of("a", "b", may_be_empty=True), "", "a,a"),
        (LIST, each_of("a", "b", may_be_empty=True), "a", "a,c"),
        (LIST, distinct(may_be_empty=False), "a,b", "a,b,a"),
        (LIST, distinct(may_be_empty=True), "", "a,,b"),
    ],
)
def test_a_value_outside_what_is_allowed_is_refused(kind, allowed, good, bad):
    setting = Setting("some.name", kind, None, allowed, HIGH, "")
    setting.parse(good)
    with pytest.raises(ConfigError) as refusal:
        setting.parse(bad)
    assert str(refusal.value) == f"some.name cannot be {bad!r}: it must be {allowed.text}"


def test_a_refusal_reaches_clients_as_invalid_config():
    error = ConfigError("x")
    assert isinstance(error, KafkaError)
    assert error.code is ErrorCode.INVALID_CONFIG


def test_a_password_never_shows_itself():
    secret = Setting("a.password", optional(PASSWORD), None, one_of(), HIGH, "")
    with pytest.raises(ConfigError) as refusal:
        secret.parse("hunter2")
    assert "hunter2" not in str(refusal.value)
    assert "hunter2" not in repr(Password("hunter2"))
    assert secret.sensitive
    assert secret.text(Password("hunter2")) == "hunter2"
    assert secret.text(None) is None


def test_a_setting_is_itself_on_the_class_and_its_value_on_an_instance():
    class Table:
        some_name = Setting("some.name", INT, 3, None, HIGH, "")

    table = Table()
    assert isinstance(Table.some_name, Setting)
    assert table.some_name == 3
    table.__dict__["some_name"] = 4
    assert table.some_name == 4
