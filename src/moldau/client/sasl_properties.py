"""Who a client is, by Kafka's properties of SASL and librdkafka's: names, passwords, and where its tokens come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from moldau.client.property_names import Properties
from moldau.security.jaas import (
    KERBEROS_MODULE,
    OAUTHBEARER_MODULE,
    PACKAGE,
    JaasEntry,
    JaasError,
    Login,
    login,
    parse_entry,
    quoted,
)

if TYPE_CHECKING:
    from moldau.client.sasl import AbstractTokenProvider
    from moldau.security.token_source import TokenSettings

_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")

_HANDLERS: Final = "org.apache.kafka.common.security.oauthbearer"
_HANDLER: Final = "sasl.login.callback.handler.class"
_METHOD: Final = "sasl.oauthbearer.method"
# What else a property may be only, since here it can be nothing else.
_FIXED: Final = {
    _HANDLER: (f"{_HANDLERS}.OAuthBearerLoginCallbackHandler", f"{_HANDLERS}.secured.OAuthBearerLoginCallbackHandler"),
    _METHOD: ("oidc",),
}
_NUMBERS: Final[dict[str, float | None]] = {
    "sasl.login.connect.timeout.ms": None,
    "sasl.login.read.timeout.ms": None,
    "sasl.login.refresh.window.factor": 0.8,
    "sasl.login.refresh.window.jitter": 0.05,
    "sasl.login.refresh.min.period.seconds": 60,
    "sasl.login.refresh.buffer.seconds": 300,
    "sasl.login.retry.backoff.ms": 100,
    "sasl.login.retry.backoff.max.ms": 10_000,
}
_URL: Final = "sasl.oauthbearer.token.endpoint.url"
_ESCAPED: Final = "sasl.oauthbearer.header.urlencode"
_TEXTS: Final = (
    _URL,
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.scope",
)
_SERVICE: Final = "sasl.kerberos.service.name"
# librdkafka's, for what Java's clients have in the line of the login module.
_PRINCIPAL: Final = "sasl.kerberos.principal"
_KEY_TABLE: Final = "sasl.kerberos.keytab"
# Here no program fetches tickets.
_KINIT: Final = (
    *("sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin"),
    *("sasl.kerberos.ticket.renew.jitter", "sasl.kerberos.ticket.renew.window.factor"),
)
# Those that only one mechanism looks at.
_OF_ONE: Final = {
    **dict.fromkeys((*_TEXTS, _ESCAPED, _METHOD), "OAUTHBEARER"),
    **dict.fromkeys((_SERVICE, _PRINCIPAL, _KEY_TABLE), "GSSAPI"),
}

_KERBEROS: Final = (_SERVICE, _PRINCIPAL, _KEY_TABLE, *_KINIT)
SASL_PROPERTIES: Final = ("sasl.jaas.config", "sasl.mechanism", *_FIXED, *_TEXTS, _ESCAPED, *_NUMBERS, *_KERBEROS)


class Who(NamedTuple):
    settings: dict[str, str | bool | None]
    tokens: TokenSettings | None = None


def read_sasl(kafka: Properties, protocol: str) -> Who:
    mechanism = kafka.get("sasl.mechanism", "").strip().upper()
    if not mechanism:
        raise kafka.names.missing(
            "sasl.mechanism",
            f", which {protocol} needs: one of {', '.join(_MECHANISMS)}.",
        )
    if mechanism not in _MECHANISMS:
        raise kafka.names.refused("sasl.mechanism", f"it must be one of {', '.join(_MECHANISMS)}")
    for name, known in _FIXED.items():
        if name in kafka and kafka[name].strip() not in known:
            raise kafka.names.refused(name, f"classes of Java cannot run here; it can be {known[0]} only")
    useless = min((name for name in kafka if _OF_ONE.get(name, mechanism) != mechanism), default=None)
    if useless is not None:
        raise kafka.names.refused(useless, f"it goes with {_OF_ONE[useless]}, not with {mechanism}")
    if mechanism == "OAUTHBEARER":
        return Who({"sasl_mechanism": mechanism}, _tokens(kafka))
    if mechanism == "GSSAPI":
        return Who({"sasl_mechanism": mechanism, **_kerberos(kafka)})
    username, password, by_token = _login(kafka, mechanism)
    by_name = {"sasl_mechanism": mechanism, "sasl_plain_username": username, "sasl_plain_password": password}
    return Who({**by_name, "sasl_by_token": True} if by_token else {**by_name})


def _login(kafka: Properties, mechanism: str) -> Login:
    username, password = kafka.get("sasl.username"), kafka.get("sasl.password")
    if "sasl.jaas.config" in kafka:
        if username is not None or password is not None:
            given = "sasl.username" if username is not None else "sasl.password"
            raise kafka.names.refused(given, f"{kafka.names('sasl.jaas.config')} is given too; one of them is enough")
        try:
            return login(kafka["sasl.jaas.config"], mechanism)
        except JaasError as error:
            raise kafka.names.refused("sasl.jaas.config", str(error)) from None
    if username is None and password is None:
        raise kafka.names.missing(kafka.names.login, f", which {mechanism} needs.")
    if not username or password is None:
        missing = "sasl.password" if username else "sasl.username"
        raise kafka.names.missing(missing, f", which {mechanism} needs.")
    return Login(username, password, by_token=False)


# ------------------------------------------------------------------------------------------------------------- tokens


def _tokens(kafka: Properties) -> TokenSettings:
    from moldau.security.token_source import token_settings

    _refuse_password(kafka, "OAUTHBEARER logs in with a token, not with a name and a password")
    if not kafka.get(_URL, "").strip():
        raise kafka.names.missing(_URL, ", which OAUTHBEARER needs: where tokens come from, https: or file:.")
    if kafka.get(_ESCAPED, "false").strip().lower() not in ("true", "false"):
        raise kafka.names.refused(_ESCAPED, "it is true or false")
    values: dict[str, Any] = {name: kafka[name].strip() for name in _TEXTS if name in kafka}
    values[_ESCAPED] = kafka.get(_ESCAPED, "").strip().lower() == "true"
    values |= {name: _number(kafka, name, default) for name, default in _NUMBERS.items()}
    try:
        return token_settings(values.get, _module(kafka, OAUTHBEARER_MODULE).options)
    except ValueError as error:
        raise kafka.names.refused(_URL, str(error)) from None


def _refuse_password(kafka: Properties, reason: str) -> None:
    given = next((name for name in ("sasl.username", "sasl.password") if name in kafka), None)
    if given is not None:
        raise kafka.names.refused(given, reason)


def _module(kafka: Properties, module: str) -> JaasEntry:
    """Kafka wants a login module even where it says nothing; librdkafka knows none."""
    line = kafka.get("sasl.jaas.config")
    if line is None:
        return JaasEntry(module, {})
    try:
        entry = parse_entry(line)
    except JaasError as error:
        raise kafka.names.refused("sasl.jaas.config", str(error)) from None
    if entry.module != module:
        name = module.rpartition(".")[2]
        raise kafka.names.refused("sasl.jaas.config", f"{kafka['sasl.mechanism']} needs the login module {name}")
    return entry


def _number(kafka: Properties, name: str, default: float | None) -> float | None:
    if name not in kafka:
        return default
    try:
        value = float(kafka[name])
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise kafka.names.refused(name, "it is a number, and not below 0")
    return value


# ----------------------------------------------------------------------------------------------------------- Kerberos


def _kerberos(kafka: Properties) -> dict[str, str]:
    from moldau.security.gssapi_client import kerberos_login

    _refuse_password(kafka, "GSSAPI logs in with a ticket, not with a name and a password")
    options = dict(_module(kafka, KERBEROS_MODULE).options)
    for name, option in ((_PRINCIPAL, "principal"), (_KEY_TABLE, "keyTab")):
        if name in kafka:
            if option in options:
                raise kafka.names.refused(name, f"{kafka.names('sasl.jaas.config')} says it too; one of them is enough")
            options[option] = kafka[name].strip()
    # librdkafka has a name for brokers that do not say theirs, and Java's clients have none.
    service = kafka.get(_SERVICE, "").strip() or (None if "sasl.jaas.config" in kafka else "kafka")
    try:
        login = kerberos_login(options, service)
    except ValueError as error:
        raise kafka.names.refused("sasl.mechanism", str(error)) from None
    given = {"principal": login.principal, "key_table": login.key_table, "cache": login.cache}
    said = {f"sasl_kerberos_{name}": value for name, value in given.items() if value}
    return {"sasl_kerberos_service_name": login.service, **said}


def kerberos_in_java(given: dict[str, str]) -> dict[str, str]:
    """With a line of JAAS instead of librdkafka's names."""
    kept = {name: value for name, value in given.items() if name not in (_PRINCIPAL, _KEY_TABLE)}
    if "sasl.jaas.config" not in kept:
        table = f" useKeyTab=true storeKey=true keyTab={quoted(given[_KEY_TABLE])}" if _KEY_TABLE in given else ""
        who = f" principal={quoted(given[_PRINCIPAL])}" if _PRINCIPAL in given else ""
        kept["sasl.jaas.config"] = f"{KERBEROS_MODULE} required{table or ' useTicketCache=true'}{who};"
    return {_SERVICE: "kafka", **kept}


def tokens_in_java() -> dict[str, str]:
    """What Java's clients are to be told besides, where only librdkafka's names were used."""
    module = f"{PACKAGE}{OAUTHBEARER_MODULE} required;"
    return {"sasl.jaas.config": module, _HANDLER: _FIXED[_HANDLER][0]}


def token_provider(settings: TokenSettings) -> AbstractTokenProvider:
    from moldau.client.issued_tokens import IssuedTokens

    return IssuedTokens(settings)
