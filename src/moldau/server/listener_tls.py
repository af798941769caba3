"""TLS of the listeners of a node: set up when it starts, renewed while it runs.

Stores are read again when a setting changes and when their files do. What was set up counts for new connections; those
that exist go on as they are. A store that is no good is refused, to whoever set it or in the log, and what was there
before stays.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.deferred import Deferred, ready
from moldau.runtime.ports import Runtime, TlsContext, TlsRules
from moldau.security.principal import ANONYMOUS, Principal, user

if TYPE_CHECKING:
    from moldau.security.tls import ListenerSettings

logger = logging.getLogger("moldau.server")

# How often files are looked at. Only their times and sizes: a store is read when one of these changed.
LOOK_SECONDS: Final = 10.0

_Stamp = tuple[tuple[str, int, int], ...]


class _Refusal(NamedTuple):
    listener: str
    stamp: _Stamp
    error: ConfigError


class ListenerTls:
    """How a listener lets in, and how this node calls the one of the same name elsewhere, as of now."""

    def __init__(
        self,
        settings: ListenerSettings,
        rules: TlsRules,
        stamp: _Stamp,
        accepting: TlsContext | None,
        calling: TlsContext | None,
    ) -> None:
        self.settings = settings
        self.rules = rules
        # The files it was read from, as they were.
        self.stamp = stamp
        self.accepting = accepting
        self.calling = calling
        self._mapping = settings.mapping()

    def take(self, new: ListenerTls) -> bool:
        """Goes on as the other one, for new connections; False if that is no difference to anybody."""
        is_new = new.rules != self.rules
        if is_new:
            self.rules, self.accepting, self.calling = new.rules, new.accepting, new.calling
        self.settings, self.stamp, self._mapping = new.settings, new.stamp, new._mapping
        return is_new

    def current(self) -> TlsContext:
        """For the next connection that is accepted."""
        assert self.accepting is not None
        return self.accepting

    def principal(self, certificate: bytes | None) -> Principal:
        """Who has shown this certificate; ValueError if nobody can be named by it."""
        if certificate is None or not self.settings.names_by_certificate:
            return ANONYMOUS
        from moldau.security.certificate import Certificate

        return user(self._mapping.name(Certificate(certificate).subject))


class TlsListeners:
    """`called` are the listeners of other nodes that this one calls, whether or not it has one of the name itself."""

    def __init__(self, config: BrokerConfig, runtime: Runtime, called: Collection[str]) -> None:
        self._runtime = runtime
        self._network, self._disk = runtime.network, runtime.disk
        self._called = frozenset(called)
        own = {each.name: each.security_protocol for each in (*config.broker_endpoints, *config.controller_endpoints)}
        everywhere = {**{name: config.listener_protocols[name] for name in called}, **own}
        self._own = frozenset(own)
        self._protocols = {name: protocol for name, protocol in everywhere.items() if protocol.uses_tls}
        self._config = config
        self._listeners = {name: self._build(config, name) for name in self._protocols}
        # What was no good when it was read last: it is told once.
        self._refused: dict[str, _Stamp] = {}
        self._busy = False
        self._again: BrokerConfig | None = None
        if self._listeners:
            self._look_later()

    def of(self, listener: str) -> ListenerTls | None:
        return self._listeners.get(listener)

    def check(self, config: BrokerConfig, changed: Collection[str]) -> Deferred[None]:
        """Whether these settings could take the place of those that count, after a change of those named; ConfigError
        with the first reason if not."""
        if not self._listeners or not any("ssl." in name for name in changed):
            return ready(None)
        checked: Deferred[None] = Deferred()

        def done(_value: object, error: BaseException | None) -> None:
            if error is None:
                checked.resolve(None)
            else:
                checked.fail(error)

        self._runtime.workers.submit(lambda: self._renewed(config, keeps_names=True), done)
        return checked

    def reconfigure(self, config: BrokerConfig) -> None:
        """Settings have changed, and were checked before."""
        self._config = config
        if not self._listeners:
            return
        if self._busy:
            self._again = config
            return
        self._renew(keeps_names=False)

    # ------------------------------------------------------------------------------------------------------ renewing

    def _look_later(self) -> None:
        self._runtime.loop.call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._look_later()
        if not self._busy:
            self._renew(keeps_names=True)

    def _renew(self, *, keeps_names: bool) -> None:
        """Builds anew what has changed, and puts it in the place of what there is."""
        config = self._config
        self._busy = True

        def job() -> list[ListenerTls | _Refusal]:
            return self._renewed(config, keeps_names=keeps_names, told=self._refused)

        def done(renewed: list[ListenerTls | _Refusal] | None, error: BaseException | None) -> None:
            self._busy = False
            if error is not None:
                logger.error("the certificates could not be renewed: %s", error)
            for each in renewed or ():
                self._take(each)
            if self._again is not None:
                self._again = None
                self._renew(keeps_names=False)

        self._runtime.workers.submit(job, done)

    def _take(self, renewed: ListenerTls | _Refusal) -> None:
        if isinstance(renewed, _Refusal):
            self._refused[renewed.listener] = renewed.stamp
            logger.error("the certificates stay as they were: %s", renewed.error)
            return
        name = renewed.settings.listener
        self._refused.pop(name, None)
        is_new = self._listeners[name].take(renewed)
        if is_new:
            logger.info("the listener %s uses new certificates or rules from now on", name)

    def _renewed(
        self, config: BrokerConfig, *, keeps_names: bool, told: Mapping[str, _Stamp] | None = None
    ) -> list[ListenerTls | _Refusal]:
        """What is different now. Without `told` the first refusal is raised; with it all are returned that are news."""
        found: list[ListenerTls | _Refusal] = []
        for name, old in self._listeners.items():
            settings = self._settings(config, name)
            stamp = self._stamp(settings)
            same = settings.values() == old.settings.values()
            if same and (stamp == old.stamp or (told is not None and stamp == told.get(name))):
                continue
            try:
                new = self._build(config, name)
                self._check_change(old, new, keeps_names=keeps_names)
            except ConfigError as error:
                if told is None:
                    raise
                found.append(_Refusal(name, stamp, error))
            else:
                found.append(new)
        return found

    def _check_change(self, old: ListenerTls, new: ListenerTls, *, keeps_names: bool) -> None:
        if keeps_names:
            new.settings.check_replacement(old.rules, new.rules)
        if new.accepting is not None and new.calling is not None:
            # Other nodes come to the new certificates one after the other.
            self._check_agreement(new, new.rules, old.rules)
            self._check_agreement(new, old.rules, new.rules)

    # ------------------------------------------------------------------------------------------------------- building

    def _settings(self, config: BrokerConfig, name: str) -> ListenerSettings:
        # What reads certificates and stores is loaded by those who have some.
        from moldau.security.tls import ListenerSettings

        return ListenerSettings(config, name, self._protocols[name])

    def _build(self, config: BrokerConfig, name: str) -> ListenerTls:
        settings = self._settings(config, name)
        # Before it is read: what changes meanwhile is read again.
        stamp = self._stamp(settings)
        rules = settings.rules(self._disk.read_file)
        listens = name in self._own
        if listens and not rules.keys:
            raise settings.refusal("it has no certificate to show; set ssl.keystore.location, or ssl.keystore.key")
        try:
            accepting = self._network.secure(rules, accepting=True) if listens else None
            calling = self._network.secure(rules, accepting=False) if name in self._called else None
        except ValueError as error:
            raise settings.refusal(str(error)) from None
        built = ListenerTls(settings, rules, stamp, accepting, calling)
        if accepting is not None and calling is not None:
            self._check_agreement(built, rules, rules)
        return built

    def _check_agreement(self, listener: ListenerTls, accepting: TlsRules, calling: TlsRules) -> None:
        refusal = self._network.shake_hands(accepting, calling)
        if refusal is not None:
            raise listener.settings.refusal(
                f"nodes could not call each other at it, because a node would not accept another one: {refusal}"
            )

    def _stamp(self, settings: ListenerSettings) -> _Stamp:
        return tuple((path, *self._stamp_of(path)) for path in settings.files())

    def _stamp_of(self, path: str) -> tuple[int, int]:
        try:
            return self._disk.modified_ms(path), self._disk.size(path)
        except OSError:
            return -1, -1
