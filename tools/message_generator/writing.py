"""Writes the `write_all` of a struct: objects to bytes, with a check wherever a version has no place for a value.

The same statements, with pauses between them, are its `write_slices` (see `moldau.protocol.slices`).
"""

from __future__ import annotations

from collections.abc import Sequence

from message_generator.layout import Piece, Variant, condition, encodings, negated, pieces, tagged_fields
from message_generator.model import INTEGERS, Field, Message, Struct, Versions
from message_generator.source import Source
from message_generator.values import differs

# Names of locals and parameters in the generated function that a field must not take over.
_TAKEN = frozenset({"items", "item", "out", "buf", "version", "tags", "inner"})


class StructWriter:
    def __init__(self, out: Source, message: Message, struct: Struct, *, in_slices: bool = False) -> None:
        self._out = out
        self._message = message
        self._struct = struct
        self._in_slices = in_slices

    def emit(self) -> None:
        out = self._out
        out.line("@staticmethod")
        parameters = ["out: Writer", f"items: Iterable[{self._struct.class_name}]", "version: int"]
        head, returns = "def write_all(", "None"
        if self._in_slices:
            head, returns = "def write_slices(", f"{out.primitive('Slices')}[None]"
        with out.opened(head, parameters, f") -> {returns}:"):
            out.line("buf = out.buffer")
            ranges = list(encodings(self._message, self._struct))
            for index, (versions, flexible) in enumerate(ranges):
                if index + 1 < len(ranges):
                    with out.block(f"if version >= {versions.low}:"):
                        self._loop(versions, flexible)
                        out.line("return")
                else:
                    self._loop(versions, flexible)

    def _loop(self, versions: Versions, flexible: bool) -> None:
        out = self._out
        with out.block("for item in items:"):
            self._untagged(pieces(self._struct, versions), versions, flexible)
            tagged = tagged_fields(self._struct, versions) if flexible else []
            for field in self._struct.fields:
                if field.tag is not None and field not in tagged:
                    self._refuse([field])
            if not flexible:
                with out.block("if item.unknown_tags:"):
                    out.line(f'raise {out.helper("no_tags")}("{self._struct.class_name}", version)')
            elif tagged:
                self._tagged(tagged, versions)
            else:
                end = f"{out.primitive('tagged')}(item.unknown_tags)"
                out.line(f'buf += {end} if item.unknown_tags else b"\\x00"')
            if self._in_slices:
                out.line("yield 1")

    def _refuse(self, fields: Sequence[Field]) -> None:
        """A value that would get lost silently is an error, unless the definition says that it may."""
        out = self._out
        for field in fields:
            if not field.ignorable:
                with out.when_any(differs(out, field, f"item.{field.name}")):
                    where = [f'"{self._struct.class_name}"', f'"{field.name}"', "version"]
                    out.call(f"raise {out.helper('no_such_field')}(", where)

    def _untagged(self, todo: list[Piece], versions: Versions, flexible: bool) -> None:
        position = 0
        while position < len(todo):
            group = [todo[position]]
            presence = group[0].presence
            position += 1
            while presence is not None and position < len(todo) and todo[position].presence == presence:
                group.append(todo[position])
                position += 1
            self._group(group, versions, flexible)

    def _group(self, group: list[Piece], versions: Versions, flexible: bool) -> None:
        variants = sorted(group[0].variants, key=lambda variant: -variant.versions.high)
        left = versions  # what the branches so far have not dealt with
        keyword = "if"
        for variant in variants:
            parts = [_at(piece, variant.versions) for piece in group]
            if not _writes(parts):
                continue  # nothing is sent at these versions, and nothing can get lost
            test = condition(variant.versions, left)
            if test is None and keyword == "if":
                self._parts(parts, flexible)
                return
            with self._out.block("else:" if test is None else f"{keyword} {test}:"):
                self._parts(parts, flexible)
            left = Versions(versions.low, variant.versions.low - 1)
            keyword = "elif"

    def _parts(self, parts: list[Variant], flexible: bool) -> None:
        for part in parts:
            self._refuse(part.absent)
            if part.present and part.present[0].is_fixed:
                self._out.pack(part.present)
            else:
                for field in part.present:
                    self._value(field, part.versions, flexible)

    def _value(self, field: Field, versions: Versions, flexible: bool) -> None:
        flexible = flexible and not field.legacy
        if field.type == "records" and not field.is_array:
            self._records(field, versions, flexible)
        elif field.struct is None and not field.is_array and _fully(field, versions):
            write = self._out.primitive(_writer(field, field.nullable is not None, flexible))
            self._out.line(f"buf += {write}(item.{field.name})")
        elif field.nullable is None:
            self._content(field, f"item.{field.name}", flexible)
        else:
            self._nullable(field, versions, flexible)

    def _nullable(self, field: Field, versions: Versions, flexible: bool) -> None:
        out = self._out
        local = field.name + "_" if field.name in _TAKEN else field.name
        out.line(f"{local} = item.{field.name}")
        with out.block(f"if {local} is None:"):
            self._null(field, versions, flexible)
        if field.nullable is None or field.nullable.intersect(versions) is None:
            self._content(field, local, flexible)
            return
        with out.block("else:"):
            if field.struct is not None and not field.is_array:
                out.line("buf.append(1)")
            self._content(field, local, flexible)

    def _null(self, field: Field, versions: Versions, flexible: bool) -> None:
        out = self._out
        nullable = field.nullable.intersect(versions) if field.nullable else None
        if nullable is None:
            self._refuse_null(field)
            return
        test = condition(nullable, versions)
        if test is not None:
            with out.block(f"if {negated(test)}:"):
                self._refuse_null(field)
        if field.struct is not None and not field.is_array:
            out.line("buf.append(0xFF)")
        else:
            null = "COMPACT_NULL" if flexible else "NULL_STRING" if _is_string(field) else "NULL"
            out.line(f"buf += {out.primitive(null)}")

    def _refuse_null(self, field: Field) -> None:
        where = [f'"{self._struct.class_name}"', f'"{field.name}"', "version"]
        self._out.call(f"raise {self._out.helper('null_refused')}(", where)

    def _content(self, field: Field, value: str, flexible: bool) -> None:
        """A value that is not null."""
        out = self._out
        compact = "compact_" if flexible else ""
        if field.struct is not None:
            if field.is_array:
                out.line(f"buf += {out.primitive(compact + 'array_count')}({value})")
                self._structs(field.struct, value)
            else:
                self._structs(field.struct, f"({value},)")
            if _holds_records(field.struct):
                out.line("buf = out.buffer")
        elif field.is_array:
            if field.type not in _ARRAYS:
                raise ValueError(f"{self._struct.name}.{field.name}: arrays of {field.type} are not provided for")
            out.line(f"buf += {out.primitive(f'{compact}{field.type}s')}({value})")
            if self._in_slices and field.type not in INTEGERS:
                out.line(f"yield len({value})")
        else:
            out.line(f"buf += {out.primitive(_writer(field, False, flexible))}({value})")

    def _structs(self, struct: Struct, values: str) -> None:
        arguments = ["out", values, "version"]
        if not self._in_slices:
            self._out.call(f"{struct.class_name}.write_all(", arguments)
        elif struct.holds_many:
            self._out.call(f"yield from {struct.class_name}.write_slices(", arguments)
        else:
            written = self._out.primitive("written_slices")
            self._out.call(f"yield from {written}(", [f"{struct.class_name}.write_all", *arguments])

    def _records(self, field: Field, versions: Versions, flexible: bool) -> None:
        out = self._out
        if not _fully(field, versions):
            raise ValueError(f"{self._struct.name}.{field.name}: records that are nullable at some versions only")
        out.line(f"out.{_writer(field, field.nullable is not None, flexible)}(item.{field.name})")
        out.line("buf = out.buffer")

    def _tagged(self, fields: list[Field], versions: Versions) -> None:
        out = self._out
        out.line("tags: dict[int, bytes] = {}")
        for field in fields:
            test = condition(field.versions, versions)
            if test is None:
                self._tagged_field(field)
            elif field.ignorable:
                with out.block(f"if {test}:"):
                    self._tagged_field(field)
            else:
                with out.block(f"if {test}:"):
                    self._tagged_field(field)
                with out.block("else:"):
                    self._refuse([field])
        end = f"{out.primitive('tagged')}(tags, item.unknown_tags)"
        out.line(f'buf += {end} if tags or item.unknown_tags else b"\\x00"')

    def _tagged_field(self, field: Field) -> None:
        out = self._out
        local = field.name + "_" if field.name in _TAKEN else field.name
        out.line(f"{local} = item.{field.name}")
        with out.when_any(differs(out, field, local)):
            if field.is_fixed:
                out.line(f"tags[{field.tag}] = _pack_{out.format([field])}({local})")
            elif field.struct is not None:
                self._tagged_struct(field, local)
            else:
                name = f"compact_{field.type}s" if field.is_array else f"compact_{field.type}"
                encoded = f"{out.primitive(name)}({local})"
                if field.nullable is not None and field.default != "null":
                    encoded = f"{out.primitive('COMPACT_NULL')} if {local} is None else {encoded}"
                out.line(f"tags[{field.tag}] = {encoded}")

    def _tagged_struct(self, field: Field, local: str) -> None:
        out = self._out
        assert field.struct is not None
        if field.nullable is not None and field.default != "null":
            with out.block(f"if {local} is None:"):
                out.line(f"tags[{field.tag}] = {out.primitive('COMPACT_NULL')}")
            with out.block("else:"):
                self._inner(field, local)
        else:
            self._inner(field, local)

    def _inner(self, field: Field, local: str) -> None:
        out = self._out
        assert field.struct is not None
        out.line("inner = Writer()")
        if field.is_array:
            out.line(f"inner.buffer += {out.primitive('compact_array_count')}({local})")
        elif field.nullable is not None:
            out.line("inner.buffer.append(1)")
        values = local if field.is_array else f"({local},)"
        out.line(f"{field.struct.class_name}.write_all(inner, {values}, version)")
        out.line(f"tags[{field.tag}] = inner.bytes()")


_ARRAYS = INTEGERS | {"string", "uuid"}


def _writer(field: Field, nullable: bool, flexible: bool) -> str:
    name = f"{'nullable_' if nullable else ''}{'compact_' if flexible else ''}{field.type}"
    return "bytes_" if name == "bytes" else name


def _fully(field: Field, versions: Versions) -> bool:
    """Whether the field is nullable at all of these versions, or never."""
    return field.nullable is None or field.nullable.covers(versions)


def _is_string(field: Field) -> bool:
    return field.type == "string" and not field.is_array


def _holds_records(struct: Struct) -> bool:
    return any(
        field.type == "records" or (field.struct is not None and _holds_records(field.struct))
        for field in struct.fields
    )


def _writes(parts: list[Variant]) -> bool:
    return any(part.present or any(not field.ignorable for field in part.absent) for part in parts)


def _at(piece: Piece, versions: Versions) -> Variant:
    return next(variant for variant in piece.variants if variant.versions.covers(versions))
