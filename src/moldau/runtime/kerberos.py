"""Kerberos by way of the package `gssapi`, where it is installed: the service's side of one authentication."""

from __future__ import annotations

from typing import Any


class GssapiAcceptor:
    """Everything here reads files or computes for a moment: jobs for workers. OSError for whatever is wrong."""

    def __init__(self, principal: str, key_table: str) -> None:
        try:
            import gssapi
        except ImportError:
            raise OSError("the Python package gssapi is not installed") from None
        self.complete = False
        self._failure: type[Exception] = gssapi.exceptions.GSSError
        try:
            name = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
            credentials = gssapi.Credentials(name=name, usage="accept", store={"keytab": key_table})
            self._context: Any = gssapi.SecurityContext(creds=credentials, usage="accept")
        except self._failure as error:
            raise OSError(f"{key_table} has no key that can be used for {principal}: {_words(error)}") from None

    @property
    def initiator(self) -> str:
        return str(self._context.initiator_name)

    def step(self, token: bytes) -> bytes:
        try:
            answer: bytes | None = self._context.step(token)
            # A refusal may come as a token for the client; asking whether all is done then raises what was wrong.
            self.complete = bool(self._context.complete)
        except self._failure as error:
            raise OSError(_words(error)) from None
        return answer or b""

    def wrap(self, message: bytes) -> bytes:
        try:
            return bytes(self._context.wrap(message, False).message)
        except self._failure as error:
            raise OSError(_words(error)) from None

    def unwrap(self, message: bytes) -> bytes:
        try:
            return bytes(self._context.unwrap(message).message)
        except self._failure as error:
            raise OSError(_words(error)) from None


def _words(error: Exception) -> str:
    return " ".join(str(error).split())
