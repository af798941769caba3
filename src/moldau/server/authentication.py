"""A connection before it is known who asks, and when that has to be said again (SASL).

Until then it is offered next to nothing: ApiVersions and SaslHandshake, then SaslAuthenticate until the mechanism is
satisfied. Each of these states is a table of routes that the connection has in place of the whole one, so whoever has
come through pays nothing for it. What is kept for him meanwhile is counted (`strangers`). A client of old
(SaslHandshake version 0) sends its tokens as bare frames, which have a receiver of their own.

A login that fails is answered after `connection.failed.authentication.delay.ms`, whatever was wrong with it, and its
connection closed. A session may have an end (`connections.max.reauth.ms`, or that of a token): the client may log in
again before, as the same user by the same mechanism (KIP-368); from its end on any other request closes the connection.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from enum import Enum
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from moldau.dataclass import replace
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, MoldauError, ProtocolError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from moldau.protocol.messages.sasl_handshake import SaslHandshakeResponse
from moldau.runtime.ports import TimerHandle
from moldau.security.verdict import AuthenticationFailed, Identity, Reply, ServerMechanism, invalid_credentials
from moldau.server.dispatch import Api, Route

if TYPE_CHECKING:
    from moldau.protocol.message import Message
    from moldau.server.connection import Connection
    from moldau.server.context import RequestContext
    from moldau.server.sasl_listener import SaslListener

logger = logging.getLogger("moldau.server")

# Nobody needs so long to say who he is, not even by way of a Kerberos server.
_LOGIN_SECONDS: Final = 60.0
# Clients ask once or twice what there is, before they log in.
_MOST_QUESTIONS: Final = 10
# Kafka's: who has just logged in need not do so again.
_SOONEST_RENEWAL_SECONDS: Final = 1.0
_length = Struct(">i").pack


class Stage(Enum):
    """Where a connection stands, and what it is offered there."""

    BEFORE = frozenset((ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE))
    DURING = frozenset((ApiKey.SASL_AUTHENTICATE,))
    # No empty tuple: Python 3.11.2 makes something else of it.
    LET_IN = frozenset[ApiKey]()
    EXPIRED = frozenset((ApiKey.SASL_HANDSHAKE,))


Told = Callable[[Reply | None, AuthenticationFailed | None], None]


class Authentication:
    """Of one connection of a listener with SASL."""

    __slots__ = (
        "_connection",
        "_identity",
        "_listener",
        "_login_limit",
        "_mechanism",
        "_mechanism_name",
        "_questions",
        "_reauthenticated_at",
        "_session_end",
        "_stage",
    )

    def __init__(self, connection: Connection, listener: SaslListener) -> None:
        self._connection = connection
        self._listener = listener
        self._stage = Stage.BEFORE
        self._mechanism: ServerMechanism | None = None
        # Of the login that counts.
        self._identity: Identity | None = None
        self._mechanism_name = ""
        self._session_end: TimerHandle | None = None
        self._reauthenticated_at = 0.0
        self._login_limit: TimerHandle | None = listener.loop.call_later(_LOGIN_SECONDS, self._too_slow)
        self._questions = 0
        connection.transport.limit_frames(listener.largest_frame, self._kept)
        self._kept(0)
        connection.offer(listener.routes[Stage.BEFORE])

    # ------------------------------------------------------------------------------------------------ its requests

    def refuse(self, api_key: int) -> bool:
        """A request that has no place here and now ends the connection; False if it is none of our business."""
        stage = self._stage
        # Else it is an API or a version that is not there, which is the same for everybody.
        if stage is Stage.LET_IN or api_key in stage.value:
            if stage is Stage.BEFORE:
                self.asks()
            return False
        try:
            name = ApiKey(api_key).name
        except ValueError:
            name = f"key {api_key}"
        if stage is Stage.EXPIRED:
            self._listener.logins.expired += 1
            self._connection.close(f"{name} came after the end of its session")
            return True
        step = "handshake" if stage is Stage.BEFORE else "authentication"
        self._end_later(f"unexpected request of type {name} during SASL {step}")
        return True

    def asks(self) -> None:
        """ProtocolError for whoever only asks what there is, and may not be reading the answers."""
        self._questions += 1
        if self._questions > _MOST_QUESTIONS:
            raise ProtocolError("it asks again and again what there is, and does not say who it is")

    def handshake(self, name: str, version: int) -> SaslHandshakeResponse | Deferred[SaslHandshakeResponse]:
        listener = self._listener
        if self._identity is not None and not self._may_renew():
            return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
        mechanisms = listener.mechanisms
        offered = list(mechanisms.names)
        if name not in offered:
            self._end_later(f"the SASL mechanism {name[:40]!r} is not offered")
            return SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=offered)
        self._mechanism = mechanisms.make(name)
        self._restrict(Stage.DURING)
        response = SaslHandshakeResponse(mechanisms=offered)
        if version > 0:
            self._connection.offer(listener.routes[Stage.DURING])
            return response
        # What arrived behind the handshake is a token already, so it must not be looked at before the answer.
        answer: Deferred[SaslHandshakeResponse] = Deferred()

        def begin() -> None:
            self._connection.transport.attach(BareTokens(self._connection, self))
            answer.resolve(response)

        listener.loop.call_soon(begin)
        return answer

    def authenticate(self, token: bytes) -> SaslAuthenticateResponse | Deferred[SaslAuthenticateResponse]:
        if self._mechanism is None:
            return already_authenticated()
        answer: Deferred[SaslAuthenticateResponse] = Deferred()

        def told(reply: Reply | None, error: AuthenticationFailed | None) -> None:
            if reply is None:
                assert error is not None
                message = error.message
                self._listener.fail_later(lambda: refused(message))
            elif reply.identity is None:
                answer.resolve(SaslAuthenticateResponse(error_message=None, auth_bytes=reply.token))
            else:
                lifetime = self._let_in(reply.identity)
                response = SaslAuthenticateResponse(
                    error_message=None, auth_bytes=reply.token, session_lifetime_ms=lifetime
                )
                # Not at once: what arrived behind this is measured by the new limit only when it is looked at anew.
                self._listener.loop.call_soon(lambda: answer.resolve(response))

        def refused(message: str | None) -> None:
            self._connection.closing = True
            code = ErrorCode.SASL_AUTHENTICATION_FAILED
            answer.resolve(SaslAuthenticateResponse(error_code=code, error_message=message))

        self.step(token, told)
        return answer

    def step(self, token: bytes, told: Told) -> None:
        """One token of the client; `told` hears what becomes of it."""
        mechanism = self._mechanism
        assert mechanism is not None

        def answered(reply: Reply | None, error: BaseException | None) -> None:
            if not self._connection.open:
                return
            if error is None and reply is not None:
                try:
                    self._check_unchanged(reply.identity)
                except AuthenticationFailed as changed:
                    error = changed
            if error is None:
                told(reply, None)
                return
            if not isinstance(error, AuthenticationFailed):
                if not isinstance(error, MoldauError):
                    logger.error("the mechanism %s failed", mechanism.name, exc_info=error)
                error = invalid_credentials(mechanism.name)
            self._listener.logins.note(succeeded=False, again=self._identity is not None)
            logger.info("%s did not log in by %s: %s", self._connection.name, mechanism.name, error.message)
            told(None, error)

        try:
            if self._identity is not None and mechanism.name != self._mechanism_name:
                raise AuthenticationFailed(
                    f"SASL mechanism '{mechanism.name}' requested by client is not supported for re-authentication of "
                    f"mechanism '{self._mechanism_name}'"
                )
            result = mechanism.answer(token)
        except Exception as error:
            answered(None, error)
            return
        if isinstance(result, Deferred):
            result.then(answered)
        else:
            answered(result, None)

    def _check_unchanged(self, identity: Identity | None) -> None:
        before = self._identity
        if identity is None or before is None or identity.principal[:2] == before.principal[:2]:
            return
        (kind, name, _), (new_kind, new_name, _) = before.principal, identity.principal
        raise AuthenticationFailed(
            f"Cannot change principals during re-authentication from {kind}.{name}: {new_kind}.{new_name}"
        )

    # -------------------------------------------------------------------------------------------------- the session

    def _let_in(self, identity: Identity) -> int:
        """How many milliseconds the session lasts, 0 if it has no end."""
        listener, connection = self._listener, self._connection
        assert self._mechanism is not None
        again = self._identity is not None
        listener.logins.note(succeeded=True, again=again)
        self._identity, self._mechanism_name, self._mechanism = identity, self._mechanism.name, None
        self._cancel_timers()
        if again:
            self._reauthenticated_at = listener.clock.monotonic()
        connection.principal = identity.principal
        connection.transport.limit_frames(listener.largest_request)
        listener.strangers.forget(self)
        connection.offer(None)
        self._stage = Stage.LET_IN
        if listener.runs is not None:
            connection.transport.serve_runs(listener.runs.of(connection), connection)
        lifetime = listener.session_ms(self._mechanism_name, identity)
        if lifetime is None:
            return 0
        self._session_end = listener.loop.call_later(lifetime / 1000, self._expire)
        return lifetime

    def let_in(self, identity: Identity) -> None:
        """For tokens in bare frames, whose sender is told nothing of an end."""
        self._let_in(identity)

    def _may_renew(self) -> bool:
        """Only a session that ends can be renewed, and not more than once a second."""
        if self._listener.session_ms(self._mechanism_name, self._identity) is None:
            return False
        now, before = self._listener.clock.monotonic(), self._reauthenticated_at
        return not before or now - before >= _SOONEST_RENEWAL_SECONDS

    def _expire(self) -> None:
        self._session_end = None
        if self._stage is Stage.LET_IN:
            self._restrict(Stage.EXPIRED)
            self._connection.offer(self._listener.routes[Stage.EXPIRED])

    def _restrict(self, stage: Stage) -> None:
        """Nobody but the connection itself serves it from here on, since only that knows what it is offered."""
        self._stage = stage
        self._connection.transport.serve_runs(None, self._connection)

    # ------------------------------------------------------------------------------------------------------ the end

    def _end_later(self, reason: str) -> None:
        """Takes nothing more, and ends after the time that every failed login takes."""
        self._connection.hold()
        self._listener.fail_later(lambda: self._connection.close(reason))

    def fail_later(self, then: Callable[[], None]) -> None:
        self._listener.fail_later(then)

    def soon(self, then: Callable[[], None]) -> None:
        self._listener.loop.call_soon(then)

    def _kept(self, count: int) -> None:
        """So many bytes of his frames are kept. What he calls himself is, too."""
        names = 2 * len(self._connection.client_bytes)
        self._listener.strangers.keep(self, self._listener.stranger_bytes + names + count)

    @property
    def is_stranger(self) -> bool:
        return self._identity is None

    def give_way(self) -> None:
        self._connection.close("others wanted to log in, and it has been here for longest without doing so")

    def _too_slow(self) -> None:
        self._login_limit = None
        self._connection.close("it has not said in time who it is")

    def _cancel_timers(self) -> None:
        for timer in (self._login_limit, self._session_end):
            if timer is not None:
                timer.cancel()
        self._login_limit = self._session_end = None

    def closed(self) -> None:
        self._listener.strangers.forget(self)
        self._cancel_timers()
        self._mechanism = None


class BareTokens:
    """The receiver of a connection between SaslHandshake version 0 and its last token: every frame is one."""

    def __init__(self, connection: Connection, authentication: Authentication) -> None:
        self._connection = connection
        self._authentication = authentication

    def frame(self, data: memoryview, start: int, end: int) -> None:
        connection = self._connection
        connection.requests += 1
        connection.hold()
        self._authentication.step(bytes(data[start:end]), self._told)

    def _told(self, reply: Reply | None, error: AuthenticationFailed | None) -> None:
        connection, authentication = self._connection, self._authentication
        if reply is None:
            # There is no way to say why.
            authentication.fail_later(lambda: connection.close("it did not log in"))
            return
        connection.send([_length(len(reply.token)) + reply.token])
        if reply.identity is None:
            connection.release()
            return
        authentication.let_in(reply.identity)

        def done() -> None:
            connection.transport.attach(connection)
            connection.release()

        authentication.soon(done)

    def drained(self) -> None:
        pass

    def closed(self, reason: str | None) -> None:
        self._connection.closed(reason)


def already_authenticated() -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )


def routes_by_stage(routes: Mapping[int, Route]) -> dict[Stage, dict[int, Route]]:
    """The parts of a table that are offered while nothing else is."""
    offered = {
        stage: {number: route for number, route in routes.items() if route.api.key in stage.value} for stage in Stage
    }
    for number, route in offered[Stage.BEFORE].items():
        if route.api.key == ApiKey.API_VERSIONS:
            offered[Stage.BEFORE][number] = route._replace(api=_counted(route.api))
    return offered


def _counted(api: Api) -> Api:
    def handler(context: RequestContext, request: Message) -> Any:
        authentication = context.connection.authentication
        if authentication is not None:
            authentication.asks()
        return api.handler(context, request)

    return replace(api, handler=handler)
