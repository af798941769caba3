"""Names, arguments, defaults and errors of kafka-python and aiokafka beside ours, as installed."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from tools.migration.reasons import INERT_REASON, REASONS

import moldau.errors
from moldau.client.consumer.settings import DEFAULTS as CONSUMER
from moldau.client.producer.settings import DEFAULTS as PRODUCER
from moldau.client.settings import COMMON, INERT


class Row(NamedTuple):
    """`verdict` is "yes", or the reason why not; empty where there is none, which a test does not let pass."""

    theirs: str
    ours: str
    verdict: str


# Their modules, and where the same names are here.
MODULES = {
    "kafka": ("moldau",),
    "kafka.admin": ("moldau.admin",),
    "kafka.consumer": ("moldau.consumer",),
    "kafka.coordinator.assignors.cooperative_sticky": ("moldau.assignors",),
    "kafka.coordinator.assignors.range": ("moldau.assignors",),
    "kafka.coordinator.assignors.roundrobin": ("moldau.assignors",),
    "kafka.coordinator.assignors.sticky.sticky_assignor": ("moldau.assignors",),
    "kafka.future": ("moldau.future",),
    "kafka.net.sasl.oauth": ("moldau.sasl.oauth",),
    "kafka.partitioner": ("moldau.partitioner",),
    "kafka.producer": ("moldau.producer",),
    "kafka.serializer": ("moldau.serializer",),
    "kafka.structs": ("moldau.structs",),
    "aiokafka": ("moldau.aio",),
    "aiokafka.abc": ("moldau.aio", "moldau.sasl.oauth"),
    "aiokafka.admin": ("moldau.aio", "moldau.admin"),
    "aiokafka.consumer": ("moldau.aio",),
    "aiokafka.coordinator.assignors.range": ("moldau.assignors",),
    "aiokafka.coordinator.assignors.roundrobin": ("moldau.assignors",),
    "aiokafka.coordinator.assignors.sticky.sticky_assignor": ("moldau.assignors",),
    "aiokafka.helpers": ("moldau.aio",),
    "aiokafka.partitioner": ("moldau.partitioner",),
    "aiokafka.producer": ("moldau.aio",),
    "aiokafka.structs": ("moldau.aio", "moldau.structs"),
}

CLASSES = [
    ("kafka.KafkaProducer", "moldau.KafkaProducer"),
    ("kafka.KafkaConsumer", "moldau.KafkaConsumer"),
    ("kafka.KafkaAdminClient", "moldau.KafkaAdminClient"),
    ("kafka.future.Future", "moldau.future.Future"),
    ("kafka.ConsumerRebalanceListener", "moldau.ConsumerRebalanceListener"),
    ("aiokafka.AIOKafkaProducer", "moldau.aio.AIOKafkaProducer"),
    ("aiokafka.AIOKafkaConsumer", "moldau.aio.AIOKafkaConsumer"),
    ("aiokafka.admin.AIOKafkaAdminClient", "moldau.aio.AIOKafkaAdminClient"),
    ("aiokafka.AIOKafkaClient", "moldau.aio.AIOKafkaClient"),
]

_BUILTIN = {name: kind for name, kind in vars(builtins).items() if isinstance(kind, type)}


def verdict(key: str, same: bool) -> str:
    return "yes" if same else REASONS.get(key, "")


def imports() -> Iterator[Row]:
    for theirs, ours in MODULES.items():
        for name in sorted(_public(import_module(theirs))):
            where = next((each for each in ours if hasattr(import_module(each), name)), None)
            path = f"{theirs}.{name}"
            same = where is not None and _alike(_found(path), _found(f"{where}.{name}"))
            yield Row(path, f"{where}.{name}" if where else "", verdict(path, same))


def _alike(theirs: Any, ours: Any) -> bool:
    """Enumerations have their members, tuples their fields in order; all else is what its methods and arguments are."""
    if inspect.isclass(theirs) and issubclass(theirs, Enum):
        return {each.name: each.value for each in theirs}.items() <= {each.name: each.value for each in ours}.items()
    fields = getattr(theirs, "_fields", ())
    return bool(tuple(getattr(ours, "_fields", ()))[: len(fields)] == tuple(fields))


def _public(module: ModuleType) -> set[str]:
    if hasattr(module, "__all__"):
        return set(module.__all__)
    # What a module imports for itself is not what programs import from it; and of assignors they import the assignors.
    found = {
        name
        for name, each in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(each) or inspect.isfunction(each))
        and each.__module__.startswith(module.__name__)
    }
    return {name for name in found if name.endswith("Assignor")} if ".assignors." in module.__name__ else found


def _found(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def methods() -> Iterator[Row]:
    """Every public method with its arguments: ours has to take them in the same order with the same defaults."""
    for their_path, our_path in CLASSES:
        theirs, ours = _found(their_path), _found(our_path)
        for name, method in inspect.getmembers(theirs, inspect.isfunction):
            if name.startswith("_"):
                continue
            key = f"{their_path.rpartition('.')[2]}.{name}"
            mine = getattr(ours, name, None)
            same = callable(mine) and _takes(inspect.signature(mine), inspect.signature(method))
            yield Row(f"{key}{_arguments(method)}", "" if mine is None else _arguments(mine), verdict(key, same))


def _arguments(method: Any) -> str:
    parts = []
    for each in list(inspect.signature(method).parameters.values())[1:]:
        star = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        default = "" if each.default is each.empty else f"={_shown(each.default)}"
        parts.append(f"{star}{each.name}{default}")
    return f"({', '.join(parts)})"


def _takes(mine: inspect.Signature, theirs: inspect.Signature) -> bool:
    ours = list(mine.parameters.values())
    wanted = list(theirs.parameters.values())
    return len(ours) >= len(wanted) and all(
        one.name == other.name and one.kind == other.kind and _same(one.default, other.default)
        for one, other in zip(ours, wanted, strict=False)
    )


def settings() -> Iterator[Row]:
    """Every setting with its default."""
    import kafka

    for name, ours in (("KafkaProducer", PRODUCER), ("KafkaConsumer", CONSUMER), ("KafkaAdminClient", {})):
        theirs = getattr(kafka, name).DEFAULT_CONFIG
        yield from _defaults(name, theirs, {**INERT, **COMMON, **ours})
    import aiokafka
    import aiokafka.admin

    for kind, face in (
        (aiokafka.AIOKafkaProducer, "producer"),
        (aiokafka.AIOKafkaConsumer, "consumer"),
        (aiokafka.admin.AIOKafkaAdminClient, "admin"),
    ):
        parameters = inspect.signature(kind).parameters.values()
        theirs = {each.name: each.default for each in parameters if each.default is not each.empty}
        yield from _defaults(kind.__name__, theirs, _asyncio_defaults(face))


def _asyncio_defaults(face: str) -> dict[str, Any]:
    """As the faces hand them on: their own defaults over those of the core."""
    from moldau.aio import consumer

    own = {"producer": PRODUCER, "consumer": CONSUMER, "admin": {}}[face]
    defaults = {**INERT, **COMMON, **own, "loop": None, "bootstrap_timeout_ms": 5000, "request_timeout_ms": 40_000}
    if face == "consumer":
        return {**defaults, **consumer._DEFAULTS, **consumer._CLASSIC_DEFAULTS, "max_poll_records": None}
    return {**defaults, "max_batch_size": PRODUCER["batch_size"]} if face == "producer" else defaults


def _defaults(client: str, theirs: dict[str, Any], ours: dict[str, Any]) -> Iterator[Row]:
    for name, default in theirs.items():
        key = f"{client}({name})"
        if name not in ours:
            yield Row(f"{key} = {_shown(default)}", "", REASONS.get(key) or REASONS.get(f"*({name})", ""))
            continue
        same = _same(ours[name], default)
        reason = REASONS.get(key) or REASONS.get(f"*({name})", "")
        if name in INERT:
            reason = REASONS.get(key) or INERT_REASON
            same = False
        yield Row(f"{key} = {_shown(default)}", _shown(ours[name]), "yes" if same else reason)


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, tuple | list) and isinstance(ours, tuple | list):
        return [_shown(each) for each in ours] == [_shown(each) for each in theirs]
    return bool(ours == theirs) or _shown(ours) == _shown(theirs)


def _shown(value: Any) -> str:
    """Defaults as they may stand in a table: classes and functions by name, assignors by the name of the protocol."""
    if isinstance(value, tuple | list):
        return "(" + ", ".join(map(_shown, value)) + ")"
    if isinstance(value, str) and value.startswith(("kafka-python-", "aiokafka-")):
        return "its name and version"
    name = getattr(value, "name", None)
    if inspect.isclass(value) and isinstance(name, str):
        return repr(name)
    if inspect.isclass(value) or inspect.isfunction(value):
        return value.__name__.replace("<lambda>", "a function")
    if type(value).__module__.startswith(("kafka", "aiokafka", "moldau")):
        return str(name or type(value).__name__)
    return "nothing given" if type(value) is object else repr(value)


def errors() -> Iterator[Row]:
    """Every error by name, with its number, and whether what programs catch above it catches it here too."""
    for library in ("kafka.errors", "aiokafka.errors"):
        module = import_module(library)
        for name, theirs in sorted(vars(module).items()):
            if name.startswith("_") or not inspect.isclass(theirs) or not issubclass(theirs, Exception):
                continue
            ours = getattr(moldau.errors, name, None)
            key = f"{library}.{name}"
            missing = "" if ours is None else _not_caught(theirs, ours)
            same = ours is not None and not missing
            shown = "" if ours is None else f"moldau.errors.{ours.__name__}"
            yield Row(key, shown, verdict(key, same))


def _not_caught(theirs: type, ours: type) -> str:
    for base in theirs.__mro__[1:]:
        if base is object:
            continue
        mine = _BUILTIN.get(base.__name__) or getattr(moldau.errors, base.__name__, None)
        if mine is None or not issubclass(ours, mine):
            return base.__name__
    number = getattr(theirs, "errno", None)
    return "errno" if number is not None and number != getattr(ours, "errno", None) else ""
