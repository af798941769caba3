"""Who this node is to others, where their listeners want to know: its login, from the JAAS line of that listener.

As in Kafka the line is the one for those who come here by the same listener and mechanism; it holds the node's own
name and password (`username`, `password`) beside those of others.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError, Password, Setting
from moldau.config.listeners import SecurityProtocol
from moldau.links.addresses import Address
from moldau.links.backoff import chance_of
from moldau.links.security import Mechanism
from moldau.runtime.ports import Random, Runtime

if TYPE_CHECKING:
    from moldau.security.jaas import JaasEntry

_NONCE_BYTES: Final = 24
# Salted passwords that are remembered: of one login, so there is one for each salt the cluster ever had for it.
_REMEMBERED: Final = 16

Logins: TypeAlias = Callable[[Address], Mechanism]


def peer_login(config: BrokerConfig, listener: str, mechanism: str, runtime: Runtime) -> Logins | None:
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
        return lambda _address: Plain(username, password)
    if mechanism in HASHES:
        entry = needed_entry(config, listener, mechanism, SCRAM_MODULE)
        return _scram(mechanism, *_name_and_password(entry, setting), runtime.random)
    if mechanism == "OAUTHBEARER":
        return _oauthbearer(config, listener, runtime)
    if mechanism == "GSSAPI":
        return _gssapi(config, listener, runtime)
    raise ConfigError(
        f"nodes cannot log in at each other by {mechanism}: the mechanism towards the listener {listener} must be one "
        f"of PLAIN, {', '.join(HASHES)}, OAUTHBEARER, GSSAPI"
    )


def _name_and_password(entry: JaasEntry, setting: str) -> tuple[str, str]:
    username, password = entry.options.get("username"), entry.options.get("password")
    if not username or not password:
        raise ConfigError(f"{setting} cannot be used: it must give the username and the password of this node")
    return username, password


def _oauthbearer(config: BrokerConfig, listener: str, runtime: Runtime) -> Logins:
    from moldau.security.jaas import OAUTHBEARER_MODULE
    from moldau.security.logins import OAuthBearer
    from moldau.security.token_source import Outside, TokenSource, token_settings
    from moldau.server.sasl_mechanisms import needed_entry

    values = {row.name: config.for_listener(row, listener, "OAUTHBEARER") for row in _settings_of_tokens(config)}

    def get(name: str) -> Any:
        value = values[name]
        return value.value if isinstance(value, Password) else value

    entry = needed_entry(config, listener, "OAUTHBEARER", OAUTHBEARER_MODULE)
    # Options of the listener's own side, for those who come here without a signed token.
    options = {name: value for name, value in entry.options.items() if not name.startswith("unsecured")}
    try:
        settings = token_settings(get, options)
    except ValueError as error:
        raise ConfigError(f"nodes cannot log in at the listener {listener}: {error}") from None
    outside = Outside(runtime.network.fetch, runtime.disk.read_file, runtime.clock, chance_of(runtime.random))
    source = TokenSource(settings, outside)
    return lambda _address: OAuthBearer(source)


def _gssapi(config: BrokerConfig, listener: str, runtime: Runtime) -> Logins:
    from moldau.security.gssapi_client import GssapiLogin, kerberos_login
    from moldau.security.jaas import KERBEROS_MODULE
    from moldau.server.sasl_mechanisms import jaas_setting, needed_entry

    entry = needed_entry(config, listener, "GSSAPI", KERBEROS_MODULE)
    try:
        login = kerberos_login(entry.options, config.for_listener(type(config).sasl_kerberos_service_name, listener))
    except ValueError as error:
        raise ConfigError(f"{jaas_setting(listener, 'GSSAPI')} cannot be used: {error}") from None
    begin = runtime.network.kerberos_login

    def make(address: Address) -> Mechanism:
        return GssapiLogin(lambda: begin(f"{login.service}@{address.host}", login.principal, login.key_table))

    return make


def _settings_of_tokens(config: BrokerConfig) -> tuple[Setting[Any], ...]:
    return (
        type(config).sasl_oauthbearer_token_endpoint_url,
        type(config).sasl_oauthbearer_client_credentials_client_id,
        type(config).sasl_oauthbearer_client_credentials_client_secret,
        type(config).sasl_oauthbearer_scope,
        type(config).sasl_oauthbearer_header_urlencode,
        type(config).sasl_login_connect_timeout_ms,
        type(config).sasl_login_read_timeout_ms,
        type(config).sasl_login_refresh_window_factor,
        type(config).sasl_login_refresh_window_jitter,
        type(config).sasl_login_refresh_min_period_seconds,
        type(config).sasl_login_refresh_buffer_seconds,
        type(config).sasl_login_retry_backoff_ms,
        type(config).sasl_login_retry_backoff_max_ms,
    )


def _scram(mechanism: str, username: str, password: str, random: Random) -> Logins:
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

    def make(_address: Address) -> Mechanism:
        nonce = b64encode(random.bytes(_NONCE_BYTES)).decode()
        return Scram(mechanism, username, password, nonce, most_iterations=MOST_ITERATIONS, salting=salting)

    return make
