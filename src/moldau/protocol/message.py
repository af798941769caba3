"""What all generated messages have in common.

A message is a slotted object that knows every version it can be encoded at. The generated part is `write_all` and
`read_all` of each struct, which handle a whole array of it in one call; everything that happens once per message is
here. Equality and repr run over the fields, so the generated classes need neither decorators nor code for them.
"""

from __future__ import annotations

from struct import error as StructError
from typing import Any, ClassVar, Final, Self

from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.protocol.primitives import MALFORMED
from moldau.protocol.slices import Slices
from moldau.protocol.wire import Reader, Writer, malformed
from moldau.types import Buffer

# Stands for "not given" in constructors, where None would mean null.
UNSET: Final[Any] = object()

new: Final = object.__new__


class UnsupportedVersionError(KafkaError):
    """The version does not exist, or has no place for a value that was set."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_VERSION, message)


def no_such_field(struct: str, field: str, version: int) -> UnsupportedVersionError:
    return UnsupportedVersionError(f"{struct}.{field} is set, but version {version} has no such field")


def null_refused(struct: str, field: str, version: int) -> UnsupportedVersionError:
    return UnsupportedVersionError(f"{struct}.{field} is null, which version {version} does not allow")


def no_tags(struct: str, version: int) -> UnsupportedVersionError:
    return UnsupportedVersionError(f"{struct} holds tagged fields, which version {version} does not have")


class Struct:
    """A part of a message. Fields with tags that the definition does not know are kept and written back."""

    __slots__ = ("unknown_tags",)

    FIELDS: ClassVar[tuple[str, ...]] = ()

    unknown_tags: dict[int, bytes] | None

    def changed(self, **fields: Any) -> Self:
        """The same but for some fields; what is not named is shared."""
        other = new(type(self))
        for name in (*self.FIELDS, "unknown_tags"):
            setattr(other, name, getattr(self, name))
        for name, value in fields.items():
            setattr(other, name, value)
        return other

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self.unknown_tags or None) == (other.unknown_tags or None) and all(
            getattr(self, name) == getattr(other, name) for name in self.FIELDS
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = [f"{name}={getattr(self, name)!r}" for name in self.FIELDS]
        if self.unknown_tags:
            fields.append(f"unknown_tags={self.unknown_tags!r}")
        return f"{type(self).__name__}({', '.join(fields)})"


class Message(Struct):
    __slots__ = ()

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_SINCE: ClassVar[int | None]
    # Text is cut out of bytes twice as fast as out of a view, so a message is copied before it is read, unless it
    # carries records: those stay where they are.
    KEEPS_VIEW: ClassVar[bool] = False

    @staticmethod
    def write_all(out: Writer, items: Any, version: int) -> None:
        raise NotImplementedError

    @staticmethod
    def read_all(data: Any, pos: int, version: int, count: int) -> tuple[list[Any], int]:
        raise NotImplementedError

    # Only messages with arrays have these two (see `slices`): a request the first, a response the second, and what a
    # coordinator stores both.

    @staticmethod
    def read_slices(data: Any, pos: int, version: int, count: int) -> Slices[tuple[list[Any], int]]:
        raise NotImplementedError

    @staticmethod
    def write_slices(out: Writer, items: Any, version: int) -> Slices[None]:
        raise NotImplementedError

    def encode(self, version: int) -> bytes:
        out = Writer()
        self.write(out, version)
        return out.bytes()

    def write(self, out: Writer, version: int) -> None:
        """Appends the message; raises UnsupportedVersionError if the version cannot express it."""
        if not self.MIN_VERSION <= version <= self.MAX_VERSION:
            raise self._no_such_version(version)
        try:
            self.write_all(out, (self,), version)
        except (StructError, UnicodeEncodeError) as error:
            raise ProtocolError(f"{type(self).__name__} cannot be encoded: {error}") from error

    @classmethod
    def decode(cls, data: Buffer, version: int) -> Self:
        """The message that fills `data`."""
        if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
            raise cls._no_such_version(version)
        view = memoryview(data) if cls.KEEPS_VIEW else bytes(data)
        try:
            items, pos = cls.read_all(view, 0, version, 1)
        except MALFORMED as error:
            raise malformed(error) from error
        if pos != len(view):
            raise ProtocolError(f"{len(view) - pos} bytes follow a complete {cls.__name__} of version {version}")
        message: Self = items[0]
        return message

    @classmethod
    def decode_in_slices(cls, data: Buffer, version: int) -> Slices[Self]:
        """As `decode`, with a pause now and then."""
        source = Reader(data)
        message = yield from cls.read_in_slices(source, version)
        if source.pos != len(source.data):
            left = len(source.data) - source.pos
            raise ProtocolError(f"{left} bytes follow a complete {cls.__name__} of version {version}")
        return message

    @classmethod
    def read(cls, source: Reader, version: int) -> Self:
        """The next message in `source`; what follows it stays unread."""
        if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
            raise cls._no_such_version(version)
        view = source.data[source.pos :]
        try:
            items, pos = cls.read_all(view if cls.KEEPS_VIEW else bytes(view), 0, version, 1)
        except MALFORMED as error:
            raise malformed(error) from error
        source.pos += pos
        message: Self = items[0]
        return message

    @classmethod
    def read_in_slices(cls, source: Reader, version: int) -> Slices[Self]:
        """As `read`, with a pause now and then that says how many elements have been read since the last."""
        if cls.read_slices is Message.read_slices:
            return cls.read(source, version)
        if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
            raise cls._no_such_version(version)
        view = source.data[source.pos :]
        try:
            items, pos = yield from cls.read_slices(view if cls.KEEPS_VIEW else bytes(view), 0, version, 1)
        except MALFORMED as error:
            raise malformed(error) from error
        source.pos += pos
        message: Self = items[0]
        return message

    def write_in_slices(self, out: Writer, version: int) -> Slices[None]:
        """As `write`, with a pause now and then."""
        if self.write_slices is Message.write_slices:
            self.write(out, version)
            return
        if not self.MIN_VERSION <= version <= self.MAX_VERSION:
            raise self._no_such_version(version)
        try:
            yield from self.write_slices(out, (self,), version)
        except (StructError, UnicodeEncodeError) as error:
            raise ProtocolError(f"{type(self).__name__} cannot be encoded: {error}") from error

    @classmethod
    def _no_such_version(cls, version: int) -> UnsupportedVersionError:
        return UnsupportedVersionError(
            f"{cls.__name__} has versions {cls.MIN_VERSION} to {cls.MAX_VERSION}, not {version}"
        )


class EncodedMessage(Message):
    """A message that was put together from bytes, for one version. `throttles` if it begins with the time that its
    reader is to wait."""

    __slots__ = ("content", "throttles")

    def __init__(self, content: bytes, *, throttles: bool = False) -> None:
        self.content = content
        self.throttles = throttles

    def throttled(self, milliseconds: int) -> EncodedMessage:
        """The same, telling to wait, where there is room for that."""
        if not self.throttles:
            return self
        return EncodedMessage(milliseconds.to_bytes(4, "big") + self.content[4:], throttles=True)

    def write(self, out: Writer, version: int) -> None:
        out.raw(self.content)
