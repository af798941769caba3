"""Settings from the environment: the names of Apache Kafka's image."""

from __future__ import annotations

from pathlib import Path

import pytest
from moldau_command import RunMoldau

from moldau.cli.environment_settings import cluster_id, environment_settings


def test_names() -> None:
    assert environment_settings(
        {
            "KAFKA_NODE_ID": "1",
            "KAFKA_LISTENER_NAME_INSIDE_SASL_ENABLED_MECHANISMS": "PLAIN",
            "KAFKA_LISTENER_NAME_IN__SIDE_SSL_KEY_PASSWORD": "secret",
            "KAFKA_LISTENER_NAME_SASL__SSL_SCRAM___SHA___256_SASL_JAAS_CONFIG": "two\nlines",
            "PATH": "/bin",
            "MY_KAFKA_NODE_ID": "2",
        }
    ) == {
        "node.id": "1",
        "listener.name.inside.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.in_side.ssl.key.password": "secret",
        "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": "two\nlines",
    }


def test_what_is_for_java_is_left_out() -> None:
    assert environment_settings({"KAFKA_HEAP_OPTS": "-Xmx1g", "KAFKA_OPTS": "", "KAFKA_LOG4J_LOGGERS": "a=INFO"}) == {}
    assert environment_settings({"KAFKA_": "x"}) == {}


@pytest.mark.parametrize(("said", "found"), [({}, None), ({"CLUSTER_ID": " "}, None), ({"CLUSTER_ID": " a\n"}, "a")])
def test_the_cluster(said: dict[str, str], found: str | None) -> None:
    assert cluster_id(said) == found


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(f"log.dirs={tmp_path / 'never'}\nnum.partitions=zero\n")
    return path


def test_they_stand_above_the_file_and_below_the_options(
    moldau: RunMoldau, properties: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the three is wrong, and the one that counts is named."""
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "one")
    for arguments, named in (
        ([], b"zero"),
        (["--env"], b"one"),
        (["--env", "--set", "num.partitions=two"], b"two"),
    ):
        result = moldau("start", str(properties), *arguments)
        assert result.returncode == 1
        assert named in result.stderr
    assert not (properties.parent / "never").exists()


def test_one_directory_of_the_environment_replaces_those_of_the_file(
    moldau: RunMoldau, properties: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    occupied = tmp_path / "occupied"
    occupied.write_text("")
    monkeypatch.setenv("KAFKA_LOG_DIR", str(occupied))
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "1")
    result = moldau("start", str(properties), "--env", "--listen", "127.0.0.1:0")
    assert result.returncode == 1
    assert str(occupied).encode() in result.stderr


def test_they_may_say_where_a_value_is(moldau: RunMoldau, properties: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = properties.with_name("secrets")
    secrets.write_text("partitions=many\n")
    monkeypatch.setenv("KAFKA_CONFIG_PROVIDERS", "file")
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", f"${{file:{secrets}:partitions}}")
    assert b"many" in moldau("start", str(properties), "--env").stderr


def test_a_variable_that_is_no_setting(moldau: RunMoldau, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_NUM_PARTITONS", "3")
    result = moldau("start", "--env")
    assert result.returncode == 1
    assert b"num.partitons" in result.stderr


def test_a_value_that_is_no_text(moldau: RunMoldau, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_BROKER_RACK", "\udcff")
    result = moldau("start", "--env", "--data", "/nowhere")
    assert result.returncode == 2
    assert result.stderr == b"moldau: The value of KAFKA_BROKER_RACK is not text in UTF-8.\n"


def test_not_for_many_nodes(moldau: RunMoldau) -> None:
    result = moldau("start", "--env", "--nodes", "2")
    assert result.returncode == 2
    assert b"--env" in result.stderr
