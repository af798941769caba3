"""`dataclass`, `field` and `replace` as the standard library has them, for classes with slots and nothing unusual.

The standard one writes six methods of every class as text and compiles them when its module is loaded, and loads
`inspect` and with it Python's parser: a fifth of the start of a node. Here equality, hash and repr are shared, and
`__init__`, the only method whose text is written, is compiled when the first object of the class is made, which for
most classes is never.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, Literal, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")

_MISSING: Final[Any] = object()


class FrozenError(AttributeError):
    """A field of an object that stays as it was made was to be set or deleted."""


class _Field:
    __slots__ = ("default", "factory", "kw_only")

    def __init__(self, default: Any, factory: Callable[[], Any] | None = None, kw_only: bool = False) -> None:
        self.default = default
        self.factory = factory
        self.kw_only = kw_only


def field(*, default: Any = _MISSING, default_factory: Callable[[], Any] | None = None, kw_only: bool = False) -> Any:
    return _Field(default, default_factory, kw_only)


@dataclass_transform(field_specifiers=(field,))
def dataclass(*, slots: Literal[True], frozen: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]:
    """`slots` has no other value: it is there so that a reader sees what he gets."""

    def decorate(cls: type[T]) -> type[T]:
        return _made(cls, frozen, eq)

    return decorate


def replace(instance: T, **changes: Any) -> T:
    """The same but for some fields."""
    kind: Any = type(instance)
    for name in kind.__moldau_fields__:
        if name not in changes:
            changes[name] = getattr(instance, name)
    made: T = kind(**changes)
    return made


def _made(cls: type[T], frozen: bool, eq: bool) -> type[T]:
    content = dict(cls.__dict__)
    content.pop("__dict__", None)
    content.pop("__weakref__", None)
    fields: dict[str, _Field] = {}
    for base in reversed(cls.__mro__[1:]):
        fields |= base.__dict__.get("__moldau_fields__", {})
    inherited = set(fields)
    for name, annotation in content.get("__annotations__", {}).items():
        if not str(annotation).startswith("ClassVar"):
            given = content.pop(name, _MISSING)
            fields[name] = given if isinstance(given, _Field) else _Field(given)
    names = tuple(fields)
    content["__slots__"] = tuple(name for name in names if name not in inherited)
    content["__match_args__"] = tuple(name for name in names if not fields[name].kw_only)
    content["__moldau_fields__"] = fields
    content["__reduce__"] = _reduce
    if "__repr__" not in content:
        content["__repr__"] = _repr
    if eq:
        content.setdefault("__hash__", None)
        content |= _comparison(names, content, frozen)
    if frozen:
        content["__setattr__"] = content["__delattr__"] = _refuse
    kind: Any = type(cls)
    made: type[T] = kind(cls.__name__, cls.__bases__, content)
    made.__qualname__ = cls.__qualname__
    if "__init__" not in content:
        _give_init(made, fields, frozen)
    return made


def _give_init(cls: type, fields: dict[str, _Field], frozen: bool) -> None:
    def first(self: Any, *args: Any, **settings: Any) -> None:
        init = cls.__init__ = _init(cls, fields, frozen)  # type: ignore[misc]
        init(self, *args, **settings)

    cls.__init__ = first  # type: ignore[misc]


def _init(cls: type, fields: dict[str, _Field], frozen: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"_MISSING": _MISSING}
    parameters, by_name, body = ["self"], ["*"], []
    for name, each in fields.items():
        value = name
        parameter = name
        if each.factory is not None:
            names[f"_factory_{name}"] = each.factory
            parameter = f"{name}=_MISSING"
            value = f"_factory_{name}() if {name} is _MISSING else {name}"
        elif each.default is not _MISSING:
            names[f"_default_{name}"] = each.default
            parameter = f"{name}=_default_{name}"
        (by_name if each.kw_only else parameters).append(parameter)
        if frozen:
            # The slot itself does not ask __setattr__.
            names[f"_set_{name}"] = getattr(cls, name).__set__
            body.append(f"    _set_{name}(self, {value})")
        else:
            body.append(f"    self.{name} = {value}")
    body = body or ["    pass"]
    parameters += by_name if len(by_name) > 1 else []
    exec("\n".join([f"def __init__({', '.join(parameters)}):", *body]), names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _comparison(names: tuple[str, ...], content: dict[str, Any], frozen: bool) -> dict[str, Any]:
    """Two methods that are closures over what fetches all fields at once, written in C."""
    values: Callable[[Any], Any] = attrgetter(*names) if names else lambda _: ()

    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(values(self) == values(other))

    def __hash__(self: Any) -> int:
        return hash(values(self))

    found: dict[str, Any] = {}
    if "__eq__" not in content:
        found["__eq__"] = __eq__
    if frozen and content["__hash__"] is None:
        found["__hash__"] = __hash__
    return found


def _repr(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).__moldau_fields__)
    return f"{type(self).__qualname__}({values})"


def _reduce(self: Any) -> tuple[Any, ...]:
    return _put_together, (type(self), {name: getattr(self, name) for name in type(self).__moldau_fields__})


def _put_together(cls: type, values: dict[str, Any]) -> Any:
    made: Any = object.__new__(cls)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _refuse(self: Any, name: str, *_value: Any) -> NoReturn:
    raise FrozenError(f"{type(self).__qualname__} is frozen: {name} stays as it is")
