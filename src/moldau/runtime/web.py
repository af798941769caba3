"""Documents from the web, on a worker: one answer, bounded in time and in bytes, and nobody followed elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
)

from moldau.runtime.ports import WebRefusal

_READ: Final = 64 * 1024


def fetch(
    url: str, seconds: float, most_bytes: int, headers: Sequence[tuple[str, str]] = (), body: bytes | None = None
) -> bytes:
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("it is neither an http nor an https address")
    deadline = time.monotonic() + seconds
    request = Request(url, body, {"Accept": "application/json", "User-Agent": "moldau", **dict(headers)})
    content = bytearray()
    # Without the handlers that follow redirections: where keys are is for the settings to say, not for who answers.
    opener = OpenerDirector()
    for handler in (HTTPHandler(), HTTPSHandler(), HTTPDefaultErrorHandler(), HTTPErrorProcessor()):
        opener.add_handler(handler)
    try:
        with opener.open(request, timeout=seconds) as answer:
            while part := answer.read1(_READ):
                content += part
                if len(content) > most_bytes:
                    raise OSError(f"it is longer than {most_bytes} bytes")
                if time.monotonic() > deadline:
                    raise OSError("it took too long")
    except HTTPError as error:
        error.close()
        raise WebRefusal(error.code) from None
    return bytes(content)
