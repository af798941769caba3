"""`moldau top` against a node that is written to and read from: in a terminal, in a pipe, for machines."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import confluent_kafka
import pytest
from node_process import MOLDAU, NodeProcess, StartNode
from patience import PATIENCE
from transactional_clients import create_topic

from moldau import KafkaProducer


class Terminal:
    """The other side of a terminal: what a program draws there, and keys to be pressed."""

    def __init__(self, *words: str, rows: int = 24, columns: int = 100) -> None:
        self._master, slave = pty.openpty()
        self._size(slave, rows, columns)
        self.before = termios.tcgetattr(slave)
        self._slave = slave
        environment = {
            name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moldau", *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**environment, "TERM": "xterm"},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.drawn = ""

    @staticmethod
    def _size(descriptor: int, rows: int, columns: int) -> None:
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows: int, columns: int) -> None:
        self.drawn = ""
        self._size(self._master, rows, columns)

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def wait_for(self, pattern: str) -> re.Match[str]:
        deadline = time.monotonic() + PATIENCE
        while (found := re.search(pattern, self.drawn)) is None:
            assert time.monotonic() < deadline, self.drawn
            if select.select([self._master], [], [], 0.2)[0]:
                self.drawn += os.read(self._master, 65536).decode()
        return found

    def wait_end(self) -> int:
        """The exit status; the modes of the terminal are as they were."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.drawn
            if select.select([self._master], [], [], 0.05)[0]:
                self.drawn += os.read(self._master, 65536).decode()
        while select.select([self._master], [], [], 0)[0]:
            self.drawn += os.read(self._master, 65536).decode()
        assert termios.tcgetattr(self._slave) == self.before
        return self.process.returncode

    def close(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self._slave)
        os.close(self._master)


@pytest.fixture
def terminal() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for each in opened:
        each.close()


@pytest.fixture
def busy(start_node: StartNode, topic: str) -> NodeProcess:
    """A node with a topic, and a group that has read none of its records."""
    node = start_node()
    create_topic(node.bootstrap, topic, 2)
    commit(node, topic, 0)
    with KafkaProducer(bootstrap_servers=node.bootstrap) as producer:
        for _ in range(100):
            producer.send(topic, b"x" * 100, partition=1)
    return node


def commit(node: NodeProcess, topic: str, offset: int, group: str = "g\x1b[31mred") -> None:
    """Its name would colour the terminal of whoever looks."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": node.bootstrap, "group.id": group})
    consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 1, offset)], asynchronous=False)
    consumer.close()


def test_the_rates_are_those_of_what_was_written_and_read(busy: NodeProcess, topic: str) -> None:
    command = [str(MOLDAU), "top", "--json", "--interval", "200ms", "-b", busy.bootstrap]
    came, read, size = 0.0, 0.0, 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = (json.loads(line) for line in process.stdout)
        next(lines)
        with KafkaProducer(bootstrap_servers=busy.bootstrap) as producer:
            for _ in range(50):
                producer.send(topic, b"x" * 1000, partition=0)
        commit(busy, topic, 70)
        told: dict[str, Any] = {}
        deadline = time.monotonic() + PATIENCE
        while round(came) < 50 or round(read) < 70 or size < 50_000:
            assert time.monotonic() < deadline
            told = next(lines)
            (row,) = (each for each in told["topics"] if each["name"] == topic)
            (group,) = told["groups"]
            came += row["records_in"] * told["seconds"]
            size += row["bytes_in"] * told["seconds"]
            read += group["records_out"] * told["seconds"]
        process.kill()
    assert round(came) == 50
    assert round(read) == 70
    assert 50_000 <= size < 60_000
    assert told["lag"] == 30
    assert told["groups"][0]["name"] == "g\x1b[31mred"
    assert told["brokers"][0]["leads"] >= 2


def test_plain_lines_where_there_is_no_terminal(busy: NodeProcess, topic: str) -> None:
    command = [str(MOLDAU), "top", "--count", "2", "--interval", "200ms", "--most", "1", "-b", busy.bootstrap]
    told = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    assert "\x1b" not in told
    assert told.count("broker 1 address=") == 2
    assert told.count("group g?[31mred state=Empty lag=100 read/s=0") == 2
    assert told.count("\ntopic ") == 2


def test_a_terminal_is_drawn_in_place_and_left_as_it_was(
    busy: NodeProcess, topic: str, terminal: list[Terminal]
) -> None:
    shown = Terminal("top", "--interval", "200ms", "-b", busy.bootstrap)
    terminal.append(shown)
    shown.wait_for(r"\x1b\[\?1049h")
    shown.wait_for(rf"{topic} +2 +0")
    shown.wait_for(r"g\?\[31mred +Empty +100")
    assert "\x1b[31mred" not in shown.drawn
    shown.resize(9, 40)
    shown.wait_for(r"\x1b\[J.*\x1b\[H")
    frame = shown.drawn.rsplit("\x1b[H", 2)[-2]
    plain = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", frame).split("\r\n")
    assert len(plain) <= 9
    assert max(map(len, plain)) <= 40
    shown.press(b"q")
    assert shown.wait_end() == 0
    assert shown.drawn.endswith("\x1b[?25h\x1b[?1049l")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGHUP, 0)])
def test_signals_leave_the_terminal_as_it_was(
    busy: NodeProcess, terminal: list[Terminal], number: signal.Signals, status: int
) -> None:
    shown = Terminal("top", "--interval", "200ms", "-b", busy.bootstrap)
    terminal.append(shown)
    shown.wait_for("moldau top")
    if number is signal.SIGINT:
        shown.press(b"\x03")
    else:
        shown.process.send_signal(number)
    assert shown.wait_end() == status
    assert shown.drawn.endswith("\x1b[?25h\x1b[?1049l")
    assert "Traceback" not in shown.drawn


def test_a_cluster_that_goes_away_is_told_and_comes_back(
    busy: NodeProcess, topic: str, terminal: list[Terminal]
) -> None:
    shown = Terminal("top", "--interval", "200ms", "-b", busy.bootstrap)
    terminal.append(shown)
    shown.wait_for(rf"{topic} +2 +0")
    busy.kill()
    shown.wait_for(r"\x1b\[31m[^\x1b]+")
    busy.restart()
    shown.drawn = ""
    shown.wait_for(rf"{topic} +2 +0")
    shown.press(b"q")
    assert shown.wait_end() == 0


def test_no_cluster_at_all(terminal: list[Terminal]) -> None:
    shown = Terminal("top", "-b", "127.0.0.1:1", "--timeout", "2s")
    terminal.append(shown)
    assert shown.wait_end() == 3
    assert re.search(r"1049l.*moldau: No broker answers at 127.0.0.1:1", shown.drawn, re.DOTALL)
