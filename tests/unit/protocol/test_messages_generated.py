"""The generator: the committed files are what it makes, and its driver says when they are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from message_samples import SCHEMA, modules

import generate_messages
from message_generator import language
from message_generator.generator import generate


def test_the_committed_messages_are_what_the_generator_makes() -> None:
    made = generate(modules())
    directory = SCHEMA.parent / "messages"
    assert {path.name for path in directory.glob("*.py")} == made.keys()
    for name, text in made.items():
        assert (directory / name).read_text() == text, f"{name} is out of date: run tools/generate_messages.py"


def test_the_driver_writes_what_is_missing_and_removes_what_is_not_defined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "old.py").write_text("")
    (tmp_path / "same.py").write_text("same\n")
    files = {"same.py": "same\n", "new.py": "new\n"}
    assert generate_messages.bring_up_to_date(tmp_path, files, check=True) == 1
    assert capsys.readouterr().out == "old.py: no definition leads to it\nnew.py: out of date\n"
    assert not (tmp_path / "new.py").exists()
    assert generate_messages.bring_up_to_date(tmp_path, files, check=False) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"same.py", "new.py"}
    assert generate_messages.bring_up_to_date(tmp_path, files, check=True) == 0


def test_the_driver_finds_the_project_up_to_date() -> None:
    assert generate_messages.main(["--check"]) == 0


DEFINITION = """
# Ping: asks whether somebody is there.
#    1  says how long to wait
api 900 Ping on broker

request 0-3, flexible 2+
    name: string?1+
    wait_ms: int32 = 100                1+
    place: int64 = -1                   2+, tag 0, ignorable
    notes: [Note]                       3+
        text: string

response 0-3, flexible 2+
    error_code: int16
    found: [Note]
        text: string
        kind: int8                      2+, ignorable
"""


def test_a_new_api_works_as_defined() -> None:
    """From text to working classes, without any of the committed files."""
    [module] = language.parse(DEFINITION, "ping.wire")
    namespace: dict[str, object] = {"__name__": "ping"}
    exec(compile(generate([module])["ping.py"], "ping.py", "exec"), namespace)
    request = namespace["PingRequest"]
    note = namespace["RequestNote"]
    assert callable(request)
    assert callable(note)
    assert request(name="a").encode(0) == b"\x00\x01a"
    assert request(name=None, wait_ms=7).encode(1) == b"\xff\xff\x00\x00\x00\x07"
    full = request(name="a", wait_ms=1, place=5, notes=[note(text="b")])
    assert full.encode(3) == b"\x02a\x00\x00\x00\x01\x02\x02b\x00\x01\x00\x08" + (5).to_bytes(8)
    response = namespace["PingResponse"]
    answer = namespace["ResponseNote"]
    assert callable(response)
    assert callable(answer)
    assert response(found=[answer(text="b", kind=3)]).encode(1) == b"\x00\x00\x00\x00\x00\x01\x00\x01b"
