"""Between an application's values and bytes: what serializers and deserializers may be, besides functions."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Headers: TypeAlias = Sequence[tuple[str, bytes]]


class Serializer(ABC):
    @abstractmethod
    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None: ...

    def close(self) -> None:  # noqa: B027  most have nothing to close
        pass


class Deserializer(ABC):
    @abstractmethod
    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any: ...

    def close(self) -> None:  # noqa: B027
        pass


class DefaultSerializer(Serializer, Deserializer):
    """Text as UTF-8 or another encoding; bytes and None pass as they are."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self.encoding = encoding

    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None:
        if data is None or isinstance(data, bytes | bytearray | memoryview):
            return data  # type: ignore[return-value]
        encoded: bytes = data.encode(self.encoding)
        return encoded

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        return None if data is None else data.decode(self.encoding)


class JsonSerializer(DefaultSerializer):
    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None:
        return None if data is None else json.dumps(data).encode(self.encoding)

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        return None if data is None else json.loads(data)


class SerializeWrapper(Serializer):
    """A function as an object."""

    def __init__(self, fn: Callable[[Any], Any] | None) -> None:
        self.fn = fn

    def serialize(self, topic: str, headers: Headers, data: Any) -> Any:
        return data if self.fn is None else self.fn(data)


class DeserializeWrapper(Deserializer):
    def __init__(self, fn: Callable[[Any], Any] | None) -> None:
        self.fn = fn

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        return data if self.fn is None else self.fn(data)
