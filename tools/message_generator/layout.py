"""How the fields of a struct lie on the wire over a range of versions, as the generator needs it.

Neighbouring fields of fixed size become one run, packed and unpacked in a single call. Which fields a run holds can
depend on the version; it is then cut into the variants that occur, and the generated code picks one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from message_generator.model import FIXED_SIZE, Field, Message, Struct, Versions


@dataclass(slots=True)
class Variant:
    """What a piece of a struct looks like at some versions: the fields that are there and those that are not."""

    versions: Versions
    present: list[Field]
    absent: list[Field]


@dataclass(slots=True)
class Piece:
    """Fields that are read and written by the same statements: a run of fixed ones, or a single variable one."""

    fields: list[Field]
    variants: list[Variant]

    @property
    def presence(self) -> tuple[Versions, ...] | None:
        """For pieces that are either there or not as a whole: the versions at which they are."""
        if any(variant.present and variant.absent for variant in self.variants):
            return None
        return tuple(variant.versions for variant in self.variants if variant.present)


def pieces(struct: Struct, versions: Versions) -> list[Piece]:
    """The untagged fields in order; tagged ones come after all others and are left out here."""
    result: list[Piece] = []
    for field in struct.fields:
        if field.tag is not None:
            continue
        if field.is_fixed and result and result[-1].fields[0].is_fixed:
            result[-1].fields.append(field)
        else:
            result.append(Piece([field], []))
    for piece in result:
        piece.variants = _variants(piece.fields, versions)
    return result


def _variants(fields: list[Field], versions: Versions) -> list[Variant]:
    variants: list[Variant] = []
    for version in range(versions.low, versions.high + 1):
        present = [field for field in fields if version in field.versions]
        if variants and variants[-1].present == present:
            variants[-1].versions = Versions(variants[-1].versions.low, version)
        else:
            absent = [field for field in fields if version not in field.versions]
            variants.append(Variant(Versions(version, version), present, absent))
    return variants


def tagged_fields(struct: Struct, versions: Versions) -> list[Field]:
    """Those that have a place somewhere in `versions`, in order of their tags."""
    found = [field for field in struct.fields if field.tag is not None and field.versions.intersect(versions)]
    return sorted(found, key=lambda field: field.tag or 0)


def encodings(message: Message, struct: Struct) -> Iterator[tuple[Versions, bool]]:
    """The ranges of versions that are encoded alike: the flexible ones and the older ones."""
    flexible = message.flexible.intersect(struct.versions) if message.flexible else None
    if flexible is None:
        yield struct.versions, False
        return
    yield flexible, True
    if struct.versions.low < flexible.low:
        yield Versions(struct.versions.low, flexible.low - 1), False


def condition(inner: Versions, outer: Versions) -> str | None:
    """The Python expression that tells whether a version of `outer` lies in `inner`; None if all of them do."""
    low = inner.low > outer.low
    high = inner.high < outer.high
    if not low and not high:
        return None
    if low and high:
        if inner.low == inner.high:
            return f"version == {inner.low}"
        return f"{inner.low} <= version <= {inner.high}"
    return f"version >= {inner.low}" if low else f"version <= {inner.high}"


def negated(test: str) -> str:
    """The opposite of what `condition` returned."""
    for operator, opposite in (("version >=", "version <"), ("version <=", "version >"), ("version ==", "version !=")):
        if test.startswith(operator):
            return opposite + test.removeprefix(operator)
    return f"not ({test})"


def least_size(struct: Struct, versions: Versions, flexible: bool) -> int:
    """The fewest bytes the struct takes at any of these versions; what an array count is checked against."""
    sizes = []
    for version in range(versions.low, versions.high + 1):
        size = 1 if flexible else 0
        for field in struct.fields:
            if field.tag is None and version in field.versions:
                size += _least_field_size(field, version, flexible)
        sizes.append(size)
    return max(1, min(sizes))


def _least_field_size(field: Field, version: int, flexible: bool) -> int:
    if field.is_fixed:
        return FIXED_SIZE[field.type][1]
    if field.struct is not None and not field.is_array:
        if field.is_nullable(version):
            return 1
        return least_size(field.struct, Versions(version, version), flexible)
    if flexible and not field.legacy:
        return 1
    return 2 if field.type == "string" and not field.is_array else 4
