"""The commands and a broker that lets nobody in without SCRAM."""

from __future__ import annotations

import pytest
from scram_broker import ScramBroker, broker_with

from moldau.cli.main import main

WHO = ("--security-protocol", "SASL_PLAINTEXT", "--sasl-mechanism", "SCRAM-SHA-512", "--username", "jan")


def test_a_command_proves_who_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    scram = ScramBroker(b"the secret")
    with broker_with(scram) as peer:
        words = ["topics", "list", "-b", str(peer.address), "--timeout", "20s", *WHO]
        monkeypatch.setenv("MOLDAU_PASSWORD", "the secret")
        assert main(words) == 0
        assert scram.sessions == 1
        capsys.readouterr()
        monkeypatch.setenv("MOLDAU_PASSWORD", "another")
        assert main(words) == 1
        assert scram.sessions == 1
    assert capsys.readouterr().err == "moldau: wrong password.\n"
