"""What the settings of a listener make of each SASL mechanism that it offers."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.security.jaas import KERBEROS_MODULE, PLAIN_MODULE, SCRAM_MODULE, JaasEntry, JaasError, parse_entry
from moldau.security.plain import PlainServer
from moldau.security.scram import keyed
from moldau.security.scram_credential import HASHES
from moldau.security.scram_server import ScramServer
from moldau.security.verdict import ServerMechanism

if TYPE_CHECKING:
    from moldau.server.context import Services

Maker: TypeAlias = "Callable[[], ServerMechanism]"

# Options of a login module that name a user of PLAIN and give his password: user_alice="...".
_USER: Final = "user_"
_NONCE_BYTES: Final = 24


def mechanism_makers(listener: str, config: BrokerConfig, services: Services) -> dict[str, Maker]:
    """By name, in the order of the settings. ConfigError for one that cannot be offered."""
    makers: dict[str, Maker] = {}
    names = config.for_listener(type(config).sasl_enabled_mechanisms, listener)
    if not names:
        raise ConfigError(f"sasl.enabled.mechanisms is empty, and nobody could log in on the listener {listener}")
    for name in names:
        build = _BUILDERS.get(name)
        if build is None:
            raise ConfigError(
                f"sasl.enabled.mechanisms of the listener {listener} cannot contain {name}: there are "
                f"{', '.join(_BUILDERS)}"
            )
        makers[name] = build(name, listener, config, services)
    return makers


def login_entry(config: BrokerConfig, listener: str, mechanism: str) -> JaasEntry | None:
    """The login module of a mechanism on a listener, if there is one. ConfigError without a word of what it says."""
    line = config.for_listener(type(config).sasl_jaas_config, listener, mechanism)
    if line is None:
        return None
    try:
        return parse_entry(line.value)
    except JaasError as error:
        raise ConfigError(f"{jaas_setting(listener, mechanism)} cannot be used: {error}") from None


def jaas_setting(listener: str, mechanism: str) -> str:
    return f"listener.name.{listener}.{mechanism}.sasl.jaas.config".lower()


def needed_entry(config: BrokerConfig, listener: str, mechanism: str, module: str) -> JaasEntry:
    entry = login_entry(config, listener, mechanism)
    setting = jaas_setting(listener, mechanism)
    if entry is None:
        raise ConfigError(f"{setting} is required, because the listener {listener} offers {mechanism}")
    if entry.module != module:
        raise ConfigError(f"{setting} cannot be used: {mechanism} needs the login module {module.rpartition('.')[2]}")
    return entry


def _plain(name: str, listener: str, config: BrokerConfig, services: Services) -> Maker:
    options = needed_entry(config, listener, name, PLAIN_MODULE).options
    passwords = {key.removeprefix(_USER): value for key, value in options.items() if key.startswith(_USER)}
    return lambda: PlainServer(passwords)


def _scram(name: str, listener: str, config: BrokerConfig, services: Services) -> Maker:
    entry = login_entry(config, listener, name)
    if entry is not None and entry.module != SCRAM_MODULE:
        raise ConfigError(
            f"{jaas_setting(listener, name)} cannot be used: {name} needs the login module ScramLoginModule"
        )
    stranger = _stranger(config, services)
    credentials, random = services.credentials, services.runtime.random
    return lambda: ScramServer(name, credentials, lambda: b64encode(random.bytes(_NONCE_BYTES)).decode(), stranger)


def _oauthbearer(name: str, listener: str, config: BrokerConfig, services: Services) -> Maker:
    from moldau.server.oauth_tokens import oauthbearer_maker  # it is slow to load, and few listeners offer it

    return oauthbearer_maker(listener, config, services.runtime, login_entry(config, listener, name))


def _gssapi(name: str, listener: str, config: BrokerConfig, services: Services) -> Maker:
    from moldau.server.kerberos import gssapi_maker

    entry = needed_entry(config, listener, name, KERBEROS_MODULE)
    return gssapi_maker(listener, config, services.runtime, entry)


def _stranger(config: BrokerConfig, services: Services) -> bytes:
    """The same on all nodes of a cluster, and not told to anybody who has not logged in."""
    secret = config.delegation_token_secret_key
    key = services.cluster_id if secret is None else secret.value
    return keyed("sha256", key.encode(), f"strangers of {services.cluster_id}".encode())


_BUILDERS: Final[Mapping[str, Callable[[str, str, BrokerConfig, Services], Maker]]] = {
    "PLAIN": _plain,
    **dict.fromkeys(HASHES, _scram),
    "OAUTHBEARER": _oauthbearer,
    "GSSAPI": _gssapi,
}
