"""Connections before and after somebody has logged in: what they are offered, and how they end."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

import pytest
from server_harness import Client, RunningServer

from moldau.config.definition import ConfigError
from moldau.config.listeners import SecurityProtocol
from moldau.errors import ErrorCode
from moldau.metadata.credentials import ScramKey, credential_record
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE
from moldau.node.monitoring import connections
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from moldau.security.logins import Scram
from moldau.security.scram import make_credential
from moldau.server.apis.sasl_authenticate import SASL_AUTHENTICATE
from moldau.server.apis.sasl_handshake import SASL_HANDSHAKE
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api

Serve = Callable[..., RunningServer]
USERS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_jan="secret" user_eva="other";'
SETTINGS = {
    "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    "listener.name.sasl.plain.sasl.jaas.config": USERS,
    "connection.failed.authentication.delay.ms": "5",
}
JAN = b"\0jan\0secret"
WRONG = "Authentication failed: Invalid username or password"


def who(context: RequestContext, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(host=str(context.principal))


WHO = Api(ApiKey.FIND_COORDINATOR, FindCoordinatorRequest, who)


class Secured:
    def __init__(self, serve: Serve, **settings: str) -> None:
        self.server = serve(WHO, SASL_HANDSHAKE, SASL_AUTHENTICATE, **{**SETTINGS, **settings})
        self.address = self.server.listen("SASL", SecurityProtocol.SASL_PLAINTEXT)

    def client(self) -> Client:
        return self.server.client(self.address)


@pytest.fixture
def secured(serve: Serve) -> Secured:
    return Secured(serve)


def handshake(client: Client, mechanism: str = "PLAIN", version: int = 1) -> SaslHandshakeResponse:
    request = SaslHandshakeRequest(mechanism=mechanism)
    response: SaslHandshakeResponse = client.call(request, version, SaslHandshakeResponse)
    return response


def authenticate(client: Client, token: bytes = JAN, version: int = 2) -> SaslAuthenticateResponse:
    request = SaslAuthenticateRequest(auth_bytes=token)
    response: SaslAuthenticateResponse = client.call(request, version, SaslAuthenticateResponse)
    return response


def log_in(client: Client, token: bytes = JAN) -> SaslAuthenticateResponse:
    assert handshake(client).error_code == 0
    answer = authenticate(client, token)
    assert answer.error_code == 0, answer.error_message
    return answer


def asked(client: Client) -> str:
    host: str = client.call(FindCoordinatorRequest(key="who"), 2, FindCoordinatorResponse).host
    return host


def test_a_login_and_what_it_opens(secured: Secured) -> None:
    client = secured.client()
    versions = client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    assert {each.api_key for each in versions.api_keys} >= {10, 17, 18, 36}
    assert handshake(client).mechanisms == ["PLAIN", "SCRAM-SHA-512"]
    answer = authenticate(client)
    assert (answer.error_code, answer.auth_bytes, answer.session_lifetime_ms) == (0, b"", 0)
    assert asked(client) == "User:jan"
    # It can say who it is once; a session without an end is not renewed.
    assert handshake(client).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert authenticate(client).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert asked(client) == "User:jan"


@pytest.mark.parametrize("version", range(3))
def test_every_version_of_the_tokens(secured: Secured, version: int) -> None:
    client = secured.client()
    handshake(client)
    assert authenticate(client, version=version).error_code == 0
    assert asked(client) == "User:jan"


def test_scram_by_the_credentials_of_the_cluster(secured: Secured) -> None:
    key = ScramKey(2, "jan")
    delta = MetadataDelta(EMPTY_IMAGE)
    delta.replay(credential_record(key, make_credential("SCRAM-SHA-512", "pass", b"salt", 4096)))
    secured.server.services.metadata.image = delta.apply(1, 1)  # type: ignore[misc]
    client, login = secured.client(), Scram("SCRAM-SHA-512", "jan", "pass", "nonce")
    handshake(client, "SCRAM-SHA-512")
    final = login.answer(authenticate(client, login.first()).auth_bytes)
    assert final is not None
    assert login.answer(authenticate(client, final).auth_bytes) is None
    assert asked(client) == "User:jan"


def test_bare_tokens_of_old_clients(secured: Secured) -> None:
    client = secured.client()
    handshake(client, version=0)
    client.socket.sendall(struct.pack(">i", len(JAN)) + JAN)
    assert client.receive() == b""
    assert asked(client) == "User:jan"


def test_bare_tokens_sent_ahead_and_requests_right_behind(secured: Secured) -> None:
    client = secured.client()
    shake = client.frame(17, 0, SaslHandshakeRequest(mechanism="PLAIN").encode(0))
    ask = client.frame(10, 2, FindCoordinatorRequest(key="who").encode(2))
    client.socket.sendall(shake + struct.pack(">i", len(JAN)) + JAN + ask)
    client.receive()
    assert client.receive() == b""
    assert client.answer(FindCoordinatorResponse, 2)[1].host == "User:jan"


def test_a_wrong_bare_token_ends_the_connection(secured: Secured) -> None:
    client = secured.client()
    handshake(client, version=0)
    client.socket.sendall(struct.pack(">i", 4) + b"\0a\0b")
    assert client.ended()


@pytest.mark.parametrize("token", [b"\0jan\0wrong", b"\0nobody\0secret"])
def test_a_failed_login_is_answered_and_ends(secured: Secured, token: bytes) -> None:
    client = secured.client()
    handshake(client)
    answer = authenticate(client, token)
    assert (answer.error_code, answer.error_message) == (ErrorCode.SASL_AUTHENTICATION_FAILED, WRONG)
    assert client.ended()


def test_a_mechanism_that_is_not_offered(secured: Secured) -> None:
    client = secured.client()
    answer = handshake(client, "GSSAPI")
    assert (answer.error_code, answer.mechanisms) == (
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        ["PLAIN", "SCRAM-SHA-512"],
    )
    assert client.ended()


def test_a_version_of_api_versions_that_is_not_spoken_is_answered(secured: Secured) -> None:
    client = secured.client()
    client.socket.sendall(client.frame(18, 99, b""))
    assert client.answer(ApiVersionsResponse, 0)[1].error_code == ErrorCode.UNSUPPORTED_VERSION
    log_in(client)


@pytest.mark.parametrize("stage", ["before", "during"])
@pytest.mark.parametrize("what", ["find coordinator", "unknown", "the other step", "garbage"])
def test_other_requests_end_the_connection(secured: Secured, stage: str, what: str) -> None:
    client = secured.client()
    if stage == "during":
        handshake(client)
    other = (17, SaslHandshakeRequest(mechanism="PLAIN")) if stage == "during" else (36, SaslAuthenticateRequest())
    frame = {
        "find coordinator": client.frame(10, 2, FindCoordinatorRequest(key="who").encode(2)),
        "unknown": struct.pack(">ihhih", 10, 30_000, 0, 1, -1),
        "the other step": client.frame(other[0], 1, other[1].encode(1)),
        "garbage": struct.pack(">i", 20) + b"\xff" * 20,
    }[what]
    client.socket.sendall(frame)
    assert client.ended()


def test_long_frames_of_strangers_are_not_read(serve: Serve) -> None:
    secured = Secured(serve, **{"sasl.server.max.receive.size": "1000"})
    client = secured.client()
    # Well before it would be closed for taking too long.
    client.socket.settimeout(20)
    client.socket.sendall(struct.pack(">i", 1001))
    assert client.ended()
    # Afterwards they are.
    client = secured.client()
    log_in(client)
    client.ask(FindCoordinatorRequest(key="k" * 5000), 2)
    assert client.answer(FindCoordinatorResponse, 2)[1].host == "User:jan"


def test_requests_behind_the_last_token_wait_for_it(secured: Secured) -> None:
    client = secured.client()
    handshake(client)
    token = client.frame(36, 1, SaslAuthenticateRequest(auth_bytes=JAN).encode(1))
    ask = client.frame(10, 2, FindCoordinatorRequest(key="who").encode(2))
    client.socket.sendall(token + ask)
    assert client.answer(SaslAuthenticateResponse, 1)[1].error_code == 0
    assert client.answer(FindCoordinatorResponse, 2)[1].host == "User:jan"


def test_a_listener_that_asks_nobody(secured: Secured) -> None:
    client = secured.server.client()
    assert handshake(client).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert authenticate(client).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert asked(client) == "User:ANONYMOUS"


# ------------------------------------------------------------------------------------------------------------ sessions


@pytest.fixture
def limited(serve: Serve) -> Secured:
    return Secured(serve, **{"listener.name.sasl.plain.connections.max.reauth.ms": "3600000"})


def expire(secured: Secured, client: Client) -> None:
    """As if the time were over."""

    def all_of_them() -> None:
        for connection in secured.server.server.connections:
            if connection.authentication is not None:
                connection.authentication._expire()

    secured.server.on_loop(all_of_them)


def test_a_session_is_renewed_before_and_after_its_end(limited: Secured) -> None:
    client = limited.client()
    assert log_in(client).session_lifetime_ms == 3_600_000
    assert asked(client) == "User:jan"
    assert log_in(client).session_lifetime_ms == 3_600_000
    assert asked(client) == "User:jan"
    client = limited.client()
    log_in(client)
    expire(limited, client)
    log_in(client)
    assert asked(client) == "User:jan"


def test_requests_after_the_end_close_the_connection(limited: Secured) -> None:
    client = limited.client()
    log_in(client)
    expire(limited, client)
    client.ask(FindCoordinatorRequest(key="who"), 2)
    assert client.ended()
    assert killed(limited) == {"SASL": 1, "PLAINTEXT": 0, "all": 1}


def killed(secured: Secured) -> dict[str, float]:
    """As the metrics tell of those whose session had ended."""
    found: dict[str, float] = {}
    for family in connections.families(secured.server.server):
        for _, labels, value in filter(None, family.samples):
            if family.name.endswith("_expired_connections_killed_count"):
                found[labels.split('"')[1]] = value
            elif family.name.endswith("_expiredconnectionskilledcount"):
                found["all"] = value
    return found


def test_nobody_becomes_somebody_else(limited: Secured) -> None:
    client = limited.client()
    log_in(client)
    assert handshake(client).error_code == 0
    answer = authenticate(client, b"\0eva\0other")
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "Cannot change principals during re-authentication from User.jan: User.eva" in answer.error_message
    assert client.ended()


def test_the_mechanism_stays_the_same(limited: Secured) -> None:
    client = limited.client()
    log_in(client)
    assert handshake(client, "SCRAM-SHA-512").error_code == 0
    answer = authenticate(client, b"n,,n=jan,r=nonce")
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "not supported for re-authentication of mechanism 'PLAIN'" in answer.error_message
    assert client.ended()


def test_a_wrong_password_ends_a_session(limited: Secured) -> None:
    client = limited.client()
    log_in(client)
    handshake(client)
    assert authenticate(client, b"\0jan\0wrong").error_message == WRONG
    assert client.ended()


def test_it_is_not_renewed_again_and_again(limited: Secured) -> None:
    client = limited.client()
    log_in(client)
    log_in(client)
    assert handshake(client).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert asked(client) == "User:jan"


def test_other_requests_during_a_renewal_end_the_connection(limited: Secured) -> None:
    client = limited.client()
    log_in(client)
    handshake(client)
    client.ask(FindCoordinatorRequest(key="who"), 2)
    assert client.ended()


# ------------------------------------------------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"listener.name.sasl.sasl.enabled.mechanisms": ""}, "nobody could log in"),
        ({"listener.name.sasl.sasl.enabled.mechanisms": "CRAM-MD5"}, "cannot contain CRAM-MD5"),
        ({"listener.name.sasl.plain.sasl.jaas.config": "x"}, "plain.sasl.jaas.config cannot be used"),
        ({"listener.name.sasl.plain.sasl.jaas.config": "a.b.ScramLoginModule required;"}, "needs the login module"),
        ({"listener.name.sasl.scram-sha-512.sasl.jaas.config": USERS}, "needs the login module ScramLoginModule"),
    ],
)
def test_settings_nobody_could_log_in_by(serve: Serve, settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as refusal:
        Secured(serve, **settings)
    assert "secret" not in str(refusal.value)


def test_users_change_with_the_settings(secured: Secured) -> None:
    services = secured.server.services
    setting = "listener.name.sasl.plain.sasl.jaas.config"
    services.config = services.config.with_dynamic({setting: USERS.replace("secret", "changed")}, {})
    client = secured.client()
    handshake(client)
    assert authenticate(client).error_message == WRONG
    log_in(secured.client(), b"\0jan\0changed")
    # What cannot be used leaves everything as it was.
    services.config = services.config.with_dynamic({setting: "nonsense"}, {})
    log_in(secured.client(), b"\0jan\0changed")


def test_a_silent_client_is_not_waited_for(secured: Secured) -> None:
    client = secured.client()
    secured.server.until(lambda: len(secured.server.server.connections) == 1)

    def hurry() -> None:
        (connection,) = secured.server.server.connections
        assert connection.authentication is not None
        connection.authentication._too_slow()

    secured.server.on_loop(hurry)
    assert client.ended()


def test_a_client_that_leaves_in_the_middle(secured: Secured) -> None:
    client = secured.client()
    handshake(client)
    client.ask(SaslAuthenticateRequest(auth_bytes=b"\0jan\0wrong"), 1)
    client.socket.shutdown(socket.SHUT_RDWR)
    secured.server.until(lambda: not secured.server.server.connections)
    log_in(secured.client())
