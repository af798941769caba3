"""Kerberos by way of the package `gssapi`, where it is installed: both sides of one authentication.

Everything here reads files, computes for a moment or waits for a distribution centre: jobs for workers. OSError for
whatever is wrong, ConnectionError where no centre answers.
"""

from __future__ import annotations

from typing import Any, Final

# KRB5_KDC_UNREACH and KRB5_REALM_CANT_RESOLVE of MIT's library.
_NOBODY_THERE: Final = (-1765328228 & 0xFFFFFFFF, -1765328164 & 0xFFFFFFFF)


def _gssapi() -> Any:
    try:
        import gssapi
    except ImportError:
        raise OSError("the Python package gssapi is not installed") from None
    return gssapi


class _Context:
    """What both sides do once they have begun."""

    def __init__(self, context: Any, failure: type[Exception]) -> None:
        self.complete = False
        self._context = context
        self._failure = failure

    def step(self, token: bytes | None) -> bytes:
        try:
            answer: bytes | None = self._context.step(token)
            # A refusal may come as a token for the client; asking whether all is done then raises what was wrong.
            self.complete = bool(self._context.complete)
        except self._failure as error:
            raise _refusal(error) from None
        return answer or b""

    def wrap(self, message: bytes) -> bytes:
        try:
            return bytes(self._context.wrap(message, False).message)
        except self._failure as error:
            raise _refusal(error) from None

    def unwrap(self, message: bytes) -> bytes:
        try:
            return bytes(self._context.unwrap(message).message)
        except self._failure as error:
            raise _refusal(error) from None


class GssapiAcceptor(_Context):
    def __init__(self, principal: str, key_table: str) -> None:
        gssapi = _gssapi()
        failure: type[Exception] = gssapi.exceptions.GSSError
        try:
            name = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
            credentials = gssapi.Credentials(name=name, usage="accept", store={"keytab": key_table})
            super().__init__(gssapi.SecurityContext(creds=credentials, usage="accept"), failure)
        except failure as error:
            raise OSError(f"{key_table} has no key that can be used for {principal}: {_words(error)}") from None

    @property
    def initiator(self) -> str:
        return str(self._context.initiator_name)


class GssapiInitiator(_Context):
    """With a key table tickets are had when they are needed, and kept in this process; without one they are those of
    `cache`, or of the user who has logged in (kinit). `service` is SERVICE@HOST, or a name as `gssapi` has them."""

    def __init__(self, service: Any, principal: str = "", key_table: str = "", cache: str = "") -> None:
        gssapi = _gssapi()
        failure: type[Exception] = gssapi.exceptions.GSSError
        if key_table:
            place = {"client_keytab": key_table, "ccache": f"MEMORY:moldau {principal} {key_table}"}
        else:
            place = {"ccache": cache} if cache else {}
        try:
            named = gssapi.Name(service, gssapi.NameType.hostbased_service) if isinstance(service, str) else service
            who = gssapi.Name(principal, gssapi.NameType.kerberos_principal) if principal else None
            credentials = gssapi.Credentials(name=who, usage="initiate", store=place or None)
            context = gssapi.SecurityContext(
                name=named, creds=credentials, usage="initiate", mech=gssapi.MechType.kerberos
            )
            super().__init__(context, failure)
        except failure as error:
            raise _refusal(error) from None


def _refusal(error: Any) -> OSError:
    return (ConnectionError if error.min_code in _NOBODY_THERE else OSError)(_words(error))


def _words(error: Exception) -> str:
    return " ".join(str(error).split())
