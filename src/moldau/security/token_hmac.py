"""What the holder of a delegation token knows of it beside its id: an HMAC of the id by the cluster's secret."""

from __future__ import annotations

import hmac
from typing import Final

_HASH: Final = "sha512"


def token_hmac(secret: str, token_id: str) -> bytes:
    return hmac.digest(secret.encode(), token_id.encode(), _HASH)
