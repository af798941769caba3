"""The tour in README.md, pasted: every fenced command is run as it stands there, against a node, and prints what the
page shows below it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from node_process import StartNode

README = Path(__file__).resolve().parents[2] / "README.md"
VENV = Path(sys.executable).parent.parent

# The reader's node listens on the default address, ours on a free port.
TALKS_TO_A_BROKER = re.compile(r"moldau (topics \w+|produce|consume|configs \w+(?= --topic))")
DEFAULT_ADDRESS = "127.0.0.1:9092"
LEFT_OUT = "..."


def tour() -> list[tuple[str, str]]:
    """(language, text) of the fenced blocks between the heading of the tour and the next."""
    section = re.search(r"^## A tour.*?$(.*?)^## ", README.read_text(), re.MULTILINE | re.DOTALL)
    assert section is not None
    return re.findall(r"^```(\w+)\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL)


def run(language: str, text: str, directory: Path) -> str:
    command = {"sh": ["sh", "-e", "-c", text], "python": [sys.executable, "-c", text]}[language]
    environment = os.environ | {"PATH": f"{VENV / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def lines(text: str) -> list[str]:
    """Without ids and times; in no order, because partitions have none among each other."""
    return sorted(
        re.sub(r"\b[\w-]{22}$", "ID", re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", line)) for line in text.splitlines()
    )


def compare(shown: str, printed: str) -> None:
    """All that is shown is printed, and nothing else is unless the page says that something is left out."""
    expected, found = lines(shown), lines(printed)
    if LEFT_OUT in expected:
        assert [line for line in expected if line != LEFT_OUT and line not in found] == [], printed
    else:
        assert expected == found


def test_the_tour_works_as_written(start_node: StartNode, tmp_path: Path) -> None:
    node = start_node()
    (tmp_path / ".venv").symlink_to(VENV)
    (tmp_path / "data").symlink_to(node.data)
    blocks = tour()
    assert len([language for language, _ in blocks if language == "text"]) >= 6
    printed = ""
    for language, text in blocks:
        if language == "text":
            compare(text, printed)
            continue
        if "--tail" in text:  # what the reader types after stopping and starting the node
            node.restart()
        local = TALKS_TO_A_BROKER.sub(rf"\g<0> --bootstrap {node.bootstrap}", text)
        printed = run(language, local.replace(DEFAULT_ADDRESS, node.bootstrap), tmp_path)
