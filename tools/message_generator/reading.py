"""Writes the `read_all` of a struct: bytes to objects, one straight line of statements for each kind of version.

The same statements, with pauses between them, are its `read_slices` (see `moldau.protocol.slices`).
"""

from __future__ import annotations

from collections.abc import Sequence

from message_generator.layout import (
    Piece,
    Variant,
    condition,
    encodings,
    least_size,
    negated,
    pieces,
    tagged_fields,
)
from message_generator.model import FIXED_SIZE, INTEGERS, Field, Message, Struct, Versions
from message_generator.source import Source
from message_generator.values import default_value


class StructReader:
    def __init__(self, out: Source, message: Message, struct: Struct, *, in_slices: bool = False) -> None:
        self._out = out
        self._message = message
        self._struct = struct
        self._in_slices = in_slices
        # What was stored was taken once, and has to be read whatever it is.
        self._bounded = message.kind == "request"
        self._text = "view" if message.kind == "header" or message.carries_records else "read"

    def emit(self) -> None:
        out, name = self._out, self._struct.class_name
        data = "memoryview" if self._text == "view" else "bytes"
        out.line("@staticmethod")
        parameters = [f"data: {data}", "pos: int", "version: int", "count: int"]
        returns = f"tuple[list[{name}], int]"
        head = "def read_all("
        if self._in_slices:
            head, returns = "def read_slices(", f"{out.primitive('Slices')}[{returns}]"
        with out.opened(head, parameters, f") -> {returns}:"):
            if self._in_slices and self._bounded:
                out.line(f"{out.primitive('check_count')}(count)")
            out.line(f"items: list[{name}] = []")
            ranges = list(encodings(self._message, self._struct))
            for index, (versions, flexible) in enumerate(ranges):
                if index + 1 < len(ranges):
                    with out.block(f"if version >= {versions.low}:"):
                        self._loop(versions, flexible)
                        out.line("return items, pos")
                else:
                    self._loop(versions, flexible)
            out.line("return items, pos")

    def _loop(self, versions: Versions, flexible: bool) -> None:
        out = self._out
        with out.block("for _ in range(count):"):
            out.line(f"item = {out.helper('new')}({self._struct.class_name})")
            self._untagged(pieces(self._struct, versions), versions, flexible)
            self._defaults([field for field in self._struct.fields if field.tag is not None])
            if flexible:
                self._tagged(tagged_fields(self._struct, versions), versions)
            else:
                out.line("item.unknown_tags = None")
            out.line("items.append(item)")
            if self._in_slices:
                out.line("yield 1")

    def _defaults(self, fields: Sequence[Field]) -> None:
        for field in fields:
            self._out.line(f"item.{field.name} = {default_value(self._out, field)}")

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
        """Pieces that come and go together share one test of the version."""
        variants = sorted(group[0].variants, key=lambda variant: -variant.versions.high)
        for index, variant in enumerate(variants):
            parts = [_at(piece, variant.versions) for piece in group]
            if len(variants) == 1:
                self._parts(parts, flexible)
                return
            last = index == len(variants) - 1
            test = condition(variant.versions, Versions(versions.low, variant.versions.high))
            with self._out.block("else:" if last else f"{'elif' if index else 'if'} {test}:"):
                self._parts(parts, flexible)

    def _parts(self, parts: list[Variant], flexible: bool) -> None:
        for part in parts:
            if part.present and part.present[0].is_fixed:
                self._out.unpack(part.present)
            else:
                for field in part.present:
                    self._value(field, part.versions, flexible)
            self._defaults(part.absent)

    def _tagged(self, fields: list[Field], versions: Versions) -> None:
        out = self._out
        out.line("item.unknown_tags = None")
        with out.block("if data[pos] == 0:"):
            out.line("pos += 1")
        with out.block("else:"):
            if not fields:
                out.line(f"item.unknown_tags, pos = {out.primitive('read_unknown_tags')}(data, pos)")
                return
            out.line(f"tags, pos = {out.primitive('read_tag_count')}(data, pos)")
            with out.block("for _ in range(tags):"):
                out.line(f"tag, pos, stop = {out.primitive('read_tag')}(data, pos)")
                for index, field in enumerate(fields):
                    with out.block(f"{'elif' if index else 'if'} tag == {field.tag}:"):
                        self._known_tag(field, versions)
                with out.block("else:"):
                    keep = out.primitive("keep_tag")
                    out.line(f"item.unknown_tags = {keep}(item.unknown_tags, tag, data[pos:stop])")
                    out.line("pos = stop")
                out.line(f"{out.primitive('check_tag_end')}(tag, pos, stop)")

    def _known_tag(self, field: Field, versions: Versions) -> None:
        out = self._out
        if field.versions.low > versions.low:
            with out.block(f"if version < {field.versions.low}:"):
                out.line(f"raise {out.primitive('misplaced_tag')}(tag, version)")
        if field.is_fixed:
            out.unpack([field])
        else:
            self._value(field, field.versions, True, tagged=True)

    def _value(self, field: Field, versions: Versions, flexible: bool, *, tagged: bool = False) -> None:
        """One field of variable size; `versions` are those the statement can run at."""
        flexible = flexible and not field.legacy
        if field.is_array and field.type in INTEGERS:
            self._by_nullability(field, versions, lambda nullable: self._simple(field, nullable, flexible))
            if self._in_slices:
                self._out.line(f"yield len(item.{field.name}{' or ()' if field.nullable else ''})")
        elif field.is_array:
            self._array(field, versions, flexible)
        elif field.struct is not None:
            self._inner_struct(field, versions, tagged)
        else:
            self._by_nullability(field, versions, lambda nullable: self._simple(field, nullable, flexible))

    def _simple(self, field: Field, nullable: bool, flexible: bool) -> None:
        read = self._reader(field, nullable, flexible)
        self._out.line(f"item.{field.name}, pos = {read}(data, pos)")

    def _reader(self, field: Field, nullable: bool, flexible: bool) -> str:
        prefix = self._text if field.type == "string" else "read"
        name = f"{prefix}_{'nullable_' if nullable else ''}{'compact_' if flexible else ''}{field.type}"
        if field.type in INTEGERS:
            name += "s"
        return self._out.primitive(name)

    def _by_nullability(self, field: Field, versions: Versions, emit: object) -> None:
        assert callable(emit)
        nullable = field.nullable.intersect(versions) if field.nullable else None
        test = condition(nullable, versions) if nullable else None
        if test is None:
            emit(nullable is not None)
            return
        with self._out.block(f"if {test}:"):
            emit(True)
        with self._out.block("else:"):
            emit(False)

    def _array(self, field: Field, versions: Versions, flexible: bool) -> None:
        out = self._out
        least = 1
        if field.struct is not None:
            least = least_size(field.struct, versions.intersect(field.struct.versions) or versions, flexible)
        elif field.type in FIXED_SIZE:
            least = FIXED_SIZE[field.type][1]
        elif not flexible:
            least = 2
        read = out.primitive("read_compact_count" if flexible else "read_count")
        out.line(f"size, pos = {read}(data, pos, {least})")
        nullable = field.nullable.intersect(versions) if field.nullable else None
        with out.block("if size < 0:"):
            if nullable is None:
                out.line(f'raise {out.primitive("null_sent")}("{field.name}")')
            else:
                test = condition(nullable, versions)
                if test is not None:
                    with out.block(f"if {negated(test)}:"):
                        out.line(f'raise {out.primitive("null_sent")}("{field.name}")')
                out.line(f"item.{field.name} = None")
        if nullable is None:
            self._elements(field, flexible)
        else:
            with out.block("else:"):
                self._elements(field, flexible)

    def _elements(self, field: Field, flexible: bool) -> None:
        out = self._out
        target = f"item.{field.name}, pos = {'yield from ' if self._in_slices else ''}"
        unbounded = [] if self._bounded or not self._in_slices else ["bounded=False"]
        if field.struct is not None:
            self._structs(field.struct, target, unbounded)
        elif field.type == "uuid":
            read = out.primitive("uuid_slices" if self._in_slices else "read_uuids")
            out.call(f"{target}{read}(", ["data", "pos", "size", *unbounded])
        else:
            read_many = out.primitive("value_slices" if self._in_slices else "read_many")
            reader = self._reader(field, False, flexible)
            out.call(f"{target}{read_many}(", [reader, "data", "pos", "size", *unbounded])

    def _structs(self, struct: Struct, target: str, unbounded: list[str]) -> None:
        arguments = ["data", "pos", "version", "size"]
        if not self._in_slices:
            self._out.call(f"{target}{struct.class_name}.read_all(", arguments)
        elif struct.holds_arrays:
            self._out.call(f"{target}{struct.class_name}.read_slices(", arguments)
        else:
            read = f"{target}{self._out.primitive('struct_slices')}("
            self._out.call(read, [f"{struct.class_name}.read_all", *arguments, *unbounded])

    def _inner_struct(self, field: Field, versions: Versions, tagged: bool) -> None:
        """A nullable struct has a byte in front, negative for null; as a tagged field a varint, zero for null."""
        out = self._out
        assert field.struct is not None
        function = f"{field.struct.class_name}.read_all"
        if self._in_slices and field.struct.holds_arrays:
            function = f"yield from {field.struct.class_name}.read_slices"
        read = f"(item.{field.name},), pos = {function}("
        arguments = ["data", "pos", "version", "1"]
        nullable = field.nullable.intersect(versions) if field.nullable else None
        if nullable is None:
            out.call(read, arguments)
            return
        if condition(nullable, versions) is not None:
            raise ValueError(f"{self._struct.name}.{field.name}: a struct that is nullable at some versions only")
        with out.block("if data[pos] == 0:" if tagged else "if data[pos] > 0x7F:"):
            out.line("pos += 1")
            out.line(f"item.{field.name} = None")
        with out.block("else:"):
            out.line("pos += 1")
            out.call(read, arguments)


def _at(piece: Piece, versions: Versions) -> Variant:
    return next(variant for variant in piece.variants if variant.versions.covers(versions))
