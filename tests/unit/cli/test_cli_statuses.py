"""The table of docs/operating/commands.md, and that every command keeps to it when nobody answers or it is misused."""

from __future__ import annotations

import socket
from argparse import ArgumentParser
from pathlib import Path

import pytest
from grammar import asking, commands, example

from moldau.cli.main import COMMANDS, main

PAGE = Path(__file__).resolve().parents[3] / "docs" / "operating" / "commands.md"

VERIFYING = ("log dump", "log verify", "history verify")
# What they end with is not what the others end with.
SPECIAL = {"doctor": "0 1 2", "completion candidates": "0 2"}


@pytest.fixture
def password(tmp_path: Path) -> Path:
    file = tmp_path / "password"
    file.write_text("secret\n")
    return file


def statuses(words: str, parser: ArgumentParser) -> str:
    if words in SPECIAL:
        return SPECIAL[words]
    asks = " 3" if "--bootstrap" in parser._option_string_actions else ""
    return f"0 1 2{asks}{' 4' if words in VERIFYING else ''}"


def row(words: str, parser: ArgumentParser) -> str:
    what = (parser.description or "").strip().rstrip(".")
    if words in COMMANDS:
        what = COMMANDS[words].summary
    what = what[:1].lower() + what[1:]
    return f"| `moldau {words}` | {what.replace('|', chr(92) + '|')} | {statuses(words, parser)} |"


def cells(line: str) -> tuple[str, str]:
    """The command and its statuses; what it does may be said in other words than its help."""
    words = line.split(" | ")
    return words[0], words[-1]


def test_the_table_is_that_of_the_commands() -> None:
    wanted = [row(words, parser) for words, parser in commands().items()]
    found = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `moldau ")]
    assert [cells(line) for line in found] == [cells(line) for line in wanted], "\n".join(wanted)


@pytest.mark.parametrize("words", commands())
def test_what_is_not_an_option(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words.split(), "--nonsense"])
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith("moldau")


@pytest.mark.parametrize("words", asking())
def test_nobody_answers(words: str, password: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    status = main([*example(words, asking()[words], password), "-b", address, "--timeout", "10s"])
    said = capfd.readouterr()
    assert status == (2 if words == "doctor" else 3), said.err
    assert said.err.startswith(f"moldau: No broker answers at {address}: Connection refused.")
    assert said.err.count("\n") == 1
