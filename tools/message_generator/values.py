"""Types and default values of fields, as Python text."""

from __future__ import annotations

from message_generator.model import Field
from message_generator.source import Source

_TYPES = {"bool": "bool", "float64": "float", "string": "str", "bytes": "bytes", "records": "Records", "uuid": "Uuid"}


def annotation(field: Field) -> str:
    base = field.struct.class_name if field.struct is not None else _TYPES.get(field.type, "int")
    text = f"list[{base}]" if field.is_array else base
    return f"{text} | None" if field.nullable is not None else text


def default_value(out: Source, field: Field) -> str:
    """The value a field has when nothing was sent."""
    if field.default == "null" or (field.type == "records" and field.nullable is not None):
        return "None"
    if field.is_array:
        return "[]"
    if field.struct is not None:
        return f"{field.struct.class_name}()"
    return scalar_default(out, field)


def scalar_default(out: Source, field: Field) -> str:
    if field.type == "string":
        return f'"{field.default or ""}"'
    if field.type in ("bytes", "records"):
        return 'b""'
    if field.type == "bool":
        return "True" if field.default == "true" else "False"
    if field.type == "float64":
        return str(float(field.default or 0))
    if field.type == "uuid":
        return out.primitive("ZERO_UUID")
    return str(int(field.default or "0", 0))


def differs(out: Source, field: Field, value: str) -> list[str]:
    """Expressions of which one is true if `value`, itself the text of an expression, is not the field's default."""
    default = default_value(out, field)
    if default == "None":
        return [f"{value} is not None"]
    if default == "True":
        return [f"not {value}"]
    if default == "False" or (field.is_array and field.nullable is None):
        return [value]
    if field.struct is not None and not field.is_array and field.nullable is None:
        members = field.struct.fields
        if all(member.struct is None and not member.is_array for member in members) and len(members) < 4:
            # Spelled out instead of compared with a fresh struct: this is asked for every partition of a fetch.
            tests = [test for member in members for test in differs(out, member, f"{value}.{member.name}")]
            return [*tests, f"{value}.unknown_tags"]
    return [f"{value} != {default}"]
