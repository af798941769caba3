"""What a setting is: a name, a type, a default, what is allowed, a sentence for people.

The tables in this room are written with the words defined here (`Setting`, `INT`, `at_least` ...). A `Setting` is a
descriptor: on the class it is the definition itself, on an instance it is the parsed value with its type known to the
checker. It defines no `__set__`, so the value lies in the instance's dictionary and reading it costs no call.

Types, their numbers on the wire and their text forms are Kafka's, because DescribeConfigs shows them to clients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, Generic, TypeVar, cast, overload

from moldau.errors import ErrorCode, KafkaError

T = TypeVar("T")

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1
DOUBLE_MAX: Final = 1.7976931348623157e308


class ConfigError(KafkaError):
    """A setting that is not known or whose value is not allowed; one sentence that names both and says what is."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_CONFIG, message)


class Importance(IntEnum):
    HIGH = 0
    MEDIUM = 1
    LOW = 2


class UpdateMode(IntEnum):
    """Whether a broker setting may be changed while the broker runs, and for whom."""

    READ_ONLY = 0
    PER_BROKER = 1
    CLUSTER_WIDE = 2


HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
READ_ONLY, PER_BROKER, CLUSTER_WIDE = UpdateMode.READ_ONLY, UpdateMode.PER_BROKER, UpdateMode.CLUSTER_WIDE


class Password:
    """A secret that does not show itself in logs, tracebacks or answers to clients."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "[hidden]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)


# ---------------------------------------------------------------------------------------------------- types


class Kind(Generic[T]):
    """A type of value: its name and number in Kafka, how it is read from text and written back.

    `parse` raises ValueError for text that is not of this kind; `expected` then completes "must be ...".
    """

    __slots__ = ("expected", "name", "number", "parse", "text")

    def __init__(
        self, name: str, number: int, expected: str, parse: Callable[[str], T], text: Callable[[T], str] = str
    ) -> None:
        self.name = name
        self.number = number
        self.expected = expected
        self.parse = parse
        self.text = text


def _boolean(text: str) -> bool:
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError(text)


def _whole(bits: int) -> Callable[[str], int]:
    limit = 1 << (bits - 1)

    def parse(text: str) -> int:
        text = text.strip()
        digits = text[1:] if text[:1] in ("-", "+") else text
        # int() alone would take underscores and digits of other scripts, which Kafka does not.
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 20:
            raise ValueError(text)
        value = int(text)
        if not -limit <= value < limit:
            raise ValueError(text)
        return value

    return parse


def _real(text: str) -> float:
    # float() alone would take underscores and words such as "nan".
    if "_" in text or not any(letter.isdigit() for letter in text):
        raise ValueError(text)
    value = float(text)
    if abs(value) > DOUBLE_MAX:
        raise ValueError(text)
    return value


def _real_text(value: float) -> str:
    """As Java prints doubles, so that Kafka and this broker show one value as one text."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    shortest = next(text for digits in range(18) if float(text := f"{value:.{digits}e}") == value)
    mantissa, _, exponent = shortest.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def _items(text: str) -> Sequence[str]:
    text = text.strip()
    return tuple(item.strip() for item in text.split(",")) if text else ()


def _within(bits: int) -> str:
    return f"a whole number from {-(1 << (bits - 1))} to {(1 << (bits - 1)) - 1}"


BOOLEAN: Final = Kind("boolean", 1, "true or false", _boolean, lambda value: "true" if value else "false")
STRING: Final = Kind("string", 2, "a text", str.strip)
INT: Final = Kind("int", 3, _within(32), _whole(32))
SHORT: Final = Kind("short", 4, _within(16), _whole(16))
LONG: Final = Kind("long", 5, _within(64), _whole(64))
DOUBLE: Final = Kind("double", 6, "a number", _real, _real_text)
LIST: Final[Kind[Sequence[str]]] = Kind("list", 7, "a list separated by commas", _items, ",".join)
CLASS: Final = Kind("class", 8, "the name of a class", str.strip)
PASSWORD: Final = Kind("password", 9, "a text", lambda text: Password(text.strip()), lambda value: value.value)


def optional(kind: Kind[T]) -> Kind[T | None]:
    """The same kind for a setting that has no value unless one is given."""
    # The same object: a missing value is never parsed and `Setting.text` never formats one.
    return cast("Kind[T | None]", kind)


# ---------------------------------------------------------------------------------------------------- what is allowed


class Allowed(Generic[T]):
    """A condition on a value; `text` completes "must be ..." and fills the column of the documentation."""

    __slots__ = ("accepts", "text")

    def __init__(self, text: str, accepts: Callable[[T], bool]) -> None:
        self.text = text
        self.accepts = accepts


def at_least(minimum: int) -> Allowed[Any]:
    return Allowed(f"at least {minimum}", lambda value: value >= minimum)


def between(minimum: float, maximum: float) -> Allowed[Any]:
    return Allowed(f"from {minimum} to {maximum}", lambda value: minimum <= value <= maximum)


def one_of(*words: str) -> Allowed[str]:
    return Allowed(f"one of {', '.join(words)}", lambda value: value in words)


def each_of(*words: str, may_be_empty: bool, may_repeat: bool = False) -> Allowed[Sequence[str]]:
    """A list of some of `words`, none of them twice unless it `may_repeat`."""
    text = f"a list of {', '.join(words)}" + ("" if may_be_empty else " with at least one of them")

    def is_allowed(value: Sequence[str]) -> bool:
        distinct = set(value)
        return (bool(value) or may_be_empty) and (may_repeat or len(distinct) == len(value)) and distinct <= set(words)

    return Allowed(text, is_allowed)


def distinct(*, may_be_empty: bool) -> Allowed[Sequence[str]]:
    """A list without empty or repeated items."""
    text = "a list without empty or repeated items" + ("" if may_be_empty else " and with at least one")
    return Allowed(
        text, lambda value: (bool(value) or may_be_empty) and "" not in value and len(set(value)) == len(value)
    )


# ---------------------------------------------------------------------------------------------------- settings


class Setting(Generic[T]):
    """One row of a table.

    `no_effect` holds the reason when Kafka has the setting and this broker accepts it but does nothing with it; whoever
    sets it is told. `refused` holds the reason when nothing but the default is accepted, because ignoring another value
    would leave open what its author closed. Every other setting is read by somebody, which a test holds.
    `internal` settings work but are not shown in documentation or to clients, as in Kafka.
    """

    __slots__ = (
        "allowed",
        "attribute",
        "default",
        "documentation",
        "importance",
        "internal",
        "kind",
        "name",
        "no_effect",
        "refused",
        "synonyms",
        "update_mode",
    )

    def __init__(
        self,
        name: str,
        kind: Kind[T],
        default: T,
        allowed: Allowed[Any] | None,
        importance: Importance,
        documentation: str,
        update_mode: UpdateMode = READ_ONLY,
        *,
        synonyms: tuple[str, ...] = (),
        no_effect: str | None = None,
        refused: str | None = None,
        internal: bool = False,
    ) -> None:
        self.name = name
        self.kind = kind
        self.default = default
        self.allowed = allowed
        self.importance = importance
        self.documentation = documentation
        self.update_mode = update_mode
        self.synonyms = synonyms
        self.no_effect = no_effect
        self.refused = refused
        self.internal = internal
        self.attribute = name.replace(".", "_").replace("-", "_")

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Setting[T] | T:
        return self if instance is None else self.default

    @property
    def sensitive(self) -> bool:
        return self.kind.number == PASSWORD.number

    @property
    def meaning(self) -> str:
        """What it does, and what of it is not so here."""
        if self.refused is not None:
            return f"{self.documentation} Nothing but the default is accepted here: {self.refused}."
        if self.no_effect is not None:
            return f"{self.documentation} No effect here: {self.no_effect}."
        return self.documentation

    def parse(self, text: str) -> T:
        """The value for a text, or ConfigError."""
        try:
            value = self.kind.parse(text)
        except ValueError:
            raise self._refusal(text, self.kind.expected) from None
        if self.allowed is not None and not self.allowed.accepts(value):
            raise self._refusal(text, self.allowed.text)
        if self.refused is not None and value != self.default:
            raise ConfigError(f"{self.name} cannot be {text!r}: {self.refused}")
        return value

    def text(self, value: T) -> str | None:
        """The value as Kafka writes it; None where there is no value."""
        return None if value is None else self.kind.text(value)

    def _refusal(self, text: str, allowed: str) -> ConfigError:
        shown = "[hidden]" if self.sensitive else repr(text)
        return ConfigError(f"{self.name} cannot be {shown}: it must be {allowed}")


def settings_of(*tables: type) -> Mapping[str, Setting[Any]]:
    """Every setting defined in the classes, by name, in the order of the tables."""
    return {row.name: row for table in tables for row in vars(table).values() if isinstance(row, Setting)}


def closest(name: str, known: Sequence[str]) -> str | None:
    """The known name someone most likely meant."""
    from difflib import get_close_matches  # only on the way to an error, and it is slow to import

    matches = get_close_matches(name, known, n=1, cutoff=0.75)
    return matches[0] if matches else None
