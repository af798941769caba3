"""`moldau configs set` with values from files and standard input: secrets do not stand on a command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from node_process import MOLDAU

from moldau import KafkaAdminClient
from moldau.admin import NewTopic


def configs_set(bootstrap: str, *words: str, given: str = "") -> tuple[int, str, str]:
    command = [str(MOLDAU), "configs", "set", *words, "-b", bootstrap]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def made(bootstrap: str, topic: str) -> str:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 1, 1)])
    return topic


def settings(bootstrap: str, topic: str) -> dict[str, str]:
    command = [str(MOLDAU), "configs", "describe", "--topic", topic, "--json", "-b", bootstrap]
    described = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
    return {each["name"]: each["value"] for each in described if each["source"] == "TOPIC"}


def test_a_file_of_properties(bootstrap: str, made: str, tmp_path: Path) -> None:
    file = tmp_path / "rivers.properties"
    file.write_text("# of rivers\nretention.ms = 1000\ncleanup.policy=compact,\\\n  delete\n")
    status, said, _ = configs_set(bootstrap, "--topic", made, "--file", str(file), "segment.ms=2000")
    assert (status, said.count("=")) == (0, 3)
    assert settings(bootstrap, made) == {
        "retention.ms": "1000",
        "cleanup.policy": "compact,delete",
        "segment.ms": "2000",
    }


def test_standard_input(bootstrap: str, made: str) -> None:
    assert configs_set(bootstrap, "--topic", made, "--file", "-", given="retention.ms=1000\n")[0] == 0
    assert configs_set(bootstrap, "--topic", made, "--value-file", "segment.ms=-", given="2000\r\n")[0] == 0
    assert settings(bootstrap, made) == {"retention.ms": "1000", "segment.ms": "2000"}


def test_the_value_is_the_file(bootstrap: str, made: str, tmp_path: Path) -> None:
    for name, text in (("a", "5000\n"), ("b", "6000")):
        (tmp_path / name).write_text(text)
    words = ("--value-file", f"retention.ms={tmp_path / 'a'}", "--value-file", f"segment.ms={tmp_path / 'b'}")
    assert configs_set(bootstrap, "--topic", made, *words)[0] == 0
    assert settings(bootstrap, made) == {"retention.ms": "5000", "segment.ms": "6000"}


@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        (["--broker", "1", "ssl.key.password=deep"], 2, "ssl.key.password belongs into --file or --value-file."),
        (
            ["--broker", "1", "listener.name.tls.ssl.keystore.key=deep"],
            2,
            "Everybody can read the command line: listener.name.tls.ssl.keystore.key belongs",
        ),
        (["--topic", "t"], 2, "Give NAME=VALUE, --file or --value-file."),
        (["--topic", "t", "--file", "-", "--value-file", "a=-"], 2, "Standard input can be read only once."),
        (["--topic", "t", "--file", "/nowhere"], 1, "/nowhere: No such file or directory."),
        (["--topic", "t", "--value-file", "deep"], 2, "'deep' is not of the form NAME=VALUE"),
        (["--topic", "t", "--file", "-"], 2, "- is no file of properties."),
    ],
)
def test_what_is_refused(bootstrap: str, words: list[str], status: int, expected: str) -> None:
    ended, _, said = configs_set(bootstrap, *words, given="secret=\\uzzzz\n")
    assert (ended, expected in said) == (status, True), said
    assert "\\uzzzz" not in said
    assert said.count("deep") == words.count("deep")


def test_bytes_that_are_no_text(bootstrap: str, tmp_path: Path) -> None:
    (tmp_path / "key.der").write_bytes(b"\x30\x82\xff")
    ended, _, said = configs_set(bootstrap, "--topic", "t", "--value-file", f"a={tmp_path / 'key.der'}")
    assert (ended, "is not text in UTF-8." in said) == (2, True)
