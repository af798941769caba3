"""Where a login looks users and delegation tokens up: in the cluster's metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from moldau.deferred import Deferred, ready
from moldau.metadata.credentials import ScramKey
from moldau.security.scram_credential import NUMBERS, ScramCredential

if TYPE_CHECKING:
    from moldau.metadata.image import MetadataImage
    from moldau.security.scram_server import Known


class NodeCredentials:
    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        self._image = image

    def user(self, mechanism: str, name: str) -> ScramCredential | None:
        return self._image().scram.get(ScramKey(NUMBERS[mechanism], name))

    def token(self, mechanism: str, token_id: str) -> Deferred[Known | None]:
        return ready(None)
