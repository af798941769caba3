"""A scripted peer that lets nobody in without SCRAM-SHA-512."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from typing import Any

from scripted_peer import ScriptedPeer, metadata

from moldau.client.sasl import mechanism_maker
from moldau.client.security import Security
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from moldau.protocol.messages.sasl_handshake import SaslHandshakeResponse


class ScramBroker:
    """The broker's side of SCRAM-SHA-512 for one user, by the book."""

    def __init__(self, password: bytes, lifetime_ms: int = 0) -> None:
        self._salted = hashlib.pbkdf2_hmac("sha512", password, b"salt", 4096)
        self._lifetime_ms = lifetime_ms
        self._spoken: list[bytes] = []
        self.sessions = 0

    def handshake(self, _version: int, request: Any) -> SaslHandshakeResponse:
        self._spoken = []
        known = request.mechanism == "SCRAM-SHA-512"
        return SaslHandshakeResponse(error_code=0 if known else 33, mechanisms=["SCRAM-SHA-512"])

    def authenticate(self, _version: int, request: Any) -> Any:
        if not self._spoken:
            bare = request.auth_bytes.removeprefix(b"n,,")
            challenge = bare.split(b",r=")[1] + b"-broker"
            self._spoken = [bare, b"r=" + challenge + b",s=" + b64encode(b"salt") + b",i=4096"]
            return SaslAuthenticateResponse(auth_bytes=self._spoken[1])
        final, _, proof = request.auth_bytes.rpartition(b",p=")
        spoken = b",".join([*self._spoken, final])
        key = hmac.digest(self._salted, b"Client Key", "sha512")
        signature = hmac.digest(hashlib.sha512(key).digest(), spoken, "sha512")
        if b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))) != proof:
            return SaslAuthenticateResponse(error_code=58, error_message="wrong password")
        self.sessions += 1
        verdict = hmac.digest(hmac.digest(self._salted, b"Server Key", "sha512"), spoken, "sha512")
        return SaslAuthenticateResponse(auth_bytes=b"v=" + b64encode(verdict), session_lifetime_ms=self._lifetime_ms)


def broker_with(scram: ScramBroker) -> ScriptedPeer:
    peer = ScriptedPeer(
        {
            ApiKey.SASL_HANDSHAKE: scram.handshake,
            ApiKey.SASL_AUTHENTICATE: scram.authenticate,
            ApiKey.METADATA: lambda _version, _request: metadata({1: peer.address}),
        }
    )
    return peer


def secured_by(name: str, password: str) -> Security:
    return Security(mechanism=mechanism_maker(name, "jan", password, None))
