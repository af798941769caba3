"""One listener with SASL: which mechanisms it offers, with which settings, for how long a login counts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from moldau.config.definition import ConfigError
from moldau.dataclass import dataclass
from moldau.runtime.ports import Runs
from moldau.security.verdict import Identity, ServerMechanism
from moldau.server.authentication import Authentication, routes_by_stage
from moldau.server.dispatch import DispatchTable
from moldau.server.sasl_mechanisms import Maker, mechanism_makers
from moldau.server.strangers import PLAIN_BYTES, TLS_BYTES, Strangers

if TYPE_CHECKING:
    from moldau.server.connection import Connection
    from moldau.server.context import Services

logger = logging.getLogger("moldau.server")


class OfferedMechanisms:
    """As the settings have them at one time."""

    def __init__(self, makers: Mapping[str, Maker]) -> None:
        self.names = tuple(makers)
        self._makers = makers

    def make(self, name: str) -> ServerMechanism:
        return self._makers[name]()


@dataclass(slots=True)
class Logins:
    """How many there were."""

    succeeded: int = 0
    failed: int = 0
    renewed: int = 0
    not_renewed: int = 0
    # Connections that were used after the end of their session, and closed for it.
    expired: int = 0

    def note(self, *, succeeded: bool, again: bool) -> None:
        if again:
            self.renewed += succeeded
            self.not_renewed += not succeeded
        else:
            self.succeeded += succeeded
            self.failed += not succeeded


class SaslListener:
    def __init__(
        self,
        name: str,
        table: DispatchTable,
        services: Services,
        runs: Runs | None = None,
        strangers: Strangers | None = None,
        *,
        secure: bool = False,
    ) -> None:
        """`runs` are for those who have logged in; `strangers` are counted together with those of other listeners."""
        self.name = name
        self.runs = runs
        self.strangers = Strangers() if strangers is None else strangers
        self.stranger_bytes = TLS_BYTES if secure else PLAIN_BYTES
        self.loop = services.runtime.loop
        self.clock = services.runtime.clock
        self.logins = Logins()
        self.routes = routes_by_stage(table.routes)
        self._services = services
        self._config = services.config
        self._mechanisms = OfferedMechanisms(mechanism_makers(name, services.config, services))

    def begin(self, connection: Connection) -> Authentication:
        return Authentication(connection, self)

    @property
    def mechanisms(self) -> OfferedMechanisms:
        config = self._services.config
        if config is not self._config:
            # Dynamic settings have changed, perhaps these.
            self._config = config
            try:
                self._mechanisms = OfferedMechanisms(mechanism_makers(self.name, config, self._services))
            except ConfigError as error:
                logger.error("the listener %s keeps its logins as they are: %s", self.name, error)
        return self._mechanisms

    @property
    def largest_request(self) -> int:
        return self._services.config.socket_request_max_bytes

    @property
    def largest_frame(self) -> int:
        """Of somebody nobody knows yet."""
        return min(self._services.config.sasl_server_max_receive_size, self.largest_request)

    def session_ms(self, mechanism: str, identity: Identity | None) -> int | None:
        """How long a login lasts from now on; None for as long as the connection."""
        config = self._services.config
        longest = config.for_listener(type(config).connections_max_reauth_ms, self.name, mechanism)
        limits = [longest] if longest > 0 else []
        if identity is not None and identity.expires_ms is not None:
            limits.append(identity.expires_ms - self.clock.now_ms())
        return max(min(limits), 0) if limits else None

    def fail_later(self, then: Callable[[], None]) -> None:
        delay_ms = self._services.config.connection_failed_authentication_delay_ms
        if delay_ms > 0:
            self.loop.call_later(delay_ms / 1000, then)
        else:
            self.loop.call_soon(then)
