"""Tokens by the names of properties: what they come to, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from moldau.client.properties import in_java, security_options
from moldau.client.property_names import PropertyError
from moldau.links.addresses import Address
from moldau.security.jaas import OAUTHBEARER_MODULE, PACKAGE
from token_issuer import unsigned

HANDLER = f"{PACKAGE}oauthbearer.OAuthBearerLoginCallbackHandler"
MODULE = f"{PACKAGE}{OAUTHBEARER_MODULE} required"
URL = "sasl.oauthbearer.token.endpoint.url"
USUAL = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "OAUTHBEARER",
    URL: "https://issuer/token",
    "sasl.jaas.config": f'{MODULE} clientId="jan" clientSecret="secret" scope="all";',
}


def test_java_and_librdkafka_say_the_same() -> None:
    java = {
        **USUAL,
        "sasl.login.callback.handler.class": HANDLER,
        "sasl.oauthbearer.header.urlencode": "true",
        "sasl.login.refresh.window.factor": "0.6",
    }
    read = security_options(java).tokens
    assert read is not None
    assert (read.client_id, read.client_secret, read.scope, read.escaped) == ("jan", "secret", "all", True)
    assert (read.share, read.spread, read.shortest, read.seconds) == (0.6, 0.05, 60, 20.0)
    rdkafka = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        URL: "https://issuer/token",
        "sasl.oauthbearer.client.id": "jan",
        "sasl.oauthbearer.client.secret": "secret",
        "sasl.oauthbearer.scope": "all",
    }
    plain = security_options(rdkafka).tokens
    assert plain == security_options(USUAL).tokens
    # Java's tools want a login module and a handler, even where they say nothing.
    translated = in_java(rdkafka)
    assert translated["sasl.login.callback.handler.class"] == HANDLER
    assert "sasl.oauthbearer.client.id" not in translated
    assert security_options(translated).tokens == plain


def test_a_token_of_a_file_is_what_is_said(tmp_path: Path) -> None:
    token = unsigned({"sub": "jan", "exp": 4_000_000_000})
    (tmp_path / "token").write_text(token)
    given = {**USUAL, URL: f"file:{tmp_path}/token", "sasl.jaas.config": f'{MODULE} extension_trace="on";'}
    # As in another process.
    travelled = pickle.loads(pickle.dumps(security_options(given)))
    assert "secret" not in repr(security_options(USUAL))
    made = travelled.open().mechanism
    assert made is not None
    assert made(Address("127.0.0.1", 9092)).first() == f"n,,\x01auth=Bearer {token}\x01trace=on\x01\x01".encode()
    assert travelled.client()["sasl_oauth_token_provider"].token() == token


KRB5 = "com.sun.security.auth.module.Krb5LoginModule required"
TICKETS = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"}


def test_kerberos_by_both_names() -> None:
    rdkafka = {**TICKETS, "sasl.kerberos.keytab": "/k", "sasl.kerberos.principal": "jan@R"}
    java = {
        **TICKETS,
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": f'{KRB5} useKeyTab=true storeKey=true keyTab="/k" principal="jan@R";',
    }
    expected = {
        "sasl_kerberos_service_name": "kafka",
        "sasl_kerberos_key_table": "/k",
        "sasl_kerberos_principal": "jan@R",
    }
    for given in (rdkafka, java, in_java(rdkafka)):
        assert expected.items() <= security_options(given).settings.items()
    assert in_java(rdkafka) == java
    cached = in_java(TICKETS)
    assert cached["sasl.jaas.config"] == f"{KRB5} useTicketCache=true;"
    assert security_options(cached).open().mechanism is not None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sasl.jaas.config": f"{KRB5} useTicketCache=true;"}, "service.name is required"),
        ({"sasl.jaas.config": f'{KRB5} serviceName="a";', "sasl.kerberos.service.name": "b"}, "serviceName is a, and"),
        ({"sasl.kerberos.keytab": "/k"}, "of use with the principal"),
        ({"sasl.jaas.config": f'{KRB5} principal="a";', "sasl.kerberos.principal": "b"}, "says it too"),
        ({"sasl.jaas.config": f"{KRB5} tryFirstPass=true;"}, "cannot be given tryFirstPass"),
        ({"sasl.jaas.config": f"{MODULE};"}, "needs the login module Krb5LoginModule"),
        ({"sasl.password": "secret"}, "with a ticket, not with a name"),
        ({URL: "https://issuer"}, "it goes with OAUTHBEARER, not with GSSAPI"),
    ],
)
def test_what_would_bring_no_ticket_is_refused(changes: dict[str, str], sentence: str) -> None:
    with pytest.raises(PropertyError, match=sentence) as refused:
        security_options({**TICKETS, **changes})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({URL: ""}, "token.endpoint.url is missing"),
        ({URL: "gopher://issuer"}, "must begin with one of"),
        ({"sasl.jaas.config": f"{MODULE};"}, "clientId and clientSecret are missing"),
        ({"sasl.jaas.config": f'{MODULE} user="jan";'}, "cannot be given user"),
        (
            {"sasl.jaas.config": f'{PACKAGE}plain.PlainLoginModule required username="a" password="b";'},
            "needs the login module OAuth",
        ),
        ({"sasl.jaas.config": "nonsense"}, "must be one login module"),
        ({"sasl.username": "jan"}, "not with a name and a password"),
        ({"sasl.login.callback.handler.class": "com.example.Own"}, "classes of Java cannot run here"),
        ({"sasl.oauthbearer.method": "default"}, "it can be oidc only"),
        ({"sasl.oauthbearer.header.urlencode": "yes"}, "it is true or false"),
        ({"sasl.login.retry.backoff.ms": "-1"}, "not below 0"),
        ({"sasl.login.read.timeout.ms": "nan"}, "not below 0"),
        ({"sasl.login.read.timeout.ms": "soon"}, "not below 0"),
        ({"sasl.mechanism": "PLAIN"}, "it goes with OAUTHBEARER, not with PLAIN"),
    ],
)
def test_what_would_bring_no_token_is_refused(changes: dict[str, str], sentence: str) -> None:
    with pytest.raises(PropertyError, match=sentence) as refused:
        security_options({**USUAL, **changes})
    assert "secret" not in str(refused.value).replace("clientSecret", "")
