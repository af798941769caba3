"""How commands are told whom to trust and who they are: file, options, environment; and what is refused."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import pytest
from moldau_command import RunMoldau

from certificates import Certificates
from moldau.cli.connection import add_connection, client_properties
from moldau.cli.failure import USAGE, Failure
from moldau.client.properties import in_java, security_options
from moldau.links.addresses import Address

THERE = Address("127.0.0.1", 9092)
SECRET = 'a "quoted" \\ word; with=signs'


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOLDAU_BOOTSTRAP", "MOLDAU_CONFIG", "MOLDAU_PROFILE", "MOLDAU_PASSWORD", "MOLDAU_KEY_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


def parsed(*words: str) -> Namespace:
    parser = ArgumentParser()
    add_connection(parser)
    return parser.parse_args(words)


def refusal(*words: str) -> str:
    with pytest.raises(Failure) as caught:
        client_properties(parsed(*words))
    assert caught.value.status == USAGE
    return str(caught.value)


def mechanism(*words: str) -> Any:
    _, security = client_properties(parsed(*words))
    assert security.mechanism is not None
    return security.mechanism(THERE)


def told(made: Any) -> tuple[str, str]:
    """Name and password, as PLAIN says them."""
    assert made.name == "PLAIN"
    _, username, password = made.first().decode().split("\0")
    return username, password


PLAIN = ("--security-protocol", "sasl_plaintext", "--sasl-mechanism", "plain", "--username", "jan")
LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required \\\n username="jan" password="x";'


def test_nothing_said_is_a_broker_on_this_machine_and_no_security() -> None:
    properties, security = client_properties(parsed())
    assert properties == {"bootstrap.servers": "127.0.0.1:9092"}
    assert (security.context, security.mechanism) == (None, None)


def test_the_password_is_in_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "password"
    file.write_text(f"{SECRET}\nand a remark\n")
    assert told(mechanism(*PLAIN, "--password-file", str(file))) == ("jan", SECRET)
    monkeypatch.setenv("MOLDAU_PASSWORD", "from outside")
    assert told(mechanism(*PLAIN)) == ("jan", "from outside")
    assert told(mechanism(*PLAIN, "--password-file", str(file)))[1] == SECRET


@pytest.mark.parametrize(("held", "said"), [(b"", "is empty"), (b"\nx\n", "is empty"), (b"caf\xe9\n", "UTF-8")])
def test_a_file_that_holds_no_password(tmp_path: Path, held: bytes, said: str) -> None:
    file = tmp_path / "password"
    file.write_bytes(held)
    sentence = refusal(*PLAIN, "--password-file", str(file))
    assert str(file) in sentence
    assert said in sentence
    assert "0xe9" not in sentence


def test_without_a_password_or_a_terminal_there_is_a_sentence() -> None:
    assert "MOLDAU_PASSWORD" in refusal(*PLAIN)


@pytest.mark.parametrize(
    "lines",
    [
        f"sasl.jaas.config={LOGIN}",
        "sasl.username=jan\nsasl.password=x",
    ],
)
def test_the_file_of_kafkas_tools(tmp_path: Path, lines: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "client.properties"
    head = "# for everybody\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism: PLAIN\nretries=5\n"
    file.write_text(f"{head}bootstrap.servers=127.0.0.1:1,127.0.0.1:2\n{lines}\n")
    assert told(mechanism("--config", str(file))) == ("jan", "x")
    properties, _ = client_properties(parsed("--config", str(file)))
    assert properties["bootstrap.servers"] == "127.0.0.1:1,127.0.0.1:2"
    monkeypatch.setenv("MOLDAU_CONFIG", str(file))
    properties, _ = client_properties(parsed("-b", "127.0.0.1:3"))
    assert properties["bootstrap.servers"] == "127.0.0.1:3"
    # Options go before the file, and a name is not used with the password of another.
    monkeypatch.setenv("MOLDAU_PASSWORD", "hers")
    assert told(mechanism("--username", "eva")) == ("eva", "hers")


def test_trust_and_identity(certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = ("--cert-file", str(certificates.client), "--key-file", str(certificates.client_key))
    tls = ("--security-protocol", "SSL", "--ca-file", str(certificates.ca), *own)
    assert "cannot be used" in refusal(*tls)  # its key is locked
    monkeypatch.setenv("MOLDAU_KEY_PASSWORD", certificates.password)
    _, security = client_properties(parsed(*tls))
    assert security.context is not None
    assert len(security.context.get_ca_certs()) == 1
    file = tmp_path / "client.properties"
    file.write_text(
        f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={certificates.stranger}\n"
    )
    _, by_file = client_properties(parsed("--config", str(file), "--ca-file", str(certificates.ca)))
    assert by_file.context is not None
    assert by_file.context.get_ca_certs() == security.context.get_ca_certs()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--security-protocol", "TLS"], "--security-protocol cannot be used: there are PLAINTEXT, SSL"),
        (["--ca-file", "ca.pem"], "--ca-file cannot be used: it has no effect with security.protocol PLAINTEXT"),
        (["--security-protocol", "SSL", "--ca-file", "/no/such.pem"], "/no/such.pem"),
        (["--security-protocol", "SSL", "--key-file", "key.pem"], "--cert-file is missing"),
        (["--security-protocol", "SASL_SSL"], "--sasl-mechanism is missing"),
        (["--security-protocol", "SASL_SSL", "--sasl-mechanism", "PLAIN"], "--username is missing"),
        (["--security-protocol", "SASL_SSL", "--sasl-mechanism", "NTLM"], "it must be one of PLAIN, SCRAM"),
        (["-X", "sasl.password=open"], "Everybody can read the command line"),
        (["-X", "sasl.jaas.config=open"], "Everybody can read the command line"),
        (["-X", "securty.protocol=SSL"], "is security.protocol meant?"),
        (["-X", "linger.ms=5"], "there is no property linger.ms"),
        (["-X", "security.protocol=nothing"], "The option security.protocol cannot be used"),
    ],
)
def test_what_cannot_work_is_refused(words: list[str], said: str) -> None:
    assert said in refusal(*words)


@pytest.mark.parametrize("line", ["securty.protocol=SSL", "ssl.keystore.file=x", "sasl.pasword=x", "a=\\u12"])
def test_a_file_with_what_nobody_understands_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"# first\n{line}\n")
    assert str(file) in refusal("--config", str(file))


def test_the_same_in_the_words_of_java(certificates: Certificates) -> None:
    given = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": "jan",
        "sasl.password": SECRET,
        "ssl.ca.location": str(certificates.ca),
        "ssl.certificate.location": str(certificates.client),
        "ssl.key.location": str(certificates.client_key),
        "ssl.key.password": certificates.password,
    }
    java = in_java(given)
    assert not {"sasl.username", "sasl.password", "ssl.ca.location", "ssl.key.location"} & java.keys()
    made = [security_options(each).open() for each in (given, java)]
    assert all(each.context is not None and each.mechanism is not None for each in made)
    assert [told(each.mechanism(THERE)) for each in made if each.mechanism] == [("jan", SECRET)] * 2
    assert len({str(each.context.get_ca_certs()) for each in made if each.context}) == 1


def test_a_command_says_it_in_one_sentence(moldau: RunMoldau) -> None:
    for words in (["--security-protocol", "SSL", "--ca-file", "/no/such.pem"], ["-X", "sasl.password=open"]):
        for command in (["topics", "list"], ["consume", "rivers"], ["groups", "list"], ["cluster", "describe"]):
            ended = moldau(*command, *words)
            assert ended.returncode == USAGE
            assert ended.stderr.startswith(b"moldau: ")
            assert ended.stderr.count(b"\n") == 1
    missing = moldau("topics", "list", "--config", "/no/such.properties")
    assert (missing.returncode, missing.stderr) == (1, b"moldau: /no/such.properties: No such file or directory.\n")


def where(*words: str) -> str:
    properties, _ = client_properties(parsed(*words))
    return properties["bootstrap.servers"]


def test_where_a_command_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said for this command goes before what is said for all, and a file before a profile."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    kept = tmp_path / "moldau"
    kept.mkdir()
    for name, port in (("default", 1), ("staging", 2), ("other", 3)):
        (kept / f"{name}.properties").write_text(f"bootstrap.servers=127.0.0.1:{port}\n")
    file, another = tmp_path / "a.properties", tmp_path / "b.properties"
    file.write_text("bootstrap.servers=127.0.0.1:4\n")
    another.write_text("bootstrap.servers=127.0.0.1:5\n")
    assert where() == "127.0.0.1:1"
    monkeypatch.setenv("MOLDAU_PROFILE", "staging")
    assert where() == "127.0.0.1:2"
    assert where("--profile", "other") == "127.0.0.1:3"
    monkeypatch.setenv("MOLDAU_CONFIG", str(file))
    assert where() == "127.0.0.1:4"
    assert where("--profile", "other") == "127.0.0.1:3"
    monkeypatch.setenv("MOLDAU_BOOTSTRAP", "127.0.0.1:6")
    assert where() == "127.0.0.1:6"
    assert where("--config", str(another)) == "127.0.0.1:5"
    assert where("--config", str(another), "-b", "127.0.0.1:7") == "127.0.0.1:7"
    assert "one is enough" in refusal("--config", str(another), "--profile", "other")
    assert "There is no profile nobody in $XDG_CONFIG_HOME/moldau; there are default, other, staging" in refusal(
        "--profile", "nobody"
    )


def test_a_command_that_sets_something_takes_the_file_too(tmp_path: Path, moldau: RunMoldau) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=here:there\n")
    for command in (["topics", "create", "rivers"], ["topics", "alter", "rivers", "-p", "2"], ["topics", "list"]):
        ended = moldau(*command, "--config", str(file))
        assert b"'here:there' is not an address" in ended.stderr
    ended = moldau("topics", "create", "rivers", "--config", "retention.ms")
    assert (ended.returncode, ended.stderr.count(b"\n")) == (USAGE, 1)
    assert b"'retention.ms' is not of the form NAME=VALUE, and there is no such file" in ended.stderr
