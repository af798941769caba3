"""TLS and SASL by the names of Java's clients: what they become, what is refused, and that passwords stay untold."""

from __future__ import annotations

import pickle
import ssl
from pathlib import Path
from typing import Any

import pytest

from certificates import Certificates
from moldau.links.addresses import Address
from moldau.spark.connection import open_cluster
from moldau.spark.options import OptionError, Options, Use
from moldau.spark.security import SecurityOptions, security_options
from moldau.spark.sink.options import sink_options
from moldau.spark.source.settings import stream_settings

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
THERE = Address("127.0.0.1", 9092)
SECRET = "s3cret;=word"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def tls(**given: str) -> dict[str, str]:
    return {"security.protocol": "SSL", **{f"ssl.{name.replace('_', '.')}": text for name, text in given.items()}}


def sasl(line: str, mechanism: str = "PLAIN") -> dict[str, str]:
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": line}


def context(given: dict[str, str]) -> ssl.SSLContext:
    """As in another process: what travels is what was read."""
    made = pickle.loads(pickle.dumps(security_options(given))).open().context
    assert made is not None
    return made


def refusal(given: dict[str, str]) -> str:
    with pytest.raises(OptionError) as caught:
        security_options(given).open()
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_without_options_connections_are_open() -> None:
    made = security_options({"bootstrap.servers": "x:1"}).open()
    assert made.context is None
    assert made.mechanism is None


# -------------------------------------------------------------------------------------------------------------- SASL


@pytest.mark.parametrize(
    "line",
    [
        f'{PLAIN} required username="moldau" password="{SECRET}";',
        f"  kafkashaded.{PLAIN}\n  REQUIRED\n  password = '{SECRET}'\n  username=moldau ;\n",
        f'/* who */ {PLAIN} required username="m\\157ldau" // name\n password="s3cret\\;\\=word";',
    ],
)
def test_name_and_password_are_found(line: str) -> None:
    made = security_options(sasl(line, "plain")).open()
    assert made.mechanism is not None
    assert made.mechanism(THERE).first() == f"\0moldau\0{SECRET}".encode()


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_has_a_login_module_of_its_own(mechanism: str) -> None:
    made = security_options(sasl(f'{SCRAM} required username="a" password="\\"\\\\";', mechanism))
    assert made.settings["sasl_plain_password"] == '"\\'
    authentication = made.open().mechanism
    assert authentication is not None
    assert authentication(THERE).name == mechanism
    assert made.client()["sasl_mechanism"] == mechanism


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f'{PLAIN} required username="a" password="{SECRET}"', "end with a semicolon"),
        (f'{PLAIN} required username="a" password="{SECRET}"; {PLAIN} required;', "one login module"),
        (f'{PLAIN} username="a" password="{SECRET}";', "the word required"),
        (f'{PLAIN} required username="a" password "{SECRET}";', 'name="value"'),
        (f'{PLAIN} required username="a" password=;', 'name="value"'),
        (f'{PLAIN} required username="a" password="{SECRET};', "has no end"),
        (f'{PLAIN} required password="{SECRET}";', "username and password"),
        (f'{PLAIN} required username="a";', "username and password"),
        (f'{PLAIN} required username="a" password="b" {SECRET.replace("=", "").replace(";", "")}="c";', "nothing else"),
        (f'{SCRAM} required username="a" password="{SECRET}";', "does not belong to"),
        (f'com.sun.security.auth.module.Krb5LoginModule required keyTab="{SECRET}";', "PlainLoginModule or Scram"),
        (f'evil.{PLAIN} required username="a" password="{SECRET}";', "PlainLoginModule or Scram"),
        ("", "one login module"),
        (";", "the word required"),
    ],
)
def test_other_lines_are_refused_without_repeating_them(line: str, sentence: str) -> None:
    said = refusal(sasl(line))
    assert sentence in said
    assert said.startswith("The option kafka.sasl.jaas.config cannot be used: ")
    assert "s3cret" not in said


def test_delegation_tokens_are_for_scram() -> None:
    line = '{} required username="a" password="b" tokenauth="true";'
    assert security_options(sasl(line.format(SCRAM), "SCRAM-SHA-256")).settings["sasl_by_token"] is True
    assert "tokenauth" in refusal(sasl(line.format(PLAIN)))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"security.protocol": "TLS"}, "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"sasl.mechanism": "PLAIN"}, "no effect with kafka.security.protocol PLAINTEXT; SASL_SSL or"),
        ({"security.protocol": "SSL", "sasl.jaas.config": SECRET}, "no effect with kafka.security.protocol SSL"),
        ({"ssl.key.password": SECRET}, "no effect with kafka.security.protocol PLAINTEXT; SSL or"),
        ({"security.protocol": "SASL_SSL"}, "kafka.sasl.mechanism is missing"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM"}, "PLAIN, SCRAM-SHA-256"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "kafka.sasl.jaas.config is missing"),
    ],
)
def test_protocol_and_settings_have_to_agree(given: dict[str, str], sentence: str) -> None:
    said = refusal(given)
    assert sentence in said
    assert SECRET not in said


# --------------------------------------------------------------------------------------------------------------- TLS


def test_authorities_from_a_file_and_from_text(certificates: Certificates) -> None:
    of_file = context(tls(truststore_type="PEM", truststore_location=str(certificates.ca)))
    text = certificates.ca.read_text() + certificates.stranger.read_text()
    on_one_line = " ".join(text.split("\n"))
    of_text = context(tls(truststore_type="pem", truststore_certificates=f"authorities {on_one_line}"))
    assert of_file.verify_mode is of_text.verify_mode is ssl.CERT_REQUIRED
    assert [each["subject"] for each in of_file.get_ca_certs()] == [((("commonName", "ca"),),)]
    assert len(of_text.get_ca_certs()) == 2


def test_host_names_are_checked_unless_the_algorithm_is_empty() -> None:
    assert context(tls()).check_hostname
    assert context({**tls(), "ssl.endpoint.identification.algorithm": "HTTPS"}).check_hostname
    unchecked = context({**tls(), "ssl.endpoint.identification.algorithm": ""})
    assert not unchecked.check_hostname
    assert unchecked.verify_mode is ssl.CERT_REQUIRED
    assert "https, or empty" in refusal({**tls(), "ssl.endpoint.identification.algorithm": "ldaps"})


def identity(certificates: Certificates, **more: str) -> dict[str, str]:
    return tls(
        keystore_type="PEM",
        keystore_certificate_chain=certificates.client.read_text(),
        keystore_key=certificates.client_key.read_text(),
        **more,
    )


def test_own_certificate_from_a_file_and_from_text(certificates: Certificates, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_text(certificates.client_key.read_text() + certificates.client.read_text())
    context(tls(keystore_type="PEM", keystore_location=str(both), key_password=certificates.password))
    context(identity(certificates, key_password=certificates.password))


def test_wrong_passwords_are_not_told(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for wrong in ({"key_password": SECRET}, {}):
        said = refusal(identity(certificates, **wrong))
        assert "the text of kafka.ssl.keystore.key" in said
        assert SECRET not in said
        assert str(tmp_path) not in said
    assert list(tmp_path.iterdir()) == []  # the key does not stay behind


@pytest.mark.parametrize("store", ["truststore", "keystore"])
@pytest.mark.parametrize("kind", [None, "JKS", "PKCS12"])
def test_stores_of_java_are_refused_with_the_way_to_pem(store: str, kind: str | None) -> None:
    given = {**tls(), f"ssl.{store}.location": "a.jks", f"ssl.{store}.password": SECRET}
    said = refusal(given if kind is None else {**given, f"ssl.{store}.type": kind})
    assert all(word in said for word in ("keytool", "openssl", f"kafka.ssl.{store}.type=PEM"))
    assert SECRET not in said


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"truststore_type": "PEM"}, "kafka.ssl.truststore.location is missing"),
        ({"truststore_type": "PEM", "truststore_location": " "}, "it is empty"),
        ({"truststore_type": "PEM", "truststore_location": "/no/such.pem"}, "/no/such.pem"),
        ({"truststore_type": "PEM", "truststore_location": "a", "truststore_certificates": "b"}, "one of them"),
        ({"truststore_type": "PEM", "truststore_location": "a", "truststore_password": SECRET}, "has none"),
        ({"truststore_type": "PEM", "truststore_certificates": "ca.pem"}, "not the name of a file"),
        ({"keystore_type": "PEM", "keystore_key": SECRET}, "kafka.ssl.keystore.certificate.chain is missing"),
        ({"keystore_type": "PEM", "keystore_certificate_chain": "a"}, "kafka.ssl.keystore.key is missing"),
        ({"keystore_type": "PEM", "keystore_location": "a", "keystore_password": SECRET}, "kafka.ssl.key.password"),
        ({"key_password": SECRET}, "no key to unlock"),
        ({"enabled_protocols": "TLSv1.1"}, "TLSv1.2, TLSv1.3"),
        ({"cipher_suites": "TLS_AES_128_GCM_SHA256"}, "name all"),
        ({"cipher_suites": "RC4"}, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
        (
            {"cipher_suites": "TLS_RSA_WITH_AES_128_CBC_SHA", "enabled_protocols": "TLSv1.3"},
            "no suite is left",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, str], sentence: str) -> None:
    said = refusal(tls(**given))
    assert sentence in said
    assert SECRET not in said


def test_versions_and_ciphers_are_kept_to() -> None:
    assert context(tls(enabled_protocols="TLSv1.3")).minimum_version is ssl.TLSVersion.TLSv1_3
    assert context(tls(enabled_protocols="TLSv1.1, TLSv1.2")).maximum_version is ssl.TLSVersion.TLSv1_2
    suites = {
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
        "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256": "DHE-RSA-AES128-GCM-SHA256",
        "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384": "ECDHE-RSA-AES256-SHA384",
    }
    old = context(tls(cipher_suites=",".join(suites)))
    assert old.maximum_version is ssl.TLSVersion.TLSv1_2
    named = {each["name"] for each in old.get_ciphers() if each["protocol"] != "TLSv1.3"}
    assert named == set(suites.values())
    new = context(tls(cipher_suites="TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256"))
    assert new.minimum_version is ssl.TLSVersion.TLSv1_3


# ------------------------------------------------------------------------------------------------- source and sink


def secured(**more: Any) -> dict[str, str]:
    line = f'{SCRAM} required username="moldau" password="{SECRET}";'
    return {
        "kafka.bootstrap.servers": "x:1",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": line,
        "kafka.ssl.protocol": "TLSv1.3",
        **more,
    }


def test_source_carries_it_to_its_workers() -> None:
    settings = pickle.loads(pickle.dumps(stream_settings(secured(subscribe="rivers"))))
    with open_cluster(settings.options) as cluster:
        assert cluster.security.context is not None
        assert cluster.security.mechanism is not None
    assert SECRET not in repr(settings)


def test_sink_carries_it_to_its_tasks() -> None:
    options = pickle.loads(pickle.dumps(sink_options(secured(delivery="exactly-once"), Use.STREAM_WRITE)))
    client = options.security.client()
    assert isinstance(client.pop("ssl_context"), ssl.SSLContext)
    assert client == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "moldau",
        "sasl_plain_password": SECRET,
    }
    assert SECRET not in repr(options)


def test_both_say_at_once_what_is_wrong() -> None:
    wrong = {"kafka.sasl.mechanism": "SCRAM"}
    with pytest.raises(OptionError, match="SCRAM-SHA-256"):
        stream_settings(secured(subscribe="rivers", **wrong))
    with pytest.raises(OptionError, match="SCRAM-SHA-256"):
        sink_options(secured(**wrong), Use.BATCH_WRITE)
    missing = {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.location": "/no/such.pem"}
    with pytest.raises(OptionError, match=r"/no/such\.pem"):
        sink_options(secured(**missing), Use.BATCH_WRITE)


def test_names_without_case_and_values_with() -> None:
    given = {name.upper(): value for name, value in secured().items()}
    read: SecurityOptions = security_options(Options(given, Use.BATCH_WRITE).kafka)
    assert read.settings["sasl_plain_password"] == SECRET
