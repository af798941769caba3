"""TLS and SASL for `format("moldau")`: the names of Kafka's Java clients in, settings of `moldau.client` out.

What is read here is plain text that Spark can carry to its workers; each process makes its own TLS context of it,
because a context cannot travel. Files are therefore opened where the connection is made, and have to be there.

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

from moldau.client.security import PROTOCOLS, SETTINGS, Security, read_security
from moldau.spark.jaas import JaasError, login
from moldau.spark.options import KAFKA, OptionError

if TYPE_CHECKING:
    import ssl

_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
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

    def open(self) -> Security:
        """What a connection of this process needs. OptionError for files that are not there or of no use."""
        config: dict[str, Any] = {**SETTINGS, **self.settings}
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
                    sentence = sentence.replace(str(config[name]), f"the text of {_TEXTS[name]}")
                raise OptionError(f"The options kafka.ssl.* cannot be used: {sentence}") from None
        if made.context is not None:
            self._limit(made.context)
        return made

    def client(self) -> dict[str, Any]:
        """Settings for a client made in this process."""
        told = {name: value for name, value in self.settings.items() if not name.startswith("ssl_")}
        return {**told, "ssl_context": self.open().context}

    def _limit(self, context: ssl.SSLContext) -> None:
        from ssl import TLSVersion

        if self.oldest is not None:
            context.minimum_version = TLSVersion[self.oldest]
        if self.newest is not None:
            context.maximum_version = TLSVersion[self.newest]


_TEXTS: Final = {
    "ssl_cafile": "kafka.ssl.truststore.certificates",
    "ssl_certfile": "kafka.ssl.keystore.certificate.chain",
    "ssl_keyfile": "kafka.ssl.keystore.key",
}


def security_options(kafka: Mapping[str, str]) -> SecurityOptions:
    """From the client settings, which are without their prefix. Looks at no file."""
    protocol = kafka.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in PROTOCOLS:
        raise _refused("security.protocol", f"there are {', '.join(PROTOCOLS)}")
    for prefix, meant in (("ssl.", "SSL or SASL_SSL"), ("sasl.", "SASL_SSL or SASL_PLAINTEXT")):
        useless = min((name for name in kafka if name.startswith(prefix)), default=None)
        if useless is not None and protocol not in meant.split(" or "):
            # Whoever sets it believes that the connection is protected by it.
            raise _refused(useless, f"it has no effect with kafka.security.protocol {protocol}; {meant} is meant")
    settings: dict[str, str | bool | None] = {"security_protocol": protocol}
    texts: dict[str, str] = {}
    oldest = newest = None
    if protocol.startswith("SASL"):
        settings |= _sasl(kafka, protocol)
    if protocol.endswith("SSL"):
        settings["ssl_check_hostname"] = _checks_names(kafka)
        _trust(kafka, settings, texts)
        _identity(kafka, settings, texts)
        oldest, newest = _versions(kafka)
        if kafka.get("ssl.cipher.suites", "").strip():
            settings["ssl_ciphers"], oldest, newest = _ciphers(kafka["ssl.cipher.suites"], oldest, newest)
    return SecurityOptions(settings, texts, oldest, newest)


def _sasl(kafka: Mapping[str, str], protocol: str) -> dict[str, str]:
    mechanism = kafka.get("sasl.mechanism", "").strip().upper()
    if not mechanism:
        raise OptionError(
            f"The option kafka.sasl.mechanism is missing, which {protocol} needs: one of {', '.join(_MECHANISMS)}. "
            "(Kafka's own default, GSSAPI, is not built.)"
        )
    if mechanism not in _MECHANISMS:
        raise _refused("sasl.mechanism", f"it must be one of {', '.join(_MECHANISMS)}")
    if "sasl.jaas.config" not in kafka:
        raise OptionError(f"The option kafka.sasl.jaas.config is missing, which {mechanism} needs.")
    try:
        username, password = login(kafka["sasl.jaas.config"], mechanism)
    except JaasError as error:
        raise _refused("sasl.jaas.config", str(error)) from None
    return {"sasl_mechanism": mechanism, "sasl_plain_username": username, "sasl_plain_password": password}


def _checks_names(kafka: Mapping[str, str]) -> bool:
    algorithm = kafka.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
    if algorithm not in ("", "https"):
        raise _refused("ssl.endpoint.identification.algorithm", "it is https, or empty for no check of host names")
    return algorithm == "https"


# ----------------------------------------------------------------------------------------------- certificates and keys


def _trust(kafka: Mapping[str, str], settings: dict[str, str | bool | None], texts: dict[str, str]) -> None:
    location, text = kafka.get("ssl.truststore.location"), kafka.get("ssl.truststore.certificates")
    _check_store(kafka, "truststore", (location, text))
    if location is not None and text is not None:
        raise _refused(
            "ssl.truststore.certificates", "kafka.ssl.truststore.location is given too; one of them is enough"
        )
    if location is not None:
        settings["ssl_cafile"] = _file("ssl.truststore.location", location)
    elif text is not None:
        texts["ssl_cafile"] = _pem("ssl.truststore.certificates", text, "CERTIFICATE")


def _identity(kafka: Mapping[str, str], settings: dict[str, str | bool | None], texts: dict[str, str]) -> None:
    location = kafka.get("ssl.keystore.location")
    chain, key = kafka.get("ssl.keystore.certificate.chain"), kafka.get("ssl.keystore.key")
    _check_store(kafka, "keystore", (location, chain, key))
    if (chain is None) is not (key is None):
        missing = "ssl.keystore.key" if key is None else "ssl.keystore.certificate.chain"
        raise OptionError(f"The option {KAFKA}{missing} is missing: a certificate is of use with its key only.")
    if location is not None and chain is not None:
        raise _refused(
            "ssl.keystore.certificate.chain", "kafka.ssl.keystore.location is given too; one of them is enough"
        )
    if location is not None:
        settings["ssl_certfile"] = _file("ssl.keystore.location", location)
    elif chain is not None and key is not None:
        texts["ssl_certfile"] = _pem("ssl.keystore.certificate.chain", chain, "CERTIFICATE")
        texts["ssl_keyfile"] = _pem("ssl.keystore.key", key, "PRIVATE KEY")
    elif "ssl.key.password" in kafka:
        raise _refused("ssl.key.password", "there is no key to unlock; kafka.ssl.keystore.location names it")
    # Without a password OpenSSL would ask for it on the terminal; an empty one fails if there should be one.
    settings["ssl_password"] = kafka.get("ssl.key.password", "")


def _check_store(kafka: Mapping[str, str], store: str, given: tuple[str | None, ...]) -> None:
    kind = kafka.get(f"ssl.{store}.type", "JKS").strip().upper()
    used = any(each is not None for each in given)
    if kind != "PEM" and (used or f"ssl.{store}.type" in kafka):
        said = "" if f"ssl.{store}.type" in kafka else f" (which is meant as long as kafka.ssl.{store}.type is not PEM)"
        raise OptionError(
            f"The options kafka.ssl.{store}.* cannot be used: a store in Java's formats{said} cannot be opened here. "
            f"Turn it into PEM with {_STORES[store]}; then set kafka.ssl.{store}.type=PEM and "
            f"kafka.ssl.{store}.location to the PEM file."
        )
    if f"ssl.{store}.password" in kafka:
        instead = "kafka.ssl.key.password unlocks the key" if store == "keystore" else "certificates are no secret"
        raise _refused(f"ssl.{store}.password", f"a PEM file has none; {instead}")
    if not used and kind == "PEM" and f"ssl.{store}.type" in kafka:
        raise OptionError(f"The option kafka.ssl.{store}.location is missing: the PEM file.")


def _file(name: str, location: str) -> str:
    if not location.strip():
        raise _refused(name, "it is empty; it should name a PEM file")
    return os.fspath(location.strip())


def _pem(name: str, text: str, kind: str) -> str:
    """The blocks of a PEM text, with lines as OpenSSL wants them: options are often written on one line."""
    blocks = [(label, body) for label, body in _BLOCK.findall(text) if label.endswith(kind)]
    if not blocks:
        raise _refused(name, f"it holds no -----BEGIN {kind}-----; it is the PEM text itself, not the name of a file")
    lines = []
    for label, body in blocks:
        packed = body if ":" in body else "\n".join(re.findall(".{1,64}", "".join(body.split())))
        lines.append(f"-----BEGIN {label}-----\n{packed.strip()}\n-----END {label}-----\n")
    return "".join(lines)


# ------------------------------------------------------------------------------------------------ versions and ciphers


def _versions(kafka: Mapping[str, str]) -> tuple[str | None, str | None]:
    given = [word.strip().upper() for word in kafka.get("ssl.enabled.protocols", "").split(",") if word.strip()]
    strange = [word for word in given if word not in _VERSIONS and word not in _OLD_VERSIONS]
    enabled = sorted(_VERSIONS[word] for word in given if word in _VERSIONS)
    if strange or (given and not enabled):
        raise _refused("ssl.enabled.protocols", "it must name TLSv1.2, TLSv1.3 or both; what is older is never used")
    return (enabled[0], enabled[-1]) if enabled else (None, None)


def _ciphers(text: str, oldest: str | None, newest: str | None) -> tuple[str | None, str | None, str | None]:
    """OpenSSL's list for TLS 1.2, and the versions that are left: one without a suite in the list is not spoken."""
    suites = [word.strip().upper() for word in text.split(",") if word.strip()]
    modern = _SUITES_1_3.intersection(suites)
    if modern and modern != _SUITES_1_3:
        raise _refused(
            "ssl.cipher.suites",
            f"Python cannot choose among the suites of TLS 1.3; name all ({', '.join(sorted(_SUITES_1_3))}) or none",
        )
    ciphers = [_cipher(suite) for suite in suites if suite not in _SUITES_1_3]
    if not ciphers:
        oldest = "TLSv1_3"
    if not modern:
        newest = "TLSv1_2"
    if (oldest or "") > (newest or "TLSv1_3"):
        raise _refused("ssl.cipher.suites", "no suite is left for the versions in kafka.ssl.enabled.protocols")
    return ":".join(ciphers) or None, oldest, newest


def _cipher(suite: str) -> str:
    """`TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is OpenSSL's `ECDHE-RSA-AES128-GCM-SHA256`."""
    parts = _SUITE.fullmatch(suite)
    if parts is None:
        raise _refused(
            "ssl.cipher.suites",
            "names are those of Java, such as TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, with AES or CHACHA20",
        )
    exchange, bits, mode, digest, stream = parts.groups()
    before = "" if exchange == "RSA" else exchange.replace("_", "-") + "-"
    if stream:
        return f"{before}CHACHA20-POLY1305"
    return f"{before}AES{bits}-{'GCM-' if mode == 'GCM' else ''}{digest}"


def _refused(name: str, reason: str) -> OptionError:
    return OptionError(f"The option {KAFKA}{name} cannot be used: {reason}.")
