"""The command itself: help, statuses, and one sentence for everything that goes wrong."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress

import pytest
from moldau_command import RunMoldau

from moldau import __version__
from moldau.cli.main import COMMANDS, main


def nowhere() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def test_help_names_every_command_and_status(moldau: RunMoldau) -> None:
    bare, asked = moldau(), moldau("--help")
    assert (bare.returncode, asked.returncode) == (0, 0)
    assert bare.stdout == asked.stdout
    for name in COMMANDS:
        # A long name has its summary on the next line.
        assert f"\n    {name}".encode() in asked.stdout
    assert b"exit status:" in asked.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: moldau {command}" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["topics", "configs", "cluster", "log"])
def test_a_command_without_its_subcommand_shows_what_there_is(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command]) == 2
    assert "subcommands:" in capsys.readouterr().out


def test_version(moldau: RunMoldau) -> None:
    assert moldau("--version").stdout == f"moldau {__version__}\n".encode()
    assert moldau("version").stdout.startswith(f"moldau {__version__}\nCPython ".encode())
    facts = json.loads(moldau("version", "--json").stdout)
    assert facts["version"] == __version__
    assert isinstance(facts["compiled_kernels"], bool)
    assert json.loads(moldau("version", "--json", MOLDAU_PURE="1").stdout)["compiled_kernels"] is False


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["topics", "nonsense"],
        ["topics", "create"],
        ["topics", "create", "x", "--partitions", "0"],
        ["topics", "create", "x", "--config", "novalue"],
        ["topics", "list", "--timeout", "soon"],
        ["topics", "list", "--boot", "127.0.0.1:1"],
        ["produce", "x", "--acks", "2"],
        ["produce", "x", "--format", "xml"],
        ["produce", "x", "--key", "a", "--key-separator", "b"],
        ["consume", "x", "--from", "whenever"],
        ["consume", "x", "--follow", "--until", "end"],
        ["configs", "set", "a=b"],
        ["configs", "set", "--topic", "x", "nonsense"],
        ["log", "dump"],
    ],
)
def test_wrong_usage_is_one_sentence_and_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("moldau")
    assert said.endswith("--help`.\n")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics", "list"],
        ["topics", "create", "x"],
        ["configs", "describe", "--topic", "x"],
        ["cluster", "describe"],
        ["produce", "x"],
        ["consume", "x"],
    ],
)
def test_nobody_answers(arguments: list[str], moldau: RunMoldau) -> None:
    address = nowhere()
    result = moldau(*arguments, "--bootstrap", address)
    assert (result.returncode, result.stdout) == (3, b"")
    sentence = f"moldau: No broker answers at {address}: Connection refused. Start one with `moldau start`.\n"
    assert result.stderr.decode() == sentence


def test_an_address_that_is_none(moldau: RunMoldau) -> None:
    result = moldau("topics", "list", "--bootstrap", "here:there")
    assert result.returncode == 1
    assert result.stderr.count(b"\n") == 1
    assert b"'here:there' is not an address" in result.stderr


def test_a_fault_of_ours_is_still_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import moldau.cli.version as version

    monkeypatch.setattr(version, "_kernels", lambda: 1 // 0)
    assert main(["version"]) == 1
    assert capsys.readouterr().err == (
        "moldau: Unexpected ZeroDivisionError: integer division or modulo by zero (MOLDAU_TRACEBACK=1 shows where).\n"
    )
    monkeypatch.setenv("MOLDAU_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["version"])


def test_a_reader_that_has_seen_enough() -> None:
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "moldau", "configs", "list"], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    os.close(reader)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (141, b"")


def test_interrupted() -> None:
    """A broker that takes the connection and says nothing: Ctrl-C is the way out."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        process = subprocess.Popen(
            [sys.executable, "-m", "moldau", "topics", "list", "--bootstrap", address],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        guest, _ = silent.accept()
        guest.recv(10)
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=60)
        guest.close()
    assert (process.returncode, printed, said) == (130, b"", b"")


def test_only_what_a_command_needs_is_imported() -> None:
    """`moldau version` must not pay for the clients, nor `moldau start` for argument parsers of other commands."""
    script = "import sys; from moldau.cli.main import main; main(['version']); print(*sys.modules, sep='\\n')"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "moldau.cli.version" in loaded
    unwanted = (
        "moldau.client",
        "moldau.protocol",
        "moldau.config",
        "moldau.node",
        "moldau.cli.topics",
        "socket",
        "asyncio",
    )
    assert [name for name in loaded if name.startswith(unwanted)] == []


@pytest.mark.parametrize(
    ("says", "advice"),
    [(b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak Kafka's protocol"), (b"", "It may want TLS")],
)
def test_somebody_else_answers(says: bytes, advice: str, moldau: RunMoldau) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connected, _ = listening.accept()
                    with connected:
                        connected.recv(100)
                        connected.sendall(says)

        threading.Thread(target=serve, daemon=True).start()
        ended = moldau("topics", "list", "--bootstrap", f"127.0.0.1:{listening.getsockname()[1]}", "--timeout", "5s")
        listening.shutdown(socket.SHUT_RDWR)
    assert (ended.returncode, ended.stderr.count(b"\n")) == (3, 1)
    assert advice in ended.stderr.decode()


def test_a_host_that_nobody_knows(moldau: RunMoldau) -> None:
    ended = moldau("topics", "list", "--bootstrap", "no.such.host.invalid:9092")
    assert (ended.returncode, ended.stderr.count(b"\n")) == (3, 1)
    assert b"no.such.host.invalid:9092: " in ended.stderr
    assert b"Is the name right?" in ended.stderr


def test_names_of_settings_may_have_hyphens_and_their_values_are_not_shown() -> None:
    from argparse import ArgumentTypeError

    from moldau.cli.arguments import key_value
    from moldau.cli.config_changes import parse_change

    name = "listener.name.inside.scram-sha-512.sasl.jaas.config"
    assert parse_change(f'{name}=Module required password="a=b";') == (name, "SET", 'Module required password="a=b";')
    assert parse_change("listeners-=A") == ("listeners", "SUBTRACT", "A")
    assert parse_change("listeners -=A") == ("listeners", "SUBTRACT", "A")
    assert parse_change("listeners+=A") == ("listeners", "APPEND", "A")
    for parse, text in ((parse_change, "ssl key password=vltava"), (parse_change, "=vltava"), (key_value, " =vltava")):
        with pytest.raises(ArgumentTypeError) as caught:
            parse(text)
        assert "vltava" not in str(caught.value)
