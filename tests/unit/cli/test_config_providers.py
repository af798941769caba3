"""Passwords that stand in another file, a directory of files or the environment, as Kafka's files name them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from moldau.cli.config_providers import Providers, resolved
from moldau.cli.failure import USAGE, Failure
from moldau.cli.start import read_properties
from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError

PACKAGE = "org.apache.kafka.common.config.provider."
SECRET = "a ${b} = secret"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "secrets.properties").write_text(f"key.password={SECRET}\n")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "password").write_text(SECRET)
    monkeypatch.setenv("THE_SECRET", SECRET)
    return tmp_path


@pytest.mark.parametrize(
    ("provider", "kind", "reference"),
    [
        ("file", "FileConfigProvider", "${file:HERE/secrets.properties:key.password}"),
        ("dir", "DirectoryConfigProvider", "${dir:HERE/files:password}"),
        ("directory", "DirectoryConfigProvider", "${directory:HERE/files:password}"),
        ("env", "EnvVarConfigProvider", "${env:THE_SECRET}"),
        ("vault", "FileConfigProvider", "${vault:HERE/secrets.properties:key.password}"),
    ],
)
def test_a_value_is_taken_from_where_it_is(kept: Path, provider: str, kind: str, reference: str) -> None:
    given = {
        "config.providers": f"other, {provider}",
        "config.providers.other.class": f"{PACKAGE}EnvVarConfigProvider",
        f"config.providers.{provider}.class": PACKAGE + kind,
        "ssl.key.password": "<" + reference.replace("HERE", str(kept)) + ">",
        "node.id": "1",
    }
    assert resolved(given, "f") == {"ssl.key.password": f"<{SECRET}>", "node.id": "1"}
    if provider != "vault":
        del given[f"config.providers.{provider}.class"]
        assert resolved(given, "f") == {"ssl.key.password": f"<{SECRET}>", "node.id": "1"}


def test_several_in_one_value(kept: Path) -> None:
    given = {"config.providers": "env", "a": "${env:THE_SECRET}, ${env:THE_SECRET} and ${file:x:y}"}
    assert resolved(given, "f") == {"a": f"{SECRET}, {SECRET} and ${{file:x:y}}"}


def test_without_providers_everything_stays_as_it_is(kept: Path) -> None:
    given = {"a": "${env:THE_SECRET}"}
    assert resolved(given, "f") == given


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"config.providers": "vault", "a": "1"}, r"f: config\.providers\.vault\.class must be one of .*FileConfig"),
        ({"config.providers": "env", "a": "${env:NO_SUCH}"}, "f: a names NO_SUCH, which is not in the environment"),
        (
            {
                "config.providers": "env",
                "config.providers.env.param.allowlist.pattern": "MOLDAU_.*",
                "a": "${env:THE_SECRET}",
            },
            "not among what may be taken",
        ),
        ({"config.providers": "file", "a": "${file:/no/such:b}"}, "/no/such, which cannot be read: No such file"),
        ({"config.providers": "file", "a": "${file:HERE/secrets.properties:b}"}, "there is no such property"),
        ({"config.providers": "dir", "a": "${dir:HERE/files:../secrets.properties}"}, "it must be a file there"),
        (
            {
                "config.providers": "file",
                "config.providers.file.param.allowed.paths": "HERE/files",
                "a": "${file:HERE/files/../secrets.properties:key.password}",
            },
            "not below what allowed.paths says",
        ),
    ],
)
def test_what_is_not_to_be_had(kept: Path, given: dict[str, str], said: str) -> None:
    there = {name: value.replace("HERE", str(kept)) for name, value in given.items()}
    with pytest.raises(Failure) as caught:
        resolved(there, "f")
    assert caught.value.status == USAGE
    assert re.search(said, str(caught.value))
    assert SECRET not in str(caught.value)


def test_a_file_of_a_node_refers_to_others(kept: Path) -> None:
    file = kept / "server.properties"
    file.write_text("config.providers=env\nsuper.users=${env:THE_SECRET}\n")
    assert read_properties(str(file)) == {"super.users": SECRET}


def test_nobody_waits_for_a_pipe(kept: Path) -> None:
    os.mkfifo(kept / "pipe")
    given = {"config.providers": "file,dir", "a": f"${{file:{kept / 'pipe'}:a}}", "b": f"${{dir:{kept}:pipe}}"}
    for name in "ab":
        with pytest.raises(Failure, match="is no file"):
            resolved({"config.providers": "file,dir", name: given[name]}, "here")


def test_a_secret_is_not_as_large_as_a_disk(kept: Path) -> None:
    with (kept / "large").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(Failure, match="more than 1048576 bytes"):
        resolved({"config.providers": "dir", "a": f"${{dir:{kept}:large}}"}, "here")


def test_dynamic_settings_are_taken_by_the_providers_of_the_file(kept: Path) -> None:
    (kept / "server.properties").write_text("config.providers=file\n")
    (kept / "numbers.properties").write_text("hours=7\n")
    providers = Providers.of_node(str(kept / "server.properties"), environment=False)
    config = BrokerConfig.parse({"log.retention.hours": "5"}, providers)
    reference = f"${{file:{kept}/numbers.properties:hours}}"
    changed = config.with_dynamic({"log.cleaner.threads": reference}, {})
    assert changed.log_cleaner_threads == 7
    assert changed.with_dynamic({"log.cleaner.threads": reference}, {}).log_cleaner_threads == 7
    with pytest.raises(ConfigError, match="there is no such property"):
        config.with_dynamic({"log.cleaner.threads": reference.replace("hours", "days")}, {})
    assert BrokerConfig.parse({}).with_stored({"log.cleaner.threads": reference}, {})[1] != []
    assert Providers.of_node(None, environment=False) is None
    assert providers is not None
    assert [providers.is_one(text) for text in (reference, f"x{reference}", "${env:A}", "plain")] == [True] + [
        False
    ] * 3
