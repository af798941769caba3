"""A JVM and a session: what a user gets before the first query."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from moldau.spark import java


def test_a_session_runs_python_code_on_this_interpreter(spark: Any) -> None:
    seen = spark.range(4).rdd.map(lambda _: __import__("sys").executable).distinct().collect()
    assert seen == [__import__("sys").executable]
    found = spark.range(4).rdd.map(lambda _: __import__("pyspark").__file__).distinct().collect()
    assert found == [__import__("pyspark").__file__]  # and not the archive, where nothing is compiled


def test_times_are_utc(spark: Any) -> None:
    assert spark.sql("select cast(timestamp '1970-01-01 00:00:01' as long)").first()[0] == 1


def test_java_home_is_used_if_it_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = _fake_java(tmp_path, 'openjdk version "21.0.2" 2024-01-16')
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.prepare_java() == str(home)


def test_an_old_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = _fake_java(tmp_path, 'java version "1.8.0_392"')
    assert java.java_version(str(old / "bin" / "java")) == 8
    monkeypatch.setenv("JAVA_HOME", str(old))
    assert java.prepare_java() != str(old)


def test_a_machine_that_does_not_know_its_own_name_is_called_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> str:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.delenv("SPARK_LOCAL_HOSTNAME", raising=False)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.2")
    monkeypatch.setattr(socket, "gethostbyname", nowhere)
    java.prepare_java()
    assert os.environ["SPARK_LOCAL_IP"] == "127.0.0.2"
    monkeypatch.delenv("SPARK_LOCAL_IP")
    java.prepare_java()
    assert os.environ.pop("SPARK_LOCAL_IP") == "127.0.0.1"
    monkeypatch.setattr(socket, "gethostbyname", lambda name: "127.0.1.1")
    java.prepare_java()
    assert "SPARK_LOCAL_IP" not in os.environ


def test_without_java_the_packaged_one_starts_as_spark_starts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("JAVA_HOME", "")
    home = java.prepare_java()
    assert os.environ["JAVA_HOME"] == home
    assert home.startswith(str(tmp_path))
    started = subprocess.run(
        [
            f"{home}/bin/java",
            "--add-modules=jdk.incubator.vector",
            "-Dquoted=a b",
            "-XshowSettings:properties",
            "-version",
        ],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert started.returncode == 0, started.stderr
    assert "quoted = a b" in started.stderr


def _fake_java(directory: Path, version: str) -> Path:
    executable = directory / "bin" / "java"
    executable.parent.mkdir()
    executable.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    return directory
