"""What TLS connections are made by: contexts of the `ssl` module, from rules that others have put together."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from moldau.dataclass import replace
from moldau.runtime.ports import TlsKey, TlsRules

_VERSIONS: Final = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}

# The suites of TLS 1.3, in the order in which OpenSSL prefers them. The `ssl` module cannot leave one out. So at the
# accepting end, which chooses, only the last ones may be: nobody who has the first ever comes to them.
_OF_TLS_1_3: Final = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")

# Key exchange, bits of AES, what follows them: ECDHE-RSA-AES128-GCM-SHA256. Without the first it is RSA.
_OPENSSL_NAME: Final = re.compile(r"(?:([A-Z-]+)-)?(?:AES(128|256)-([A-Z0-9-]+)|CHACHA20-POLY1305)")

# What a handshake in memory passes to and fro at most, until both ends are done or never will be.
_ROUNDS: Final = 10


class Context(ssl.SSLContext):
    """Knows which suites of TLS 1.3 it was asked for; None for all."""

    suites: frozenset[str] | None = None

    def refuses(self, suite: str) -> bool:
        """Whether a connection has come to a suite that was not asked for."""
        return self.suites is not None and suite in _OF_TLS_1_3 and suite not in self.suites


def make_context(rules: TlsRules, *, accepting: bool) -> Context:
    """ValueError with a sentence where the rules cannot be met."""
    context = Context(ssl.PROTOCOL_TLS_SERVER if accepting else ssl.PROTOCOL_TLS_CLIENT)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    # As for Java, whoever stands in the trust store is trusted, be it in the middle of a chain.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    _set_versions_and_ciphers(context, rules, accepting=accepting)
    # OpenSSL holds one certificate for each kind of key, and the last one loaded counts; here it is the first.
    for key in reversed(rules.keys):
        _load_key(context, key)
    if accepting:
        context.verify_mode = _CLIENT_AUTH[rules.client_auth]
    else:
        context.check_hostname = rules.checks_name
    if context.verify_mode is not ssl.CERT_NONE:
        _trust(context, rules.trusted, accepting=accepting)
    return context


def shake_hands(accepting: TlsRules, calling: TlsRules) -> str | None:
    """Why these two ends would not understand each other, if so. Nothing leaves the process."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        client = make_context(replace(calling, checks_name=False), accepting=False)
        server = make_context(accepting, accepting=True)
    except ValueError as error:
        return str(error)
    ends = (client.wrap_bio(to_client, to_server), server.wrap_bio(to_server, to_client, server_side=True))
    waiting = set(ends)
    for _ in range(_ROUNDS):
        for end in ends:
            try:
                end.do_handshake()
                waiting.discard(end)
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as error:
                return tls_reason(error)
        if not waiting:
            break
    try:
        # With TLS 1.3 the calling end believes that it is done before its own certificate has been looked at.
        ends[1].read(1)
    except ssl.SSLWantReadError:
        return None
    except ssl.SSLError as error:
        return tls_reason(error)
    return "the TLS handshake did not come to its end"


def tls_reason(error: ssl.SSLError) -> str:
    """In a few words, without the library's own source lines."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({error.verify_message.rstrip('.')})"
    words = (error.reason or str(error)).replace("_", " ").lower()
    begin, alert, what = words.partition(" alert ")
    if alert and " " not in begin:
        return f"the other end broke off the TLS handshake ({what})"
    return f"the TLS handshake failed ({words})"


# ------------------------------------------------------------------------------------------------ versions and ciphers


def _set_versions_and_ciphers(context: Context, rules: TlsRules, *, accepting: bool) -> None:
    lowest, highest = (_VERSIONS[name] for name in rules.versions)
    if rules.ciphers:
        modern = [name for name in _OF_TLS_1_3 if name in rules.ciphers]
        older = [_openssl_name(name) for name in rules.ciphers if name not in _OF_TLS_1_3]
        if older:
            _set_older_ciphers(context, older)
        else:
            lowest = ssl.TLSVersion.TLSv1_3
        if not modern:
            highest = min(highest, ssl.TLSVersion.TLSv1_2)
        elif accepting and tuple(modern) != _OF_TLS_1_3[: len(modern)]:
            raise ValueError(
                f"of the cipher suites of TLS 1.3 only the last of {', '.join(_OF_TLS_1_3)} can be left out, not the "
                "first: name those before them too"
            )
        context.suites = frozenset(modern)
    if lowest > highest:
        raise ValueError("none of the cipher suites belongs to the versions of TLS that are allowed")
    context.minimum_version, context.maximum_version = lowest, highest


def _set_older_ciphers(context: Context, names: list[str]) -> None:
    for name in names:
        try:
            context.set_ciphers(name)
        except ssl.SSLError:
            raise ValueError(f"the cipher suite {name} is not known, or considered too weak") from None
    context.set_ciphers(":".join(names))


def _openssl_name(name: str) -> str:
    """TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ECDHE-RSA-AES128-GCM-SHA256 there; its own names stay as they are."""
    exchange, with_, cipher = name.removeprefix("TLS_").partition("_WITH_")
    if not with_:
        return name
    cipher = re.sub(r"AES_(128|256)_(CBC_)?", r"AES\1_", cipher)
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    parts = cipher if exchange == "RSA" else f"{exchange}_{cipher}"
    return parts.replace("_", "-")


def standard_name(name: str) -> str:
    """And back, for the ciphers that are still in use."""
    found = _OPENSSL_NAME.fullmatch(name)
    if found is None:
        return name
    exchange, bits, rest = found[1] or "RSA", found[2], found[3]
    if bits is None:
        cipher = "CHACHA20_POLY1305_SHA256"
    else:
        cipher = f"AES_{bits}_{rest if rest.startswith(('GCM', 'CCM')) else f'CBC_{rest}'}"
    return f"TLS_{exchange}_WITH_{cipher}".replace("-", "_")


# ------------------------------------------------------------------------------------------------------ certificates


def _load_key(context: ssl.SSLContext, key: TlsKey) -> None:
    # A password is always given: OpenSSL would ask whoever sits at the terminal for one.
    with _in_memory(key.key) as key_file, _in_memory(key.chain) as chain_file:
        try:
            context.load_cert_chain(chain_file, key_file, lambda: key.password)
        except (ssl.SSLError, ValueError) as error:
            raise ValueError(_why_no_key(error, key)) from None


def _why_no_key(error: Exception, key: TlsKey) -> str:
    words = str(getattr(error, "reason", None) or error)
    if "MISMATCH" in words:
        return "the private key does not belong to the certificate"
    if "ENCRYPTED" in key.key and ("BAD_DECRYPT" in words or "PEM lib" in str(error) or "decrypt" in words.lower()):
        return "the private key cannot be unlocked with this password" if key.password else "the private key is locked"
    return f"the private key and its certificates cannot be used ({words.replace('_', ' ').lower()})"


def _trust(context: ssl.SSLContext, trusted: str | None, *, accepting: bool) -> None:
    if trusted is None:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH if accepting else ssl.Purpose.SERVER_AUTH)
        return
    try:
        context.load_verify_locations(cadata=trusted)
    except (ssl.SSLError, ValueError) as error:
        words = str(getattr(error, "reason", None) or error).replace("_", " ").lower()
        raise ValueError(f"the trusted certificates cannot be used ({words})") from None


@contextmanager
def _in_memory(text: str) -> Iterator[str]:
    """A file for those who read nothing else. On Linux private keys are not written to a disk for that."""
    if not hasattr(os, "memfd_create"):
        # Other systems have no such file: one that nobody else may read, gone as soon as it was read.
        import tempfile

        with tempfile.NamedTemporaryFile(prefix="pem", buffering=0) as file:
            file.write(text.encode())
            yield file.name
        return
    descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
    try:
        data = text.encode()
        while data:
            data = data[os.write(descriptor, data) :]
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
