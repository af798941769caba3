"""The tool that compares our definitions with Kafka's, on definitions made up for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import compare_schemas

OURS = """
api 900 Ping on broker

request 1-4, flexible 3+
    name: string?2+
    wait_ms: int32 = 0x7fffffff           2+, ignorable
    place: int64 = -1                     3+, tag 0
    notes: [Note]
        text: string

response 1-4, flexible 3+
    error_code: int16
    owner: Owner

struct Owner
    id: uuid
"""

REQUEST: dict[str, Any] = {
    "apiKey": 900,
    "type": "request",
    "listeners": ["broker"],
    "name": "PingRequest",
    "validVersions": "1-4",
    "flexibleVersions": "3+",
    "fields": [
        {"name": "Name", "type": "string", "versions": "0+", "nullableVersions": "2+", "about": "who"},
        {"name": "WaitMs", "type": "int32", "versions": "2+", "default": "2147483647", "ignorable": True},
        {"name": "Place", "type": "int64", "taggedVersions": "3+", "tag": 0, "default": -1},
        {"name": "Gone", "type": "int64", "versions": "0"},
        {
            "name": "Notes",
            "type": "[]Note",
            "versions": "0+",
            "ignorable": True,
            "fields": [{"name": "Text", "type": "string", "versions": "0+", "mapKey": True, "default": None}],
        },
    ],
}
RESPONSE: dict[str, Any] = {
    "apiKey": 900,
    "type": "response",
    "name": "PingResponse",
    "validVersions": "1-4",
    "flexibleVersions": "3+",
    "fields": [
        {"name": "ErrorCode", "type": "int16", "versions": "0+", "default": "0"},
        {"name": "Owner", "type": "Owner", "versions": "1+"},
    ],
    "commonStructs": [
        {"name": "Owner", "versions": "0+", "fields": [{"name": "Id", "type": "uuid", "versions": "1+"}]}
    ],
}
RETIRED = {"apiKey": 901, "type": "request", "name": "OldRequest", "validVersions": "none"}


def compare(tmp_path: Path, *kafka: dict[str, Any]) -> int:
    schema, directory = tmp_path / "schema", tmp_path / "kafka" / "module"
    schema.mkdir()
    directory.mkdir(parents=True)
    (schema / "ping.wire").write_text(OURS)
    for definition in kafka:
        text = "// a licence: http://example.org\n" + json.dumps(definition) + "\n/* the end */"
        (directory / f"{definition['name']}.json").write_text(text)
    status = compare_schemas.main([str(tmp_path / "kafka"), "--schema", str(schema)])
    assert isinstance(status, int)
    return status


def changed(source: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """A copy of a definition with one thing changed: `fields.0.type`."""
    copy: dict[str, Any] = json.loads(json.dumps(source))
    place: Any = copy
    *way, last = (int(part) if part.isdigit() else part for part in path.split("."))
    for part in way:
        place = place[part]
    place[last] = value
    return copy


def test_the_same_in_other_words_is_no_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tmp_path, REQUEST, RESPONSE, RETIRED) == 0
    assert capsys.readouterr().out == "2 messages there, 2 here, 0 differences\n"


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("apiKey", 7, "PingRequest: key is 900 here and 7 there"),
        ("validVersions", "1-5", "PingRequest: versions is 1-4 here and 1-5 there"),
        ("flexibleVersions", "none", "PingRequest: flexible versions is 3-4 here and none there"),
        ("listeners", ["broker", "controller"], "PingRequest: listeners is broker here and broker, controller there"),
        ("latestVersionUnstable", True, "PingRequest: latest version unstable is False here and True there"),
        ("fields.0.type", "bytes", "PingRequest.name: type is string here and bytes there"),
        ("fields.0.type", "[]string", "PingRequest.name: type is string here and [string] there"),
        ("fields.0.nullableVersions", "3+", "PingRequest.name: nullable versions is 2-4 here and 3-4 there"),
        ("fields.0.default", "null", "PingRequest.name: default is none here and null there"),
        ("fields.0.flexibleVersions", "none", "PingRequest.name: old encoding is False here and True there"),
        ("fields.1.versions", "3+", "PingRequest.wait_ms: versions is 2-4 here and 3-4 there"),
        ("fields.1.default", "5", "PingRequest.wait_ms: default is 2147483647 here and 5 there"),
        ("fields.1.ignorable", False, "PingRequest.wait_ms: ignorable is True here and False there"),
        ("fields.2.tag", 1, "PingRequest.place: tag is 0 here and 1 there"),
        (
            "fields.3.versions",
            "0+",
            "PingRequest: fields are name, wait_ms, place, notes here and name, ",
        ),
        ("fields.4.type", "[]Remark", "PingRequest.notes: type is [Note] here and [Remark] there"),
        ("fields.4.fields.0.type", "int8", "PingRequest.notes.text: type is string here and int8 there"),
        ("commonStructs", [{"name": "X", "fields": []}], "PingRequest: common structs is none here and X there"),
        ("type", "response", "PingRequest: kind is request here and response there"),
    ],
)
def test_each_difference_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, value: object, told: str
) -> None:
    assert compare(tmp_path, changed(REQUEST, path, value), RESPONSE) == 1
    assert told in capsys.readouterr().out


def test_differences_in_common_structs_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tmp_path, REQUEST, changed(RESPONSE, "commonStructs.0.fields.0.type", "string")) == 1
    assert "PingResponse.Owner.id: type is uuid here and string there" in capsys.readouterr().out


def test_missing_messages_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tmp_path, REQUEST, {**RESPONSE, "name": "PongResponse"}) == 1
    told = capsys.readouterr().out
    assert "PingResponse is defined here and not there" in told
    assert "PongResponse is defined there and not here" in told


def test_what_cannot_be_read_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare_schemas.main([str(tmp_path)]) == 2
    assert "there are no definitions in it" in capsys.readouterr().err
    (tmp_path / "x.json").write_text("{")
    assert compare_schemas.main([str(tmp_path)]) == 2
    assert "cannot be read" in capsys.readouterr().err
