"""How this node calls others: at a listener of theirs, secured as the settings say of the one of that name."""

from __future__ import annotations

from moldau.config.broker import BrokerConfig
from moldau.links.addresses import Address
from moldau.links.peers import Peers
from moldau.node.peer_login import Logins, peer_login
from moldau.runtime.ports import Runtime, Tls
from moldau.server.listener_tls import ListenerTls, TlsListeners


class PeerSecurity:
    """`links.security.Security` towards one listener of all nodes; certificates are those that count at the time."""

    def __init__(self, tls: ListenerTls | None, login: Logins | None = None) -> None:
        """`login` proves who we are beyond our certificate; None where that is enough, or nobody wants to know."""
        self.mechanism = login
        self._tls = tls

    def tls(self, address: Address) -> Tls | None:
        context = None if self._tls is None else self._tls.calling
        return None if context is None else Tls(context, address.host)


def called_listeners(config: BrokerConfig) -> list[str]:
    """The listeners at which this node calls others: that of brokers and that of controllers. One that is alone calls
    nobody."""
    if config.standalone:
        return []
    controllers = [name.upper() for name in config.controller_listener_names[:1]]
    return [*([config.inter_broker_listener] if config.is_broker else []), *controllers]


def peers_of(config: BrokerConfig, runtime: Runtime, tls: TlsListeners) -> tuple[Peers, Peers]:
    """Those this node asks: controllers, and brokers. Their listeners may be secured differently."""
    controllers = _towards_controllers(config, tls, runtime)
    brokers = _towards_brokers(config, tls, runtime)
    return _peers(config, runtime, controllers), _peers(config, runtime, brokers)


def _towards_controllers(config: BrokerConfig, tls: TlsListeners, runtime: Runtime) -> PeerSecurity:
    names = config.controller_listener_names
    if config.standalone or not names:
        return PeerSecurity(None)
    name = names[0].upper()
    return PeerSecurity(tls.of(name), peer_login(config, name, config.sasl_mechanism_controller_protocol, runtime))


def _towards_brokers(config: BrokerConfig, tls: TlsListeners, runtime: Runtime) -> PeerSecurity:
    if config.standalone or not config.is_broker:
        return PeerSecurity(None)
    name = config.inter_broker_listener
    return PeerSecurity(tls.of(name), peer_login(config, name, config.sasl_mechanism_inter_broker_protocol, runtime))


def _peers(config: BrokerConfig, runtime: Runtime, security: PeerSecurity) -> Peers:
    return Peers(
        runtime.clock,
        runtime.loop,
        runtime.network,
        runtime.random,
        f"node-{config.node_id}",
        connect_timeout=config.socket_connection_setup_timeout_ms / 1000,
        security=security,
    )
