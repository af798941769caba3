"""Reads the definition language.

    # Comments above a definition become its documentation; those among the fields are for whoever reads this.
    api 19 CreateTopics on broker, controller

    request 2-7, flexible 5+
        topics: [CreatableTopic]
            name: string
            num_partitions: int32
        timeout_ms: int32 = 60000
        validate_only: bool               ignorable

A line is a field, and what is indented below a field is the struct it holds. After the name come the type (`[T]` for
an array, `T?` where null is allowed, `T?3+` where it is allowed from version 3), the default, and separated by
commas what is special: the versions the field exists in (all of its struct's if left out), `tag N` for a tagged field,
`ignorable` if a value may be dropped at versions without the field, `legacy` if it keeps the old length prefix at
flexible versions. A `struct` at the margin belongs to the message above it and can be used there more than once.

Instead of `api` with `request` and `response`, a record is defined by `metadata`, `key`, `value`, `data` or `header`,
its number if it has one, its name and its versions: `value 2 GroupMetadataValue 0-4, flexible 4+`. A line
`topic NAME` before them says which log such records are written to; their numbers are unique there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from message_generator.model import FIXED_SIZE, VARIABLE_SIZE, Field, Message, Module, Struct, Versions
from moldau.errors import MoldauError

_FIELD = re.compile(r"(?P<name>[a-z]\w*): (?P<type>\S+)(?: = (?P<default>\S+))?(?:\s+(?P<rest>\S.*))?")
_TYPE = re.compile(r"(?P<array>\[)?(?P<base>\w+)(?(array)\])(?P<nullable>\?(?P<from>[\d+-]+)?)?")
_API = re.compile(r"api (?P<key>\d+) (?P<name>\w+) on (?P<listeners>\w+(?:, \w+)*)(?P<unstable>, latest unstable)?")
_MESSAGE = re.compile(
    r"(?P<kind>request|response|header|data|metadata|key|value)(?: (?P<key>\d+))?(?: (?P<name>[A-Z]\w*))?"
    r" (?P<versions>[\d-]+)(?:, flexible (?P<flexible>\d+)\+)?"
)
_TOPIC = re.compile(r"topic (?P<name>\w+)")
_STRUCT = re.compile(r"struct (?P<name>[A-Z]\w*)")
_INDENT = 4


class DefinitionError(MoldauError):
    """A definition that cannot be read; the text names file and line."""


@dataclass(slots=True)
class _Line:
    number: int
    depth: int
    text: str


class _Api:
    """The `api` line that the requests and responses below it belong to."""

    def __init__(self, match: re.Match[str]) -> None:
        self.key = int(match["key"])
        self.name = match["name"]
        self.listeners = tuple(match["listeners"].split(", "))
        self.unstable = match["unstable"] is not None


def load(directory: Path) -> list[Module]:
    """Every definition file of a directory, by name of the module it becomes."""
    modules = [module for path in sorted(directory.glob("*.wire")) for module in parse(path.read_text(), path.name)]
    return sorted(modules, key=lambda module: module.name)


def parse(text: str, source: str) -> list[Module]:
    return _Parser(source).parse(text)


def snake_case(name: str) -> str:
    """Kafka's name as ours: `LeaderEpoch` is `leader_epoch`."""
    name = name.replace("KRaft", "Kraft").replace("2Pc", "_2pc")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._api: _Api | None = None
        self._topic = ""
        self._about: list[str] = []
        self._comment: list[str] = []
        self._messages: list[Message] = []
        # The fields under each message or common struct, read once it is known where they end.
        self._pending: list[_Line] = []
        self._target: Message | Struct | None = None

    def parse(self, text: str) -> list[Module]:
        for number, raw in enumerate(text.splitlines(), 1):
            stripped = raw.strip()
            if raw.startswith("#"):
                self._comment.append(stripped[1:].removeprefix(" "))
            elif not stripped:
                self._comment = []
            elif stripped.startswith("#"):
                continue
            elif raw[0] == " ":
                indent = len(raw) - len(raw.lstrip())
                if indent % _INDENT:
                    raise self._error(number, f"indentation is not a multiple of {_INDENT}")
                self._pending.append(_Line(number, indent // _INDENT, stripped))
            else:
                self._finish_fields()
                self._margin(number, stripped)
        self._finish_fields()
        for message in self._messages:
            self._resolve(message)
        return self._modules()

    def _error(self, number: int, problem: str) -> DefinitionError:
        return DefinitionError(f"{self._source}:{number}: {problem}")

    def _margin(self, number: int, text: str) -> None:
        if match := _API.fullmatch(text):
            self._api = _Api(match)
            self._about, self._comment = self._comment, []
        elif match := _TOPIC.fullmatch(text):
            self._topic = match["name"]
        elif match := _MESSAGE.fullmatch(text):
            self._target = self._message(match, number)
            self._messages.append(self._target)
            self._comment = []
        elif match := _STRUCT.fullmatch(text):
            if not self._messages:
                raise self._error(number, "a struct stands before any message")
            struct = Struct(match["name"], [], self._messages[-1].versions)
            self._messages[-1].commons.append(struct)
            self._target = struct
        else:
            raise self._error(number, f"{text!r} is neither an api, a message nor a struct")

    def _message(self, match: re.Match[str], number: int) -> Message:
        kind, name = match["kind"], match["name"]
        versions = self._range(match["versions"], None, number)
        since = match["flexible"]
        flexible = Versions(max(int(since), versions.low), versions.high) if since is not None else None
        if kind in ("request", "response"):
            if self._api is None or name is not None or match["key"] is not None:
                raise self._error(number, f"a {kind} takes its name and key from the api above it")
            name = self._api.name + kind.capitalize()
            return Message(
                kind,
                name,
                versions,
                flexible,
                Struct(name, [], versions),
                self._api.key,
                self._api.listeners,
                self._api.unstable,
                about=tuple(self._about),
            )
        if name is None:
            raise self._error(number, f"a {kind} needs a name")
        key = int(match["key"]) if match["key"] is not None else None
        return Message(
            kind,
            name,
            versions,
            flexible,
            Struct(name, [], versions),
            key,
            topic=self._topic,
            about=tuple(self._comment),
        )

    def _finish_fields(self) -> None:
        lines, self._pending = self._pending, []
        if not lines:
            return
        if self._target is None:
            raise self._error(lines[0].number, "a field stands before any message")
        struct = self._target.struct if isinstance(self._target, Message) else self._target
        position = self._fields(lines, 0, 1, struct)
        if position != len(lines):
            raise self._error(lines[position].number, "indented deeper than the line above allows")

    def _fields(self, lines: list[_Line], position: int, depth: int, struct: Struct) -> int:
        """Reads the lines at `depth` into `struct`; returns where the first shallower line is."""
        while position < len(lines) and lines[position].depth == depth:
            line = lines[position]
            field = self._field(line, struct.versions)
            if any(other.name == field.name for other in struct.fields):
                raise self._error(line.number, f"{field.name} appears twice in {struct.name}")
            struct.fields.append(field)
            position += 1
            if position < len(lines) and lines[position].depth == depth + 1:
                if field.type in FIXED_SIZE or field.type in VARIABLE_SIZE:
                    raise self._error(lines[position].number, f"{field.name} is not a struct and holds no fields")
                field.struct = Struct(field.type, [], field.versions)
                position = self._fields(lines, position, depth + 1, field.struct)
        return position

    def _field(self, line: _Line, outer: Versions) -> Field:
        match = _FIELD.fullmatch(line.text)
        type_match = _TYPE.fullmatch(match["type"]) if match else None
        if match is None or type_match is None:
            raise self._error(line.number, f"{line.text!r} is not a field: `name: type = default  versions, tag N`")
        field = Field(
            match["name"], type_match["base"], type_match["array"] is not None, outer, default=match["default"]
        )
        for modifier in (match["rest"] or "").split(", ") if match["rest"] else ():
            self._modify(field, modifier, outer, line.number)
        if type_match["nullable"]:
            since = type_match["from"]
            field.nullable = self._range(since, field.versions, line.number) if since else field.versions
        self._check(field, line.number)
        return field

    def _modify(self, field: Field, modifier: str, outer: Versions, number: int) -> None:
        if modifier == "ignorable":
            field.ignorable = True
        elif modifier == "legacy":
            field.legacy = True
        elif re.fullmatch(r"tag \d+", modifier):
            field.tag = int(modifier[4:])
        elif re.fullmatch(r"\d+(\+|-\d+)?", modifier):
            field.versions = self._range(modifier, outer, number)
        else:
            raise self._error(number, f"{modifier!r} is neither versions, `tag N`, `ignorable` nor `legacy`")

    def _check(self, field: Field, number: int) -> None:
        if field.type[0].islower() and field.type not in FIXED_SIZE and field.type not in VARIABLE_SIZE:
            raise self._error(number, f"there is no type {field.type}")
        if field.default == "null" and field.nullable is None:
            raise self._error(number, f"{field.name} defaults to null but is never nullable")
        if field.nullable is not None and field.is_fixed:
            raise self._error(number, f"a field of type {field.type} cannot be null")

    def _range(self, text: str, outer: Versions | None, number: int) -> Versions:
        low, _, high = text.partition("-")
        try:
            if text.endswith("+") and outer is not None:
                result = Versions(int(text[:-1]), outer.high)
            else:
                result = Versions(int(low), int(high or low))
        except ValueError:
            raise self._error(number, f"{text!r} is not a range of versions") from None
        if result.low > result.high or (outer is not None and not outer.covers(result)):
            raise self._error(number, f"versions {text} do not lie within {outer}")
        return result

    def _resolve(self, message: Message) -> None:
        """Points every field at the struct its type names, and makes sure each struct has one meaning."""
        known: dict[str, Struct] = {}
        todo = [message.struct, *message.commons]
        for struct in todo:
            if struct.name in known:
                raise DefinitionError(f"{self._source}: {message.name} defines {struct.name} twice")
            known[struct.name] = struct
            todo.extend(field.struct for field in struct.fields if field.struct is not None)
        for struct in todo:
            self._check_tags(message, struct)
            for field in struct.fields:
                if field.struct is None and field.type[0].isupper():
                    if field.type not in known:
                        raise DefinitionError(f"{self._source}: {struct.name}.{field.name}: no struct {field.type}")
                    field.struct = known[field.type]

    def _check_tags(self, message: Message, struct: Struct) -> None:
        tags = [field.tag for field in struct.fields if field.tag is not None]
        if len(set(tags)) != len(tags):
            raise DefinitionError(f"{self._source}: two fields of {struct.name} have the same tag")
        for field in struct.fields:
            if field.tag is not None and (message.flexible is None or not message.flexible.covers(field.versions)):
                raise DefinitionError(f"{self._source}: {struct.name}.{field.name} is tagged at inflexible versions")

    def _modules(self) -> list[Module]:
        modules: dict[str, Module] = {}
        for message in self._messages:
            name = message.name
            if message.kind in ("request", "response"):
                name = name.removesuffix(message.kind.capitalize())
            module = modules.setdefault(name, Module(snake_case(name), self._source, []))
            module.messages.append(message)
        for module in modules.values():
            _name_classes(module.messages)
        return list(modules.values())


def _name_classes(messages: Iterable[Message]) -> None:
    """One module holds request and response: where both use a name, each side's class says which it belongs to."""
    structs = [(message, struct) for message in messages for struct in message.structs()]
    names = [struct.name for _, struct in structs]
    for message, struct in structs:
        shared = names.count(struct.name) > 1
        struct.class_name = message.kind.capitalize() + struct.name if shared else struct.name
