"""Where a login looks users and delegation tokens up: in the cluster's metadata."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Final

from moldau.deferred import Deferred, ready
from moldau.metadata.credentials import ScramKey
from moldau.security.principal import Principal
from moldau.security.scram_credential import FEWEST_ITERATIONS, NUMBERS, ScramCredential
from moldau.security.verdict import Identity

if TYPE_CHECKING:
    from moldau.security.delegation_token import DelegationToken
    from moldau.security.scram_server import Known
    from moldau.server.context import Services

_SALT_BYTES: Final = 24
# Credentials of tokens that are remembered; for others they are worked out anew.
_REMEMBERED: Final = 10_000


class NodeCredentials:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._of_tokens: dict[tuple[str, str], ScramCredential] = {}

    def user(self, mechanism: str, name: str) -> ScramCredential | None:
        return self._services.metadata.image.scram.get(ScramKey(NUMBERS[mechanism], name))

    def token(self, mechanism: str, token_id: str) -> Deferred[Known | None]:
        services = self._services
        token, secret = services.metadata.image.tokens.get(token_id), services.config.delegation_token_secret_key
        if token is None or secret is None or token.expiry_ms < services.runtime.clock.now_ms():
            return ready(None)
        credential = self._of_tokens.get((mechanism, token_id))
        if credential is not None:
            return ready(_known(token, credential))
        return self._work_out(mechanism, token, secret.value)

    def _work_out(self, mechanism: str, token: DelegationToken, secret: str) -> Deferred[Known | None]:
        """Milliseconds of hashing, which are not spent on the loop."""
        from moldau.security.scram import make_credential
        from moldau.security.token_hmac import token_hmac

        password = b64encode(token_hmac(secret, token.id)).decode()
        salt = self._services.runtime.random.bytes(_SALT_BYTES)
        answer: Deferred[Known | None] = Deferred()

        def done(credential: ScramCredential | None, error: BaseException | None) -> None:
            if credential is None:
                assert error is not None
                answer.fail(error)
                return
            if len(self._of_tokens) >= _REMEMBERED:
                self._of_tokens.clear()
            self._of_tokens[mechanism, token.id] = credential
            answer.resolve(_known(token, credential))

        self._services.runtime.workers.submit(
            lambda: make_credential(mechanism, password, salt, FEWEST_ITERATIONS), done
        )
        return answer


def _known(token: DelegationToken, credential: ScramCredential) -> Known:
    from moldau.security.scram_server import Known

    return Known(credential, Identity(Principal(token.owner.kind, token.owner.name, True), token.expiry_ms))
