"""Tokens of OAUTHBEARER as properties of a client name them, in a process of their own right."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from moldau.client.chance import random
from moldau.client.sasl import AbstractTokenProvider
from moldau.runtime.clock import SystemClock
from moldau.runtime.web import fetch
from moldau.security.token_source import Outside, TokenSettings, TokenSource


class IssuedTokens(AbstractTokenProvider):
    def __init__(self, settings: TokenSettings) -> None:
        super().__init__()
        self._source = TokenSource(settings, Outside(fetch, _read, SystemClock(), random))

    def token(self) -> str:
        return self._source.token()

    def extensions(self) -> Mapping[str, str]:
        return self._source.extensions()


def _read(path: str) -> bytes:
    return Path(path).read_bytes()
