"""TLS and SASL by the names of Kafka's Java clients, and librdkafka's where those differ: settings of a client out.

Spark's options and the commands' `--config` are read here. What is read is plain text that can be carried to
other processes; each makes its own TLS context of it, because a context cannot travel. Files are therefore opened where
the connection is made, and have to be there.

Whatever would protect less than it says is refused. Values never appear in a sentence: they may be passwords.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from moldau.client.property_names import AS_THEY_ARE, SYNONYMS, Names, Properties, PropertyError
from moldau.client.sasl_properties import SASL_PROPERTIES, kerberos_in_java, read_sasl, token_provider, tokens_in_java
from moldau.client.security import PROTOCOLS, SETTINGS, Security, read_security
from moldau.security.jaas import PACKAGE, quoted

if TYPE_CHECKING:
    import ssl

    from moldau.security.token_source import TokenSettings

_STORES: Final = {
    "truststore": "keytool -exportcert -rfc -keystore FILE -alias NAME (for each authority), or for PKCS12 "
    "openssl pkcs12 -in FILE -nokeys -out trust.pem",
    "keystore": "openssl pkcs12 -in FILE -out client.pem, for JKS after keytool -importkeystore -srckeystore FILE "
    "-destkeystore client.p12 -deststoretype PKCS12",
}
_VERSIONS: Final = {"TLSV1.2": "TLSv1_2", "TLSV1.3": "TLSv1_3"}
_OLD_VERSIONS: Final = ("SSLV3", "TLSV1", "TLSV1.1")

# Python cannot choose among those of TLS 1.3.
_SUITES_1_3: Final = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
_SUITE: Final = re.compile(
    r"TLS_(ECDHE_RSA|ECDHE_ECDSA|DHE_RSA|RSA)_WITH_(?:AES_(128|256)_(GCM|CBC)_(SHA(?:256|384)?)|(CHACHA20_POLY1305)_SHA256)"
)
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)


_RDKAFKA: Final = ("sasl.username", "sasl.password", "ssl.ca.location", "ssl.certificate.location", "ssl.key.location")

SECURITY_PROPERTIES: Final = (
    "security.protocol",
    *SASL_PROPERTIES,
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    *(f"ssl.keystore.{name}" for name in ("certificate.chain", "key", "location", "password", "type")),
    *(f"ssl.truststore.{name}" for name in ("certificates", "location", "password", "type")),
    *SYNONYMS,
    *_RDKAFKA,
)


@dataclass(frozen=True, slots=True)
class SecurityOptions:
    """Settings of `moldau.client`, except that PEM text stands where a file is to be, and for TLS versions and ciphers.

    Not shown when printed, because of passwords.
    """

    settings: Mapping[str, str | bool | None] = field(default_factory=dict, repr=False)
    # Setting for a file -> PEM text to put there.
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    oldest: str | None = None
    newest: str | None = None
    names: Names = AS_THEY_ARE
    # How tokens are had, where they are to be logged in with.
    tokens: TokenSettings | None = field(default=None, repr=False)

    def open(self) -> Security:
        """What a connection of this process needs. PropertyError for files that are not there or of no use."""
        config: dict[str, Any] = {**SETTINGS, **self.settings, **self._provider()}
        with TemporaryDirectory(prefix="moldau-") as directory:  # only its owner can look into it
            for name, text in self.texts.items():
                path = Path(directory, name)
                path.touch(0o600)
                path.write_text(text)
                config[name] = str(path)
            try:
                made = read_security(config)
            except ValueError as error:
                sentence = str(error)
                for name in self.texts:
                    sentence = sentence.replace(str(config[name]), f"the text of {self.names(_TEXTS[name])}")
                raise PropertyError(f"The options {self.names('ssl.*')} cannot be used: {sentence}") from None
        if made.context is not None:
            self._limit(made.context)
        return made

    def client(self) -> dict[str, Any]:
        """Settings for a client made in this process."""
        told = {name: value for name, value in self.settings.items() if not name.startswith("ssl_")}
        return {**told, **self._provider(), "ssl_context": self.open().context}

    def _provider(self) -> dict[str, Any]:
        return {} if self.tokens is None else {"sasl_oauth_token_provider": token_provider(self.tokens)}

    def _limit(self, context: ssl.SSLContext) -> None:
        from ssl import TLSVersion

        if self.oldest is not None:
            context.minimum_version = TLSVersion[self.oldest]
        if self.newest is not None:
            context.maximum_version = TLSVersion[self.newest]


_TEXTS: Final = {
    "ssl_cafile": "ssl.truststore.certificates",
    "ssl_certfile": "ssl.keystore.certificate.chain",
    "ssl_keyfile": "ssl.keystore.key",
}


def security_options(given: Mapping[str, str], names: Names = AS_THEY_ARE) -> SecurityOptions:
    """From properties of a client; those that are not about security are passed over. Looks at no file."""
    kafka = Properties(given, names)
    protocol = kafka.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in PROTOCOLS:
        raise names.refused("security.protocol", f"there are {', '.join(PROTOCOLS)}")
    for prefix, meant in (("ssl.", "SSL or SASL_SSL"), ("sasl.", "SASL_SSL or SASL_PLAINTEXT")):
        useless = min((name for name in kafka if name.startswith(prefix)), default=None)
        if useless is not None and protocol not in meant.split(" or "):
            # Whoever sets it believes that the connection is protected by it.
            raise names.refused(
                useless, f"it has no effect with {names('security.protocol')} {protocol}; {meant} is meant"
            )
    settings: dict[str, str | bool | None] = {"security_protocol": protocol}
    texts: dict[str, str] = {}
    oldest = newest = tokens = None
    if protocol.startswith("SASL"):
        who = read_sasl(kafka, protocol)
        settings |= who.settings
        tokens = who.tokens
    if protocol.endswith("SSL"):
        settings["ssl_check_hostname"] = _checks_names(kafka)
        _trust(kafka, settings, texts)
        _identity(kafka, settings, texts)
        oldest, newest = _versions(kafka)
        if kafka.get("ssl.cipher.suites", "").strip():
            settings["ssl_ciphers"], oldest, newest = _ciphers(kafka, oldest, newest)
    return SecurityOptions(settings, texts, oldest, newest, names, tokens)


def _checks_names(kafka: Properties) -> bool:
    algorithm = kafka.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
    if algorithm not in ("", "https"):
        raise kafka.names.refused(
            "ssl.endpoint.identification.algorithm", "it is https, or empty for no check of host names"
        )
    return algorithm == "https"


# ----------------------------------------------------------------------------------------------- certificates and keys


def _trust(kafka: Properties, settings: dict[str, str | bool | None], texts: dict[str, str]) -> None:
    if "ssl.ca.location" in kafka:
        others = [name for name in kafka if name.startswith("ssl.truststore.")]
        if others:
            raise kafka.names.refused(others[0], f"{kafka.names('ssl.ca.location')} is given too; one is enough")
        settings["ssl_cafile"] = _file(kafka, "ssl.ca.location")
        return
    location, text = kafka.get("ssl.truststore.location"), kafka.get("ssl.truststore.certificates")
    _check_store(kafka, "truststore", (location, text))
    if location is not None and text is not None:
        given = kafka.names("ssl.truststore.location")
        raise kafka.names.refused("ssl.truststore.certificates", f"{given} is given too; one of them is enough")
    if location is not None:
        settings["ssl_cafile"] = _file(kafka, "ssl.truststore.location")
    elif text is not None:
        texts["ssl_cafile"] = _pem(kafka, "ssl.truststore.certificates", "CERTIFICATE")


def _identity(kafka: Properties, settings: dict[str, str | bool | None], texts: dict[str, str]) -> None:
    # Without a password OpenSSL would ask for it on the terminal; an empty one fails if there should be one.
    settings["ssl_password"] = kafka.get("ssl.key.password", "")
    if "ssl.certificate.location" in kafka or "ssl.key.location" in kafka:
        _identity_in_files(kafka, settings)
        return
    location = kafka.get("ssl.keystore.location")
    chain, key = kafka.get("ssl.keystore.certificate.chain"), kafka.get("ssl.keystore.key")
    _check_store(kafka, "keystore", (location, chain, key))
    if (chain is None) is not (key is None):
        missing = "ssl.keystore.key" if key is None else "ssl.keystore.certificate.chain"
        raise kafka.names.missing(missing, ": a certificate is of use with its key only.")
    if location is not None and chain is not None:
        given = kafka.names("ssl.keystore.location")
        raise kafka.names.refused("ssl.keystore.certificate.chain", f"{given} is given too; one of them is enough")
    if location is not None:
        settings["ssl_certfile"] = _file(kafka, "ssl.keystore.location")
    elif chain is not None and key is not None:
        texts["ssl_certfile"] = _pem(kafka, "ssl.keystore.certificate.chain", "CERTIFICATE")
        texts["ssl_keyfile"] = _pem(kafka, "ssl.keystore.key", "PRIVATE KEY")
    elif "ssl.key.password" in kafka:
        given = kafka.names(kafka.names.key)
        raise kafka.names.refused("ssl.key.password", f"there is no key to unlock; {given} names it")


def _identity_in_files(kafka: Properties, settings: dict[str, str | bool | None]) -> None:
    """Certificate and key in files of their own, or in the one that is named."""
    others = [name for name in kafka if name.startswith("ssl.keystore.")]
    if others:
        raise kafka.names.refused(others[0], "the files of certificate and key are given too; one way is enough")
    if "ssl.certificate.location" not in kafka:
        raise kafka.names.missing("ssl.certificate.location", ": a key is of use with its certificate only.")
    settings["ssl_certfile"] = _file(kafka, "ssl.certificate.location")
    if "ssl.key.location" in kafka:
        settings["ssl_keyfile"] = _file(kafka, "ssl.key.location")


def _check_store(kafka: Properties, store: str, given: tuple[str | None, ...]) -> None:
    names = kafka.names
    kind = kafka.get(f"ssl.{store}.type", "JKS").strip().upper()
    used = any(each is not None for each in given)
    if kind != "PEM" and (used or f"ssl.{store}.type" in kafka):
        typed, location = names(f"ssl.{store}.type"), names(f"ssl.{store}.location")
        said = "" if f"ssl.{store}.type" in kafka else f" (which is meant as long as {typed} is not PEM)"
        raise PropertyError(
            f"The options {names(f'ssl.{store}.*')} cannot be used: a store in Java's formats{said} cannot be opened "
            f"here. Turn it into PEM with {_STORES[store]}; then set {typed}=PEM and {location} to the PEM file."
        )
    if f"ssl.{store}.password" in kafka:
        unlocks = f"{names('ssl.key.password')} unlocks the key"
        instead = unlocks if store == "keystore" else "certificates are no secret"
        raise names.refused(f"ssl.{store}.password", f"a PEM file has none; {instead}")
    if not used and kind == "PEM" and f"ssl.{store}.type" in kafka:
        raise names.missing(f"ssl.{store}.location", ": the PEM file.")


def _file(kafka: Properties, name: str) -> str:
    location = kafka[name].strip()
    if not location:
        raise kafka.names.refused(name, "it is empty; it should name a PEM file")
    return os.fspath(location)


def _pem(kafka: Properties, name: str, kind: str) -> str:
    """The blocks of a PEM text, with lines as OpenSSL wants them: options are often written on one line."""
    blocks = [(label, body) for label, body in _BLOCK.findall(kafka[name]) if label.endswith(kind)]
    if not blocks:
        raise kafka.names.refused(
            name, f"it holds no -----BEGIN {kind}-----; it is the PEM text itself, not the name of a file"
        )
    lines = []
    for label, body in blocks:
        packed = body if ":" in body else "\n".join(re.findall(".{1,64}", "".join(body.split())))
        lines.append(f"-----BEGIN {label}-----\n{packed.strip()}\n-----END {label}-----\n")
    return "".join(lines)


# ------------------------------------------------------------------------------------------------ versions and ciphers


def _versions(kafka: Properties) -> tuple[str | None, str | None]:
    given = [word.strip().upper() for word in kafka.get("ssl.enabled.protocols", "").split(",") if word.strip()]
    strange = [word for word in given if word not in _VERSIONS and word not in _OLD_VERSIONS]
    enabled = sorted(_VERSIONS[word] for word in given if word in _VERSIONS)
    if strange or (given and not enabled):
        raise kafka.names.refused(
            "ssl.enabled.protocols", "it must name TLSv1.2, TLSv1.3 or both; what is older is never used"
        )
    return (enabled[0], enabled[-1]) if enabled else (None, None)


def _ciphers(kafka: Properties, oldest: str | None, newest: str | None) -> tuple[str | None, str | None, str | None]:
    """OpenSSL's list for TLS 1.2, and the versions that are left: one without a suite in the list is not spoken."""
    suites = [word.strip().upper() for word in kafka["ssl.cipher.suites"].split(",") if word.strip()]
    modern = _SUITES_1_3.intersection(suites)
    if modern and modern != _SUITES_1_3:
        raise kafka.names.refused(
            "ssl.cipher.suites",
            f"Python cannot choose among the suites of TLS 1.3; name all ({', '.join(sorted(_SUITES_1_3))}) or none",
        )
    ciphers = [_cipher(kafka, suite) for suite in suites if suite not in _SUITES_1_3]
    if not ciphers:
        oldest = "TLSv1_3"
    if not modern:
        newest = "TLSv1_2"
    if (oldest or "") > (newest or "TLSv1_3"):
        enabled = kafka.names("ssl.enabled.protocols")
        raise kafka.names.refused("ssl.cipher.suites", f"no suite is left for the versions in {enabled}")
    return ":".join(ciphers) or None, oldest, newest


def _cipher(kafka: Properties, suite: str) -> str:
    """`TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is OpenSSL's `ECDHE-RSA-AES128-GCM-SHA256`."""
    parts = _SUITE.fullmatch(suite)
    if parts is None:
        raise kafka.names.refused(
            "ssl.cipher.suites",
            "names are those of Java, such as TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, with AES or CHACHA20",
        )
    exchange, bits, mode, digest, stream = parts.groups()
    before = "" if exchange == "RSA" else exchange.replace("_", "-") + "-"
    if stream:
        return f"{before}CHACHA20-POLY1305"
    return f"{before}AES{bits}-{'GCM-' if mode == 'GCM' else ''}{digest}"


# ------------------------------------------------------------------------------------------------------- Java's names


def in_java(given: Mapping[str, str]) -> dict[str, str]:
    """The same properties without librdkafka's names, for those who understand Java's only. Opens the files of a
    certificate and its key, which have no names there."""
    kept = {SYNONYMS.get(name, name): value for name, value in given.items() if name not in _RDKAFKA}
    if "sasl.username" in given and "sasl.password" in given:
        module = "plain.Plain" if kept.get("sasl.mechanism", "").upper() == "PLAIN" else "scram.Scram"
        username, password = (quoted(given[name]) for name in ("sasl.username", "sasl.password"))
        kept["sasl.jaas.config"] = f"{PACKAGE}{module}LoginModule required username={username} password={password};"
    if kept.get("sasl.mechanism", "").upper() == "OAUTHBEARER":
        kept = {**tokens_in_java(), **kept}
    if kept.get("sasl.mechanism", "").upper() == "GSSAPI":
        kept = kerberos_in_java(kept)
    if "ssl.ca.location" in given:
        kept |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": given["ssl.ca.location"]}
    if "ssl.certificate.location" in given:
        chain = Path(given["ssl.certificate.location"])
        key = Path(given.get("ssl.key.location", chain))
        kept |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": chain.read_text(),
            "ssl.keystore.key": key.read_text(),
        }
    return kept
