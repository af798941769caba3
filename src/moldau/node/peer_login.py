"""Who this node is to others, where their listeners want to know: its login, from the JAAS line of that listener.

As in Kafka the line is the one for those who come here by the same listener and mechanism; it holds the node's own
name and password (`username`, `password`) beside those of others.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.config.listeners import SecurityProtocol
from moldau.links.security import Mechanism
from moldau.runtime.ports import Random

if TYPE_CHECKING:
    from moldau.security.jaas import JaasEntry

_NONCE_BYTES: Final = 24
# Salted passwords that are remembered: of one login, so there is one for each salt the cluster ever had for it.
_REMEMBERED: Final = 16


def peer_login(config: BrokerConfig, listener: str, mechanism: str, random: Random) -> Callable[[], Mechanism] | None:
    """Makes a login for one connection after the other; None where there is none. ConfigError if there cannot be."""
    if config.listener_protocols[listener] not in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL):
        return None
    # What follows is slow to load, and of no use to nodes without SASL.
    from moldau.security.jaas import PLAIN_MODULE, SCRAM_MODULE
    from moldau.security.logins import Plain
    from moldau.security.scram_credential import HASHES
    from moldau.server.sasl_mechanisms import jaas_setting, needed_entry

    setting = jaas_setting(listener, mechanism)
    if mechanism == "PLAIN":
        username, password = _name_and_password(needed_entry(config, listener, mechanism, PLAIN_MODULE), setting)
        return lambda: Plain(username, password)
    if mechanism in HASHES:
        entry = needed_entry(config, listener, mechanism, SCRAM_MODULE)
        return _scram(mechanism, *_name_and_password(entry, setting), random)
    raise ConfigError(
        f"nodes cannot log in at each other by {mechanism}: the mechanism towards the listener {listener} must be one "
        f"of PLAIN, {', '.join(HASHES)}"
    )


def _name_and_password(entry: JaasEntry, setting: str) -> tuple[str, str]:
    username, password = entry.options.get("username"), entry.options.get("password")
    if not username or not password:
        raise ConfigError(f"{setting} cannot be used: it must give the username and the password of this node")
    return username, password


def _scram(mechanism: str, username: str, password: str, random: Random) -> Callable[[], Mechanism]:
    from moldau.security.logins import Scram
    from moldau.security.scram import salted_password
    from moldau.security.scram_credential import MOST_ITERATIONS

    remembered: dict[tuple[bytes, int], bytes] = {}

    def salting(hash_name: str, secret: bytes, salt: bytes, iterations: int) -> bytes:
        """Some milliseconds, on the loop, but for the first connection only."""
        known = remembered.get((salt, iterations))
        if known is None:
            if len(remembered) >= _REMEMBERED:
                remembered.clear()
            known = remembered[salt, iterations] = salted_password(hash_name, secret, salt, iterations)
        return known

    def make() -> Mechanism:
        nonce = b64encode(random.bytes(_NONCE_BYTES)).decode()
        return Scram(mechanism, username, password, nonce, most_iterations=MOST_ITERATIONS, salting=salting)

    return make
