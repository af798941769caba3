"""Writes the Python modules of `moldau.protocol.messages`, the enumeration of the APIs among them.

Each struct becomes a slotted class with a constructor, `write_all` and `read_all`, and the variant in slices of what a
server does with it; what is the same for all of them is in `moldau.protocol.message`. The text comes out as the
formatter would leave it, so that the generated files are checked like all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from message_generator.language import snake_case
from message_generator.model import Field, Message, Module, Struct
from message_generator.reading import StructReader
from message_generator.source import Source, format_code, imports
from message_generator.values import annotation, default_value
from message_generator.writing import StructWriter
from moldau.protocol import arrays, primitives, slices, tagged_fields

# What brokers pass on to the controller, and may be large: there the request is written and its answer is read.
_PASSED_ON = {
    *("CreateTopics", "CreatePartitions", "AlterConfigs", "IncrementalAlterConfigs", "ElectLeaders"),
    *("AlterPartitionReassignments", "ListPartitionReassignments", "AlterClientQuotas"),
    *("AlterUserScramCredentials", "DeleteAcls"),
}
# In this order: the later ones import from the first.
_HOMES = (primitives, arrays, tagged_fields, slices)
# Kafka 4 has these no longer, and nobody defines them here. Older brokers still name them, so their numbers have names.
_RETIRED = {4: "LeaderAndIsr", 5: "StopReplica", 6: "UpdateMetadata", 7: "ControlledShutdown"}
_HEAD = "# Generated from schema/{source} by tools/generate_messages.py: do not edit."
_INDEX = '''# Generated from the definitions in schema/ by tools/generate_messages.py: do not edit.
"""Where each message lives and which versions it has, without importing any of them."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple


class ApiEntry(NamedTuple):
    key: int
    name: str
    module: str
    min_version: int
    max_version: int
    flexible_since: int | None
    latest_unstable: bool
    listeners: tuple[str, ...]
'''


def generate(modules: Sequence[Module]) -> dict[str, str]:
    """The text of every generated file by its name."""
    files = {f"{module.name}.py": generate_module(module) for module in modules}
    files["index.py"] = _index(modules)
    files["__init__.py"] = '"""The messages, generated from the definitions in `schema/` beside this package."""\n'
    return files


def generate_module(module: Module) -> str:
    body = Source()
    for message in module.messages:
        for struct in message.structs():
            body.line()
            body.line()
            _class(body, message, struct)
    lines = [_HEAD.format(source=module.source), *_docstring(module.messages[0].about), ""]
    lines += ["from __future__ import annotations", ""]
    lines += ["from collections.abc import Iterable", "from typing import ClassVar", ""]
    lines += _imports(body, module)
    if body.formats:
        lines.append("")
        lines += [f'_pack_{name}, _unpack_{name} = fixed("{format_code(name)}")' for name in sorted(body.formats)]
    return "\n".join(lines) + "\n" + body.text()


def _docstring(about: Sequence[str]) -> list[str]:
    """Sentences, then the notes on versions, which stand out by their indentation in the definition."""
    sentences = [line for line in about if not line.startswith("  ")]
    notes = [line for line in about if line.startswith("  ")]
    if len(sentences) == 1 and not notes:
        return [f'"""{sentences[0]}"""']
    return [f'"""{sentences[0]}', *sentences[1:], *(["", "Since version", *notes] if notes else []), '"""']


def _imports(body: Source, module: Module) -> list[str]:
    structs = [struct for message in module.messages for struct in message.structs()]
    fields = [field for struct in structs for field in struct.fields]
    helpers = body.helpers | {"Message"} | ({"Struct"} if len(structs) > len(module.messages) else set())
    used = body.primitives - {"ZERO_UUID"} | ({"fixed"} if body.formats else set())
    wire = {"Writer"} | ({"Records"} if any(field.type == "records" for field in fields) else set())
    types = {"Uuid"} if any(field.type == "uuid" for field in fields) else set()
    types |= body.primitives & {"ZERO_UUID"}
    homes = [{name for name in used if _home(name) is home} for home in _HOMES]
    return [
        *imports("moldau.protocol.arrays", homes[1]),
        *imports("moldau.protocol.message", helpers),
        *imports("moldau.protocol.primitives", homes[0]),
        *imports("moldau.protocol.slices", homes[3]),
        *imports("moldau.protocol.tagged_fields", homes[2]),
        *imports("moldau.protocol.wire", wire),
        *imports("moldau.types", types),
    ]


def _home(name: str) -> ModuleType:
    """The module a function of the generated code comes from."""
    return next(home for home in _HOMES if hasattr(home, name))


def _class(out: Source, message: Message, struct: Struct) -> None:
    is_message = struct is message.struct
    with out.block(f"class {struct.class_name}({'Message' if is_message else 'Struct'}):"):
        _slots(out, struct.fields)
        if is_message:
            _constants(out, message)
        for field in struct.fields:
            out.line(f"{field.name}: {annotation(field)}")
        if struct.fields:
            out.line()
        _constructor(out, struct)
        out.line()
        StructWriter(out, message, struct).emit()
        out.line()
        StructReader(out, message, struct).emit()
        # What a server reads and writes may be large, and so may what a coordinator stores: it does so in slices.
        passed_on = message.name.removesuffix("Request").removesuffix("Response") in _PASSED_ON
        if (message.kind in ("request", "value") or passed_on) and struct.holds_arrays:
            out.line()
            StructReader(out, message, struct, in_slices=True).emit()
        if (message.kind in ("response", "value") or passed_on) and struct.holds_many:
            out.line()
            StructWriter(out, message, struct, in_slices=True).emit()


def _slots(out: Source, fields: Sequence[Field]) -> None:
    names = [f'"{field.name}"' for field in fields]
    if len(names) == 1:
        names[0] += ","
    out.call("FIELDS = (", names)
    out.line("__slots__ = FIELDS")
    out.line()


def _constants(out: Source, message: Message) -> None:
    if message.api_key is not None:
        out.line(f"API_KEY: ClassVar[int] = {message.api_key}")
    out.line(f"MIN_VERSION: ClassVar[int] = {message.versions.low}")
    out.line(f"MAX_VERSION: ClassVar[int] = {message.versions.high}")
    since = message.flexible.low if message.flexible else None
    out.line(f"FLEXIBLE_SINCE: ClassVar[int | None] = {since}")
    if message.kind == "header" or message.carries_records:
        out.line("KEEPS_VIEW: ClassVar[bool] = True")
    out.line()


def _constructor(out: Source, struct: Struct) -> None:
    if not struct.fields:
        with out.block("def __init__(self) -> None:"):
            out.line("self.unknown_tags = None")
        return
    parameters = ["self", "*"]
    for field in struct.fields:
        default = default_value(out, field)
        if default == "[]" or default.endswith("()"):
            default = out.helper("UNSET")
        parameters.append(f"{field.name}: {annotation(field)} = {default}")
    with out.opened("def __init__(", parameters, ") -> None:"):
        for field in struct.fields:
            default = default_value(out, field)
            value = field.name
            if default == "[]" or default.endswith("()"):
                value = f"{default} if {field.name} is UNSET else {field.name}"
            out.assign(f"self.{field.name}", value)
        out.line("self.unknown_tags = None")


def _index(modules: Sequence[Module]) -> str:
    apis = sorted((module for module in modules if module.messages[0].kind == "request"), key=_api_key)
    out = Source()
    out.line()
    out.line()
    _api_keys(out, apis)
    out.line()
    out.line()
    with out.block("APIS: Final = ("):
        for module in apis:
            _api_entry(out, module)
    out.line(")")
    out.line()
    out.line("# Records by the topic they are written to and their role there: number -> (module, class).")
    with out.block("RECORDS: Final[dict[tuple[str, str], dict[int, tuple[str, str]]]] = {"):
        records = [(message, module.name) for module in modules for message in module.messages if message.topic]
        for topic, kind in sorted({(message.topic, message.kind) for message, _ in records}):
            with out.block(f'("{topic}", "{kind}"): {{'):
                chosen = [pair for pair in records if (pair[0].topic, pair[0].kind) == (topic, kind)]
                for message, module_name in sorted(chosen, key=lambda pair: pair[0].api_key or 0):
                    out.line(f'{message.api_key}: ("{module_name}", "{message.name}"),')
            out.line("},")
    out.line("}")
    return _INDEX + out.text()


def _api_keys(out: Source, apis: Sequence[Module]) -> None:
    names = {key: snake_case(name) for key, name in _RETIRED.items()} | {_api_key(api): api.name for api in apis}
    with out.block("class ApiKey(IntEnum):"):
        for key, name in sorted(names.items()):
            out.line(f"{name.upper()} = {key}")


def _api_entry(out: Source, module: Module) -> None:
    request = module.messages[0]
    listeners = ", ".join(f'"{listener}"' for listener in request.listeners)
    entry = [
        str(request.api_key),
        f'"{request.name.removesuffix("Request")}"',
        f'"{module.name}"',
        str(request.versions.low),
        str(request.versions.high),
        str(request.flexible.low if request.flexible else None),
        str(request.unstable),
        f"({listeners},)" if len(request.listeners) == 1 else f"({listeners})",
    ]
    out.call("ApiEntry(", entry, "),")


def _api_key(module: Module) -> int:
    key = module.messages[0].api_key
    assert key is not None
    return key
