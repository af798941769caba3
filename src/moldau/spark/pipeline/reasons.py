"""Why a record could not be parsed, in words for whoever opens the dead letters.

Spark only says that it could not. Here the bytes are read once more, slowly, against the same schema.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any, Final

_NUMBERS: Final = {"byte", "short", "integer", "long", "float", "double"}
_LONGEST: Final = 60


def explain(form: str, value: bytes | None, schema_json: str) -> str:
    if value is None:
        return "the record has no value"
    data = bytes(value)
    if not data:
        return "the value is empty"
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return f"byte {error.start} is not UTF-8"
    fields = json.loads(schema_json)["fields"]
    return _explain_csv(text, fields) if form == "csv" else _explain_json(text, fields)


def _explain_json(text: str, fields: list[dict[str, Any]]) -> str:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        words = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        return f"not JSON: {words} at character {error.pos}"
    except RecursionError:
        return "not JSON that can be read: nested too deeply"
    if not isinstance(found, dict):
        return f"the JSON is {_kind(found)}, not an object"
    for field in fields:
        problem = _misfit(found.get(field["name"]), field["type"])
        if problem:
            return f"{field['name']} is {problem}"
    return "the fields do not fit the schema"


def _explain_csv(text: str, fields: list[dict[str, Any]]) -> str:
    row = next(csv.reader(io.StringIO(text)), [])
    if len(row) != len(fields):
        return f"{len(row)} columns, not {len(fields)}"
    for field, cell in zip(fields, row, strict=True):
        if field["type"] in _NUMBERS and not _is_number(cell, field["type"]) and cell:
            return f"{field['name']} is {_short(cell)}, not of type {field['type']}"
    return "the columns do not fit the schema"


def _misfit(value: Any, kind: Any) -> str | None:
    """`x, not of type y`, or None if the value may have that type."""
    if value is None or kind == "string":
        return None
    if isinstance(kind, dict):
        wanted = {"struct": dict, "map": dict, "array": list}.get(kind["type"], object)
        return None if isinstance(value, wanted) else f"{_short(value)}, not of type {kind['type']}"
    if kind in _NUMBERS or kind.startswith("decimal"):
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        fits = fits and not (kind in ("byte", "short", "integer", "long") and isinstance(value, float))
        fits = fits or (kind in ("float", "double") and value in ("NaN", "Infinity", "-Infinity"))
    elif kind == "boolean":
        fits = isinstance(value, bool)
    elif kind in ("date", "timestamp", "timestamp_ntz"):
        fits = isinstance(value, int) or (isinstance(value, str) and value[:4].isdigit() and value[4:5] == "-")
    else:
        fits = isinstance(value, str)
    return None if fits else f"{_short(value)}, not of type {kind}"


def _is_number(text: str, kind: str) -> bool:
    try:
        float(text) if kind in ("float", "double") else int(text)
    except ValueError:
        return False
    return True


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _kind(value: Any) -> str:
    names = {list: "an array", str: "a string", bool: "a truth value", int: "a number", float: "a number"}
    return names.get(type(value), "null")
