"""PEM: what stands between BEGIN and END, and how it is written again."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from typing import Final

CERTIFICATE: Final = "CERTIFICATE"

# As generous as Kafka's own reader: text around the blocks, blanks for line ends, headers of older keys.
_BLOCK: Final = re.compile(r"-+BEGIN ([A-Z0-9 ]+?)-+\s+((?:[^\r\n:-]+:[^\r\n]*[\r\n]+)*)([A-Za-z0-9+/=\s]*)-+END \1-+")
_LINE: Final = 64


class PemError(ValueError):
    """Something between BEGIN and END that cannot be read."""


def certificates(text: str) -> list[bytes]:
    """All certificates in it, in DER."""
    return [_decoded(body) for label, _, body in _BLOCK.findall(text) if label == CERTIFICATE]


def private_key(text: str) -> str | None:
    """The first private key in it, locked or not, as a block of its own."""
    for label, headers, body in _BLOCK.findall(text):
        if label.endswith("PRIVATE KEY"):
            if headers:
                # Keys of the older kind say before the key how they are locked.
                return f"-----BEGIN {label}-----\n{headers.strip()}\n\n{_lines(_decoded(body))}-----END {label}-----\n"
            return block(label, _decoded(body))
    return None


def block(label: str, data: bytes) -> str:
    return f"-----BEGIN {label}-----\n{_lines(data)}-----END {label}-----\n"


def _lines(data: bytes) -> str:
    text = b64encode(data).decode()
    return "".join(f"{text[at : at + _LINE]}\n" for at in range(0, len(text), _LINE))


def _decoded(body: str) -> bytes:
    try:
        return b64decode("".join(body.split()), validate=True)
    except NotBase64:
        raise PemError("a block of PEM is not base64") from None
