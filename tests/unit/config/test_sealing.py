"""Secrets that are set while a broker runs, as they are written down."""

from __future__ import annotations

import hashlib

import pytest

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError, Password
from moldau.config.sealing import RANDOM_BYTES, is_sealed, seal, unseal

NAME = "listener.name.ssl.ssl.key.password"
KEY, OTHER = Password("of this broker"), Password("of another one")
BROKER = "cluster 1"
CHANCE = bytes(range(RANDOM_BYTES))


@pytest.mark.parametrize("text", ["vltava", "", "Řeka\nand more " * 1000, "sealed:AES-GCM:"])
def test_what_is_sealed_is_opened_again(text):
    sealed = seal(NAME, text, KEY, BROKER, CHANCE)
    assert is_sealed(sealed)
    assert not text or text not in sealed.removeprefix("sealed:AES-GCM:")
    assert unseal(NAME, sealed, KEY) == text
    assert unseal(NAME, sealed, OTHER, KEY) == text, "the secret before this one"
    assert seal(NAME, text, KEY, BROKER, CHANCE[::-1]) != sealed


def test_a_sealed_text_is_of_use_to_nobody_else():
    sealed = seal(NAME, "vltava", KEY, BROKER, CHANCE)
    for name, secrets in ((NAME, (OTHER,)), ("listener.name.ssl.ssl.keystore.password", (KEY,)), (NAME, (None, None))):
        with pytest.raises(ConfigError) as caught:
            unseal(name, sealed, *secrets)
        assert name in str(caught.value)
        assert "vltava" not in str(caught.value)
    middle = len(sealed) - 10
    changed = sealed[:middle] + ("A" if sealed[middle] != "A" else "B") + sealed[middle + 1 :]
    for broken in (changed, sealed[:40], "sealed:AES-GCM:", "sealed:AES-GCM:!", "sealed:AES-GCM:ř"):
        with pytest.raises(ConfigError, match=r"is not the one"):
            unseal(NAME, broken, KEY)


def test_without_a_key_nothing_is_sealed_and_what_is_plain_stays():
    with pytest.raises(ConfigError, match=r"password\.encoder\.secret") as caught:
        seal(NAME, "vltava", None, BROKER, CHANCE)
    assert "vltava" not in str(caught.value)
    # Apache Kafka's nodes write it down like that.
    assert unseal(NAME, "vltava", None) == "vltava"


def test_a_broker_makes_its_key_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    pbkdf2 = hashlib.pbkdf2_hmac
    monkeypatch.setattr(hashlib, "pbkdf2_hmac", lambda *given: made.append(given) or pbkdf2(*given))
    secret = Password("used in this test only")
    sealed = {f"{NAME}.{number}": seal(f"{NAME}.{number}", "vltava", secret, BROKER, CHANCE) for number in range(10)}
    assert {unseal(name, text, secret) for name, text in sealed.items()} == {"vltava"}
    assert len(made) == 1
    seal(NAME, "vltava", secret, "cluster 2", CHANCE)
    assert len(made) == 2, "what one broker has sealed tells nothing of the key of another"


def test_a_node_reads_what_is_stored_for_it():
    file = BrokerConfig.parse({"password.encoder.secret": OTHER.value, "password.encoder.old.secret": KEY.value})
    setting = BrokerConfig.ssl_key_password
    config = file.with_dynamic({}, {NAME: seal(NAME, "vltava", KEY, BROKER, CHANCE)})
    assert config.for_listener(setting, "ssl") == Password("vltava")
    assert "vltava" not in str(config.originals)
    lost, remarks = BrokerConfig.parse({}).with_stored(
        {}, {NAME: seal(NAME, "vltava", KEY, BROKER, CHANCE), "log.cleaner.threads": "3"}
    )
    assert lost.for_listener(setting, "ssl") is None
    assert lost.log_cleaner_threads == 3, "the others count"
    (remark,) = remarks
    assert remark.startswith(f"{NAME} is not taken over: ")
