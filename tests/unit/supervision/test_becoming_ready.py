"""Whoever starts a node waits until it says that it is ready, and no longer than it may take."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from moldau.supervision.process import NodeFailed, NodeProcess


class Saying(NodeProcess):
    """In place of the node a program that says what it is told to."""

    program = ""

    def command(self) -> list[str]:
        return [sys.executable, "-c", f"import sys, time\nsay = sys.stdout\n{self.program}"]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Saying]:
    made = Saying(1, tmp_path, {})
    yield made
    made.kill()


def test_a_line_that_comes_in_two_parts_is_waited_for(process: Saying) -> None:
    process.program = (
        "say.write('rea'); say.flush(); time.sleep(0.3); say.write('dy x\\n'); say.flush(); time.sleep(60)"
    )
    process.begin()
    process.wait_ready()
    assert process.running


def test_who_says_nothing_is_ended_when_its_time_is_up(process: Saying) -> None:
    process.program = "time.sleep(60)"
    process.begin()
    with pytest.raises(NodeFailed, match="Node 1 did not become ready"):
        process.wait_ready(0.2)
    assert not process.running


@pytest.mark.parametrize("program", ["say.write('not yet\\n'); say.flush(); time.sleep(60)", "sys.exit(3)"])
def test_who_says_something_else_or_ends_is_not_waited_for(process: Saying, program: str) -> None:
    process.program = program
    process.begin()
    with pytest.raises(NodeFailed):
        process.wait_ready(3600.0)
    assert not process.running
