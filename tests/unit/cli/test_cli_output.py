"""What all commands have in common: JSON for machines, colours and progress for people at a terminal only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from grammar import commands

import moldau
from moldau.cli.progress import Progress
from moldau.cli.style import Style, printable

# What prints no data, and what it prints instead.
WITHOUT_JSON = {
    "start": "one line, `ready HOST:PORT`",
    "cluster start": "one line, `ready HOST:PORT,...`",
    "console": "one line, `ready http://HOST:PORT`",
    "storage format": "a line for each directory it has made",
    "storage random-uuid": "one word",
    "pipeline new": "writes a file",
    "pipeline plan": "a drawing, as text or SVG",
    "pipeline run": "runs until it is stopped; `pipeline status --json` tells how it is",
    "simulate": "a line for each run; --results notes them as JSON",
    "completion bash": "a script",
    "completion zsh": "a script",
    "completion fish": "a script",
    "completion candidates": "what scripts of shells read",
}


def test_every_command_that_prints_data_prints_it_as_json() -> None:
    without = {words for words, parser in commands().items() if "--json" not in parser._option_string_actions}
    assert sorted(without - WITHOUT_JSON.keys()) == []
    assert sorted(WITHOUT_JSON.keys() - without) == []


def test_escapes_for_terminals_are_written_by_those_who_know_that_there_is_one() -> None:
    place = Path(moldau.__file__).parent
    written = {
        str(path.relative_to(place))
        for path in place.rglob("*.py")
        if re.search(r"\\x1b|\\033|\\e\[", path.read_text(encoding="utf-8"))
    }
    assert written == {"cli/style.py", "cli/top_screen.py", "cli/pipeline_display.py"}


@pytest.mark.parametrize(
    ("terminal", "no_color", "kind", "coloured"),
    [
        (True, None, "xterm", True),
        (True, "", "xterm", True),
        (True, "1", "xterm", False),
        (True, None, "dumb", False),
        (False, None, "xterm", False),
    ],
)
def test_colours(
    terminal: bool, no_color: str | None, kind: str, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    monkeypatch.setenv("TERM", kind)
    if no_color is None:
        monkeypatch.delenv("NO_COLOR", raising=False)
    else:
        monkeypatch.setenv("NO_COLOR", no_color)
    assert Style.of_output().paint("bad", "red") == ("\x1b[31mbad\x1b[0m" if coloured else "bad")


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("moldau.cli.progress._INTERVAL", 0.0)
    for terminal in (False, True):
        monkeypatch.setattr("sys.stderr.isatty", lambda seen=terminal: seen)
        progress = Progress(shown=True)
        progress.tell("half")
        progress.clear()
        assert ("half" in capsys.readouterr().err) is terminal


def test_names_that_would_move_the_cursor() -> None:
    assert printable("rivers-ž 日本") == "rivers-ž 日本"
    assert printable("a\x1b[2J\x07b\u202ec\nd") == "a?[2J?b?c?d"
