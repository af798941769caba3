"""TLS of listeners: what the settings make of it, and how it is renewed while the node runs."""

from __future__ import annotations

import logging
import os
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from server_harness import PATIENCE, RunningServer

from issued import Issued, Issuer
from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.runtime.real import RealRuntime
from moldau.security.principal import ANONYMOUS, user
from moldau.server import listener_tls
from moldau.server.listener_tls import TlsListeners

ISSUER, OTHER = Issuer("ca"), Issuer("another")
NODE = ISSUER.issue("node")


@pytest.fixture
def runtime() -> Iterator[RealRuntime]:
    runtime = RealRuntime()
    yield runtime
    runtime.close()


class Files:
    """Stores in a directory, and settings that name them."""

    def __init__(self, directory: Path) -> None:
        self.store = directory / "store.pem"
        self.trust = directory / "trust.pem"
        self.put(NODE)
        self.trust.write_text(ISSUER.pem)

    def put(self, issued: Issued, text: str | None = None) -> None:
        """As a careful person does: whoever reads it meanwhile sees the old one or the new one."""
        new = self.store.with_suffix(".new")
        new.write_text(text if text is not None else issued.key_pem() + issued.pem)
        stamp = self.store.stat().st_mtime_ns if self.store.exists() else time.time_ns()
        os.utime(new, ns=(stamp + 10_000_000, stamp + 10_000_000))
        new.rename(self.store)

    def settings(self, **more: str) -> dict[str, str]:
        return {
            "listeners": "SSL://127.0.0.1:0",
            "inter.broker.listener.name": "SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.store),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.trust),
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def config(self, **more: str) -> BrokerConfig:
        return BrokerConfig.parse(self.settings(**more))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def until(runtime: RealRuntime, condition: Callable[[], object]) -> None:
    """Runs the loop until it is so."""
    deadline = time.monotonic() + PATIENCE

    def look() -> None:
        assert time.monotonic() < deadline, "it did not happen"
        if condition():
            runtime.loop.stop()
        else:
            runtime.loop.call_later(0.005, look)

    look()
    runtime.loop.run()


def outcome(runtime: RealRuntime, listeners: TlsListeners, config: BrokerConfig, *changed: str) -> str | None:
    """What a check says; None if there is nothing to say."""
    found: list[BaseException | None] = []
    listeners.check(config, changed).then(lambda _value, error: found.append(error))
    until(runtime, lambda: found)
    return None if found[0] is None else str(found[0])


def subject(context: ssl.SSLContext) -> str:
    """Of the certificate that is shown with this context."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_REQUIRED
    for issuer in (ISSUER, OTHER):
        client.load_verify_locations(cadata=issuer.pem)
    ends = client.wrap_bio(to_client, to_server), context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(3):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                pass
    ((((_, name),),),) = [part for key, part in ends[0].getpeercert().items() if key == "subject"]  # type: ignore[union-attr]
    return str(name)


def shown(listeners: TlsListeners, name: str = "SSL") -> str:
    listener = listeners.of(name)
    assert listener is not None
    return subject(listener.current())


def test_a_listener_in_the_clear_has_none(runtime: RealRuntime) -> None:
    listeners = TlsListeners(BrokerConfig.parse({}), runtime, ["PLAINTEXT"])
    assert listeners.of("PLAINTEXT") is None
    assert outcome(runtime, listeners, BrokerConfig.parse({}), "ssl.client.auth") is None


def test_each_listener_may_have_a_store_of_its_own(runtime: RealRuntime, files: Files, tmp_path: Path) -> None:
    own = ISSUER.issue("inside").write(tmp_path / "inside.pem")
    config = files.config(
        listeners="SSL://127.0.0.1:0,IN://127.0.0.1:0",
        listener_security_protocol_map="SSL:SSL,IN:SSL",
        listener_name_in_ssl_keystore_location=str(own),
    )
    listeners = TlsListeners(config, runtime, [])
    assert (shown(listeners), shown(listeners, "IN")) == ("node", "inside")


def test_who_a_certificate_shows(runtime: RealRuntime, files: Files) -> None:
    client = ISSUER.issue("Jan").der
    for settings, expected in (
        ({}, user("CN=Jan")),
        ({"ssl_principal_mapping_rules": "RULE:^CN=(.*)$/$1/L"}, user("jan")),
        ({"listeners": "SASL_SSL://127.0.0.1:0", "inter_broker_listener_name": "SASL_SSL",
          "sasl_enabled_mechanisms": "PLAIN", "sasl_mechanism_inter_broker_protocol": "PLAIN"}, ANONYMOUS),
    ):  # fmt: skip
        config = files.config(**settings)
        listener = TlsListeners(config, runtime, []).of(config.broker_endpoints[0].name)
        assert listener is not None
        assert listener.principal(client) == expected
        assert listener.principal(None) == ANONYMOUS


def test_a_name_that_no_rule_fits_lets_nobody_in(runtime: RealRuntime, files: Files) -> None:
    listener = TlsListeners(files.config(ssl_principal_mapping_rules="RULE:^OU=.*$/x/"), runtime, []).of("SSL")
    assert listener is not None
    with pytest.raises(ValueError, match="no rule"):
        listener.principal(ISSUER.issue("Jan").der)


def test_with_sasl_certificates_are_asked_for_only_where_the_listener_says_so(
    runtime: RealRuntime, files: Files
) -> None:
    sasl = {
        "listeners": "SASL_SSL://127.0.0.1:0",
        "inter_broker_listener_name": "SASL_SSL",
        "sasl_enabled_mechanisms": "PLAIN",
        "sasl_mechanism_inter_broker_protocol": "PLAIN",
        "ssl_client_auth": "required",
    }
    for more, expected in (
        ({}, ssl.CERT_NONE),
        ({"listener_name_sasl_ssl_ssl_client_auth": "required"}, ssl.CERT_REQUIRED),
    ):
        properties = files.settings(**sasl)
        properties.update({"listener.name.sasl_ssl.ssl.client.auth": "required"} if more else {})
        listener = TlsListeners(BrokerConfig.parse(properties), runtime, []).of("SASL_SSL")
        assert listener is not None
        assert listener.current().verify_mode is expected


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ssl_keystore_location": "/nowhere"}, "ssl.keystore.location=/nowhere cannot be read: No such file"),
        ({"ssl_keystore_password": "x"}, "ssl.keystore.password is not for PEM"),
        ({"ssl_truststore_password": "x"}, "ssl.truststore.password is not for PEM"),
        ({"ssl_keystore_type": "JKS"}, "it is no PKCS12 store, or its password is another one"),
        ({"ssl_keystore_key": "k"}, "ssl.keystore.key and ssl.keystore.location cannot both be set"),
        ({"ssl_truststore_certificates": "k"}, "ssl.truststore.certificates and ssl.truststore.location cannot both"),
        ({"ssl_truststore_certificates": "k", "ssl_truststore_type": "JKS"}, "needs ssl.truststore.type=PEM, not JKS"),
        ({"ssl_protocol": "TLSv1.2", "ssl_enabled_protocols": "TLSv1.3"}, "leaves none of ssl.enabled.protocols"),
        ({"ssl_cipher_suites": "TLS_NONSENSE_WITH_NOTHING"}, "the cipher suite NONSENSE-NOTHING is not known"),
        ({"ssl_cipher_suites": "TLS_AES_128_GCM_SHA256"}, "of the cipher suites of TLS 1.3 only the last"),
        (
            {"ssl_cipher_suites": "TLS_AES_256_GCM_SHA384", "ssl_enabled_protocols": "TLSv1.2"},
            "none of the cipher suites belongs to the versions",
        ),
        ({"ssl_principal_mapping_rules": "nonsense"}, "ssl.principal.mapping.rules cannot contain 'nonsense'"),
    ],
)
def test_settings_that_cannot_be_are_told_when_the_node_starts(
    runtime: RealRuntime, files: Files, settings: dict[str, str], words: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        TlsListeners(files.config(**settings), runtime, [])
    assert str(refused.value).startswith("the listener SSL cannot be secured: ")
    assert words in str(refused.value)


def test_a_listener_without_a_certificate_is_refused(runtime: RealRuntime) -> None:
    config = BrokerConfig.parse({"listeners": "SSL://127.0.0.1:0", "inter.broker.listener.name": "SSL"})
    with pytest.raises(ConfigError, match=r"no certificate to show; set ssl\.keystore\.location"):
        TlsListeners(config, runtime, [])


def test_inline_pem_and_a_locked_key(runtime: RealRuntime, files: Files) -> None:
    settings = files.settings()
    for name in ("ssl.keystore.location", "ssl.truststore.location"):
        del settings[name]
    settings |= {
        "ssl.keystore.key": NODE.key_pem("secret"),
        "ssl.keystore.certificate.chain": NODE.pem,
        "ssl.truststore.certificates": ISSUER.pem,
        "ssl.key.password": "secret",
    }
    assert shown(TlsListeners(BrokerConfig.parse(settings), runtime, ["SSL"])) == "node"
    for password, words in ((None, "the private key is locked"), ("guessed", "cannot be unlocked with this password")):
        changed = {name: text for name, text in settings.items() if name != "ssl.key.password"}
        if password is not None:
            changed["ssl.key.password"] = password
        with pytest.raises(ConfigError, match=words):
            TlsListeners(BrokerConfig.parse(changed), runtime, [])


def test_a_key_and_the_certificate_of_another_one(runtime: RealRuntime, files: Files) -> None:
    files.put(NODE, ISSUER.issue("x").key_pem() + NODE.pem)
    with pytest.raises(ConfigError, match="does not belong to the certificate"):
        TlsListeners(files.config(), runtime, [])


def test_pkcs12_with_a_password(runtime: RealRuntime, files: Files, tmp_path: Path) -> None:
    (tmp_path / "store.p12").write_bytes(NODE.pkcs12("secret"))
    settings = {"ssl_keystore_type": "PKCS12", "ssl_keystore_location": str(tmp_path / "store.p12")}
    assert shown(TlsListeners(files.config(**settings, ssl_keystore_password="secret"), runtime, [])) == "node"


def test_nodes_that_would_not_accept_each_other_do_not_start(runtime: RealRuntime, files: Files) -> None:
    files.trust.write_text(OTHER.pem)
    TlsListeners(files.config(), runtime, [])
    with pytest.raises(ConfigError, match="nodes could not call each other"):
        TlsListeners(files.config(), runtime, ["SSL"])


@pytest.mark.parametrize(("setting", "checks"), [("https", True), ("", False)])
def test_whether_names_of_nodes_are_checked(runtime: RealRuntime, files: Files, setting: str, checks: bool) -> None:
    config = files.config(ssl_endpoint_identification_algorithm=setting)
    calling = TlsListeners(config, runtime, ["SSL"]).of("SSL").calling  # type: ignore[union-attr]
    assert calling is not None
    assert calling.check_hostname is checks
    assert calling.verify_mode is ssl.CERT_REQUIRED


def test_a_connection_knows_whose_it_is(files: Files, tmp_path: Path) -> None:
    """From the handshake to the principal that handlers see."""
    settings = files.settings(
        ssl_client_auth="required", ssl_principal_mapping_rules="RULE:^CN=(j.*)$/$1/U,RULE:^CN=(.*),O=x$/$1/"
    )
    running = RunningServer([], settings | {"listeners": "SSL://127.0.0.1:0"})
    try:
        config = running.services.config
        tls = running.on_loop(lambda: TlsListeners(config, running.runtime, []).of("SSL"))
        address = running.on_loop(lambda: running.server.open(config.broker_endpoints[0], running.table, tls))
        context = ssl.create_default_context(cadata=ISSUER.pem)
        context.load_cert_chain(ISSUER.issue("jan").write(tmp_path / "jan.pem"))
        client = running.client(address)
        client.socket = context.wrap_socket(client.socket, server_hostname="localhost")
        assert client.call(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == 0
        [connection] = running.on_loop(lambda: list(running.server.connections))
        assert connection.principal == user("JAN")
        # Nobody can be named by this one.
        context = ssl.create_default_context(cadata=ISSUER.pem)
        context.load_cert_chain(ISSUER.issue("karel").write(tmp_path / "karel.pem"))
        stranger = running.client(address)
        with pytest.raises((EOFError, OSError)):  # noqa: PT012  when it is told depends on who is faster
            stranger.socket = context.wrap_socket(stranger.socket, server_hostname="localhost")
            stranger.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    finally:
        running.close()


# --------------------------------------------------------------------------------------------------------- renewing


def test_a_changed_file_counts_for_new_connections(
    runtime: RealRuntime, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener_tls, "LOOK_SECONDS", 0.01)
    listeners = TlsListeners(files.config(), runtime, ["SSL"])
    listener = listeners.of("SSL")
    assert listener is not None
    before = listener.current(), listener.calling
    files.put(ISSUER.issue("NODE"))  # names are the same whatever the case
    until(runtime, lambda: listener.current() is not before[0])
    assert shown(listeners) == "NODE"
    assert listener.calling is not before[1]


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("nonsense", "there is no private key in it"),
        (ISSUER.issue("somebody else"), "the new certificate is that of 'CN=somebody else', not of 'CN=node'"),
        (ISSUER.issue("node", ["localhost"]), "does not stand for IP:127.0.0.1"),
        (OTHER.issue("node"), "nodes could not call each other"),
    ],
)
def test_a_file_that_is_no_good_is_told_once_and_the_old_one_stays(
    runtime: RealRuntime,
    files: Files,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    new: Any,
    words: str,
) -> None:
    monkeypatch.setattr(listener_tls, "LOOK_SECONDS", 0.01)
    listeners = TlsListeners(files.config(), runtime, ["SSL"])
    context = listeners.of("SSL").current()  # type: ignore[union-attr]
    looks = _count_looks(listeners, monkeypatch)
    with caplog.at_level(logging.ERROR, "moldau.server"):
        files.put(NODE, new if isinstance(new, str) else new.key_pem() + new.pem)
        until(runtime, lambda: caplog.records)
        seen = looks[0]
        until(runtime, lambda: looks[0] >= seen + 3)
    [record] = caplog.records
    assert words in record.getMessage()
    assert listeners.of("SSL").current() is context  # type: ignore[union-attr]
    caplog.clear()
    files.put(ISSUER.issue("node"))
    until(runtime, lambda: listeners.of("SSL").current() is not context)  # type: ignore[union-attr]


def test_other_names_are_taken_where_the_settings_allow_it(
    runtime: RealRuntime, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener_tls, "LOOK_SECONDS", 0.01)
    config = files.config(ssl_allow_dn_changes="true", ssl_allow_san_changes="true")
    listeners = TlsListeners(config, runtime, ["SSL"])
    context = listeners.of("SSL").current()  # type: ignore[union-attr]
    files.put(ISSUER.issue("renamed", ["localhost"]))
    until(runtime, lambda: listeners.of("SSL").current() is not context)  # type: ignore[union-attr]
    assert shown(listeners) == "renamed"


def test_changed_settings_are_checked_first_and_taken_then(runtime: RealRuntime, files: Files, tmp_path: Path) -> None:
    listeners = TlsListeners(files.config(), runtime, ["SSL"])
    name = "listener.name.ssl.ssl.keystore.location"
    good, bad = (issuer.issue("node").write(tmp_path / f"{n}.pem") for n, issuer in enumerate((ISSUER, OTHER)))
    refused = files.config().with_dynamic({}, {name: str(bad)})
    assert "could not call each other" in str(outcome(runtime, listeners, refused, name))
    assert outcome(runtime, listeners, refused, "log.retention.ms") is None  # not what it is about
    accepted = files.config().with_dynamic({}, {name: str(good)})
    assert outcome(runtime, listeners, accepted, name) is None
    listener = listeners.of("SSL")
    assert listener is not None
    before = listener.current()
    listeners.reconfigure(accepted)
    until(runtime, lambda: listener.current() is not before)
    # What was overtaken while it was being read is read again.
    third = ISSUER.issue("node").write(tmp_path / "third.pem")
    listeners.reconfigure(files.config())
    listeners.reconfigure(files.config().with_dynamic({}, {name: str(third)}))
    until(runtime, lambda: third.read_text() == listener.rules.keys[0].key + listener.rules.keys[0].chain)


def test_settings_of_other_things_change_nothing(runtime: RealRuntime, files: Files) -> None:
    listeners = TlsListeners(files.config(), runtime, ["SSL"])
    context = listeners.of("SSL").current()  # type: ignore[union-attr]
    listeners.reconfigure(files.config(log_retention_ms="5"))
    until(runtime, lambda: not listeners._busy)
    assert listeners.of("SSL").current() is context  # type: ignore[union-attr]


def _count_looks(listeners: TlsListeners, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    looks = [0]
    look = listeners._renewed

    def counted(*given: Any, **named: Any) -> Any:
        looks[0] += 1
        return look(*given, **named)

    monkeypatch.setattr(listeners, "_renewed", counted)
    return looks
