"""The broker's side of SCRAM: the example of RFC 7677, logins of all kinds, and messages that are none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from moldau.deferred import Deferred, ready
from moldau.errors import KafkaError
from moldau.security.logins import Scram
from moldau.security.principal import Principal, user
from moldau.security.scram import (
    attributes,
    client_key,
    exclusive_or,
    from_base64,
    hashed,
    keyed,
    make_credential,
    plain_name,
    salted_password,
    to_base64,
)
from moldau.security.scram_credential import HASHES, ScramCredential
from moldau.security.scram_server import Known, ScramServer
from moldau.security.verdict import AuthenticationFailed, Identity, Reply

SALT = b"salt-of-this-very-user!!"
INVALID = "invalid credentials with SASL mechanism SCRAM-SHA-256"


class Users:
    def __init__(self, mechanism: str = "SCRAM-SHA-256") -> None:
        self.known = {"jan": make_credential(mechanism, "secret", SALT, 4096)}
        self.tokens: dict[str, Known] = {}

    def user(self, mechanism: str, name: str) -> ScramCredential | None:
        return self.known.get(name)

    def token(self, mechanism: str, token_id: str) -> Deferred[Known | None]:
        return ready(self.tokens.get(token_id))


def server(users: Users | None = None, mechanism: str = "SCRAM-SHA-256") -> ScramServer:
    return ScramServer(mechanism, users or Users(mechanism), lambda: "of-the-broker", b"a secret of the cluster")


def now(reply: Reply | Deferred[Reply]) -> Reply:
    if isinstance(reply, Reply):
        return reply
    found: list[Reply] = []
    reply.then(lambda value, error: found.append(value) if value is not None else None)
    return found[0]


def login(broker: ScramServer, client: Scram) -> Identity:
    """A whole conversation: both have to be satisfied."""
    challenge = now(broker.answer(client.first()))
    assert challenge.identity is None
    final = client.answer(challenge.token)
    assert final is not None
    verdict = now(broker.answer(final))
    assert client.answer(verdict.token) is None
    assert verdict.identity is not None
    return verdict.identity


def test_the_example_of_rfc_7677() -> None:
    salt = from_base64("W22ZaJ0SNY7soEsUEjb6gQ==")
    assert salt is not None
    users = Users()
    users.known["user"] = make_credential("SCRAM-SHA-256", "pencil", salt, 4096)
    broker = ScramServer("SCRAM-SHA-256", users, lambda: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", b"")
    first = now(broker.answer(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"))
    assert first.token == b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    last = now(
        broker.answer(
            b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
            b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        )
    )
    assert last.token == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert last.identity == Identity(user("user"))


@pytest.mark.parametrize("mechanism", HASHES)
def test_a_right_password_lets_in(mechanism: str) -> None:
    identity = login(server(mechanism=mechanism), Scram(mechanism, "jan", "secret", "nonce"))
    assert identity == Identity(user("jan"))


def test_names_may_have_commas_and_equals_signs() -> None:
    users = Users()
    users.known["a=b,c"] = users.known["jan"]
    assert login(server(users), Scram("SCRAM-SHA-256", "a=b,c", "secret", "nonce")).principal.name == "a=b,c"
    assert plain_name("a=3Db=2Cc=3D2C") == "a=b,c=2C"
    assert plain_name("a=b") is None


def test_the_holder_of_a_token_comes_in_as_its_owner() -> None:
    users = Users()
    owner = Identity(Principal("User", "owner", by_token=True), 77)
    users.tokens["id"] = Known(make_credential("SCRAM-SHA-256", "hmac", SALT, 4096), owner)
    assert login(server(users), Scram("SCRAM-SHA-256", "id", "hmac", "nonce", by_token=True)) == owner
    # Not without saying that it is a token, nor a user as one.
    for name, password, by_token in (("id", "hmac", False), ("jan", "secret", True)):
        with pytest.raises(AuthenticationFailed, match=INVALID):
            login(server(users), Scram("SCRAM-SHA-256", name, password, "nonce", by_token=by_token))


def test_strangers_hear_what_a_wrong_password_hears() -> None:
    said = {}
    for name in ("jan", "eve"):
        broker, client = server(), Scram("SCRAM-SHA-256", name, "wrong", "nonce")
        challenge = now(broker.answer(client.first())).token
        final = client.answer(challenge)
        assert final is not None
        with pytest.raises(AuthenticationFailed, match=INVALID) as refusal:
            broker.answer(final)
        said[name] = (attributes(challenge) or {}, str(refusal.value))
    assert said["jan"][1] == said["eve"][1]
    assert said["jan"][0].keys() == said["eve"][0].keys()
    assert said["jan"][0]["i"] == said["eve"][0]["i"]
    assert len(said["jan"][0]["s"]) == len(said["eve"][0]["s"])


def test_a_strangers_salt_stays_the_same_and_is_his_own() -> None:
    def salt(name: str, secret: bytes = b"secret") -> str:
        broker = ScramServer("SCRAM-SHA-256", Users(), lambda: "x", secret)
        said = attributes(now(broker.answer(f"n,,n={name},r=nonce".encode())).token)
        assert said is not None
        return said["s"]

    assert salt("eve") == salt("eve")
    assert len({salt("eve"), salt("adam"), salt("eve", b"other")}) == 3


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"\xff\xfe",
        b"n",
        b"n,,",
        b"n,,n=jan",
        b"n,,r=nonce,n=jan",
        b"n,,x=jan,r=nonce",
        b"n,,n=jan,x=nonce",
        b"n,,n=,r=nonce",
        b"n,,n=jan,r=",
        b"n,,n=ja=n,r=nonce",
        b"n,,m=ext,n=jan,r=nonce",
        b"p=tls-unique,,n=jan,r=nonce",
        b"x,,n=jan,r=nonce",
        b"n,jan,n=jan,r=nonce",
        b"n,a=ja=n,n=jan,r=nonce",
        b"n,,n=jan,r=no\x01nce",
        b"n,,n=jan,r=" + b"n" * 513,
        b"\0jan\0secret",
    ],
)
def test_first_messages_that_are_none(first: bytes) -> None:
    with pytest.raises(AuthenticationFailed, match=INVALID):
        server().answer(first)


def test_the_longest_nonce_there_may_be() -> None:
    challenge = now(server().answer(b"n,,n=jan,r=" + b"n" * 512)).token
    assert challenge.startswith(b"r=" + b"n" * 512)


def test_another_authorization_id_is_refused_and_ones_own_is_not() -> None:
    with pytest.raises(AuthenticationFailed, match="authorization id that is different"):
        server().answer(b"n,a=eve,n=jan,r=nonce")
    assert now(server().answer(b"n,a=jan,n=jan,r=nonce")).token


def conversation(change: Callable[[bytes], bytes]) -> None:
    broker, client = server(), Scram("SCRAM-SHA-256", "jan", "secret", "nonce")
    final = client.answer(now(broker.answer(client.first())).token)
    assert final is not None
    broker.answer(change(final))


@pytest.mark.parametrize(
    "change",
    [
        lambda final: b"",
        lambda final: b"\xff" + final,
        lambda final: final.partition(b",p=")[0],
        lambda final: final.replace(b"c=biws", b"c=eSws"),
        lambda final: final.replace(b"of-the-broker", b"of-another"),
        lambda final: final[:-6] + b"AAAAA=",
        lambda final: final.partition(b",p=")[0] + b",p=!!!!",
        lambda final: final.partition(b",p=")[0] + b",p=" + to_base64(bytes(31)).encode(),
        lambda final: final.partition(b",p=")[0] + b",p=" + to_base64(bytes(33)).encode(),
        lambda final: final.partition(b",p=")[0] + b",p=",
        lambda final: final.replace(b",p=", b",x=y,p="),
    ],
)
def test_proofs_that_are_none(change: Callable[[bytes], bytes]) -> None:
    conversation(lambda final: final)
    with pytest.raises(AuthenticationFailed, match=INVALID):
        conversation(change)


@pytest.mark.parametrize(
    ("binding", "right"), [(b"c=biws", True), (b"c=eSws", False), (b"c=", False), (b"x=biws", False)]
)
def test_a_proof_is_about_the_binding_of_the_first_message(binding: bytes, right: bool) -> None:
    broker = server()
    challenge = now(broker.answer(b"n,,n=jan,r=nonce")).token
    final = binding + b",r=nonceof-the-broker"
    spoken = b",".join((b"n=jan,r=nonce", challenge, final))
    mine = client_key("sha256", salted_password("sha256", b"secret", SALT, 4096))
    proof = exclusive_or(mine, keyed("sha256", hashed("sha256", mine), spoken))
    message = final + b",p=" + to_base64(proof).encode()
    if right:
        assert now(broker.answer(message)).identity == Identity(user("jan"))
    else:
        with pytest.raises(AuthenticationFailed, match=INVALID):
            broker.answer(message)


def test_a_nonce_may_stand_before_itself() -> None:
    """As librdkafka has it before version 2.1."""
    broker = server()
    challenge = now(broker.answer(b"n,,n=jan,r=nonce")).token
    key = salted_password("sha256", b"secret", SALT, 4096)
    final = b"c=biws,r=noncenonceof-the-broker"
    spoken = b",".join((b"n=jan,r=nonce", challenge, final))
    mine = client_key("sha256", key)
    proof = exclusive_or(mine, keyed("sha256", hashed("sha256", mine), spoken))
    assert now(broker.answer(final + b",p=" + to_base64(proof).encode())).identity == Identity(user("jan"))


def test_nothing_follows_the_verdict_and_no_proof_is_taken_twice() -> None:
    broker, client = server(), Scram("SCRAM-SHA-256", "jan", "secret", "nonce")
    final = client.answer(now(broker.answer(client.first())).token)
    assert final is not None
    broker.answer(final)
    with pytest.raises(AuthenticationFailed):
        broker.answer(final)


def test_a_false_broker_cannot_keep_a_caller_busy() -> None:
    client = Scram("SCRAM-SHA-256", "jan", "secret", "nonce", most_iterations=16384)
    client.first()
    with pytest.raises(KafkaError, match="no more than 16384"):
        client.answer(b"r=nonce-and-more,s=QSXCR+Q6sek8bf92,i=16385")
