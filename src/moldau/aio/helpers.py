"""`create_ssl_context`, which programs that use aiokafka make their TLS settings with."""

from __future__ import annotations

import ssl


def create_ssl_context(
    *,
    cafile: str | None = None,
    capath: str | None = None,
    cadata: str | bytes | None = None,
    certfile: str | None = None,
    keyfile: str | None = None,
    password: str | bytes | None = None,
    crlfile: str | None = None,
) -> ssl.SSLContext:
    """For `ssl_context`: checks the broker against the given authorities, or against the system's if none are given."""
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=cafile, capath=capath, cadata=cadata)
    if certfile is not None:
        context.load_cert_chain(certfile, keyfile, password)
    if crlfile is not None:
        context.load_verify_locations(crlfile)
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    return context
