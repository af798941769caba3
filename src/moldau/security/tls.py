"""The TLS of a listener, from its settings: whose stores, which versions and ciphers, who may come in.

Each setting may stand for all listeners or, as `listener.name.<name>.<setting>`, for one. The listeners that nodes
call each other at say how they call as well: under the same settings a node shows its own certificate there and looks
at that of others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError, Password, Setting, settings_of
from moldau.config.listeners import SecurityProtocol
from moldau.config.settings.security import SecuritySettings
from moldau.runtime.ports import TlsKey, TlsRules
from moldau.security.certificate import Certificate
from moldau.security.principal_mapping import MappingError, PrincipalMapping
from moldau.security.stores import (
    LARGEST,
    StoreError,
    first_certificate,
    key_store,
    pem_certificates,
    pem_key,
    trust_store,
)

T = TypeVar("T")

_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")

_SETTINGS: Final = tuple(setting for name, setting in settings_of(SecuritySettings).items() if name.startswith("ssl."))

ReadFile = Callable[[str], bytes]


class ListenerSettings:
    """What the settings say about one listener's TLS; nothing is read from files before it is asked for."""

    def __init__(self, config: BrokerConfig, listener: str, protocol: SecurityProtocol) -> None:
        self.listener = listener
        self._config = config
        self._protocol = protocol
        self._kind = type(config)

    def rules(self, read: ReadFile) -> TlsRules:
        """ConfigError with a sentence for what cannot be; OSErrors of `read` become one, too."""
        config, kind = self._config, self._kind
        return TlsRules(
            keys=self._keys(read),
            trusted=self._trusted(read),
            versions=self._versions(),
            ciphers=self._ciphers(),
            client_auth=self._client_auth(),
            checks_name=bool(config.for_listener(kind.ssl_endpoint_identification_algorithm, self.listener)),
        )

    def values(self) -> tuple[object, ...]:
        """All of it, to be compared with what the settings said before."""
        return tuple(self._config.for_listener(setting, self.listener) for setting in _SETTINGS)

    def files(self) -> tuple[str, ...]:
        """The stores that lie in files."""
        config, kind = self._config, self._kind
        paths = (
            config.for_listener(kind.ssl_keystore_location, self.listener),
            config.for_listener(kind.ssl_truststore_location, self.listener),
        )
        return tuple(path for path in paths if path is not None)

    def mapping(self) -> PrincipalMapping:
        kind = self._kind
        try:
            return PrincipalMapping(self._config.for_listener(kind.ssl_principal_mapping_rules, self.listener))
        except MappingError as error:
            raise self.refusal(str(error)) from None

    @property
    def names_by_certificate(self) -> bool:
        """With SASL it is the login that says who somebody is."""
        return self._protocol is SecurityProtocol.SSL

    def refusal(self, words: str) -> ConfigError:
        return ConfigError(f"the listener {self.listener} cannot be secured: {words}")

    def check_replacement(self, old: TlsRules, new: TlsRules) -> None:
        """A node keeps the names it is known by, unless the settings allow others: a store of somebody else, taken by
        mistake, would cut it off."""
        config, kind = self._config, self._kind
        if not old.keys or not new.keys:
            return
        before, after = first_certificate(old.keys[0]), first_certificate(new.keys[0])
        if not config.for_listener(kind.ssl_allow_dn_changes, self.listener):
            self._check_subject(before, after)
        if not config.for_listener(kind.ssl_allow_san_changes, self.listener):
            lost = sorted(before.alternative_names - after.alternative_names)
            if lost:
                raise self.refusal(
                    f"the new certificate does not stand for {', '.join(lost)} as the old one does, which "
                    "ssl.allow.san.changes would allow"
                )

    def _check_subject(self, before: Certificate, after: Certificate) -> None:
        if before.subject.lower() != after.subject.lower():
            raise self.refusal(
                f"the new certificate is that of {after.subject!r}, not of {before.subject!r} as the old one, which "
                "ssl.allow.dn.changes would allow"
            )

    # ---------------------------------------------------------------------------------------------------- the parts

    def _keys(self, read: ReadFile) -> tuple[TlsKey, ...]:
        config, kind = self._config, self._kind
        form = config.for_listener(kind.ssl_keystore_type, self.listener).upper()
        location = config.for_listener(kind.ssl_keystore_location, self.listener)
        password = self._secret(kind.ssl_keystore_password)
        key_password = self._secret(kind.ssl_key_password)
        key = self._secret(kind.ssl_keystore_key)
        chain = self._secret(kind.ssl_keystore_certificate_chain)
        if key is not None or chain is not None:
            self._check_inline("ssl.keystore", "ssl.keystore.key", form, location, password)
            if key is None or chain is None:
                raise self.refusal("ssl.keystore.key and ssl.keystore.certificate.chain are only of use together")
            return (self._read("ssl.keystore.key", lambda: pem_key(key, chain, key_password)),)
        if location is None:
            return ()
        if form == "PEM" and password is not None:
            raise self.refusal("ssl.keystore.password is not for PEM, where ssl.key.password is the one of the key")
        data = self._file("ssl.keystore.location", location, read)
        return self._read(location, lambda: key_store(form, data, password, key_password))

    def _trusted(self, read: ReadFile) -> str | None:
        config, kind = self._config, self._kind
        form = config.for_listener(kind.ssl_truststore_type, self.listener).upper()
        location = config.for_listener(kind.ssl_truststore_location, self.listener)
        password = self._secret(kind.ssl_truststore_password)
        certificates = self._secret(kind.ssl_truststore_certificates)
        if certificates is not None:
            self._check_inline("ssl.truststore", "ssl.truststore.certificates", form, location, password)
            return self._read("ssl.truststore.certificates", lambda: pem_certificates(certificates))
        if location is None:
            return None
        if form == "PEM" and password is not None:
            raise self.refusal("ssl.truststore.password is not for PEM, which has none")
        data = self._file("ssl.truststore.location", location, read)
        return self._read(location, lambda: trust_store(form, data, password))

    def _check_inline(self, prefix: str, name: str, form: str, location: str | None, password: str | None) -> None:
        for wrong, words in (
            (form != "PEM", f"{name} needs {prefix}.type=PEM, not {form}"),
            (location is not None, f"{name} and {prefix}.location cannot both be set"),
            (password is not None, f"{prefix}.password is not for PEM"),
        ):
            if wrong:
                raise self.refusal(words)

    def _versions(self) -> tuple[str, str]:
        config, kind = self._config, self._kind
        newest = config.for_listener(kind.ssl_protocol, self.listener)
        enabled = config.for_listener(kind.ssl_enabled_protocols, self.listener) or _VERSIONS
        allowed = [each for each in _VERSIONS if each in enabled and (newest == "TLS" or each <= newest)]
        if not allowed:
            raise self.refusal(f"ssl.protocol={newest} leaves none of ssl.enabled.protocols={','.join(enabled)}")
        return allowed[0], allowed[-1]

    def _ciphers(self) -> tuple[str, ...]:
        kind = self._kind
        named: Sequence[str] = self._config.for_listener(kind.ssl_cipher_suites, self.listener)
        return tuple(named)

    def _client_auth(self) -> str:
        config, kind = self._config, self._kind
        if not self.names_by_certificate and not config.is_set_for(kind.ssl_client_auth, self.listener):
            return "none"
        return config.for_listener(kind.ssl_client_auth, self.listener)

    def _secret(self, setting: Setting[Password | None]) -> str | None:
        found = self._config.for_listener(setting, self.listener)
        return None if found is None else found.value

    def _file(self, name: str, path: str, read: ReadFile) -> bytes:
        try:
            data = read(path)
        except OSError as error:
            raise self.refusal(f"{name}={path} cannot be read: {error.strerror or error}") from None
        if len(data) > LARGEST:
            raise self.refusal(f"{name}={path} has {len(data)} bytes, too many for a store")
        return data

    def _read(self, place: str, parse: Callable[[], T]) -> T:
        try:
            return parse()
        except StoreError as error:
            raise self.refusal(f"{place}: {error}") from None
