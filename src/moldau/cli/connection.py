"""How a command reaches a cluster: where it begins, whom it trusts, who it is. The same options for every command.

`--config` names the file that Kafka's own tools take as `--command-config`, `-X` is the way of kcat; the other options
are shorthand for single properties, and go before what the file says. Who always talks to the same clusters keeps such
files as profiles, in a directory of his own; the one called default is used where nothing else is named. A password is
taken from a file, from the environment or from the terminal, never from the command line, which everybody on the
machine can read.
"""

from __future__ import annotations

import os
import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from moldau.cli.arguments import checked, key_value
from moldau.cli.failure import USAGE, Failure
from moldau.quantities import parse_duration

if TYPE_CHECKING:
    from moldau.client.cluster import Cluster
    from moldau.client.property_names import Names
    from moldau.client.security import Security

DEFAULT_BOOTSTRAP: Final = "127.0.0.1:9092"

BOOTSTRAP_VARIABLE: Final = "MOLDAU_BOOTSTRAP"
CONFIG_VARIABLE: Final = "MOLDAU_CONFIG"
PROFILE_VARIABLE: Final = "MOLDAU_PROFILE"
PASSWORD_VARIABLE: Final = "MOLDAU_PASSWORD"
KEY_PASSWORD_VARIABLE: Final = "MOLDAU_KEY_PASSWORD"

# Option -> property, and what of the file it stands in the place of.
_SHORTHAND: Final = {
    "security_protocol": ("security.protocol", ()),
    "sasl_mechanism": ("sasl.mechanism", ("sasl.mechanisms",)),
    "username": ("sasl.username", ("sasl.jaas.config", "sasl.password")),
    "ca_file": ("ssl.ca.location", ("ssl.truststore.",)),
    "cert_file": ("ssl.certificate.location", ("ssl.keystore.", "ssl.key.location", "ssl.key.password")),
    "key_file": ("ssl.key.location", ("ssl.keystore.", "ssl.key.password")),
}
_SECRETS: Final = (
    *("sasl.password", "sasl.jaas.config", "sasl.oauthbearer.client.credentials.client.secret"),
    *("sasl.oauthbearer.client.secret", "ssl.key.password", "ssl.keystore.key"),
    *("ssl.keystore.password", "ssl.truststore.password"),
)
# What is missing is asked for by the name of its option.
_TO_ASK_FOR: Final = {
    "sasl.mechanism": "--sasl-mechanism",
    "sasl.username": "--username",
    "ssl.certificate.location": "--cert-file",
}
_OURS: Final = ("bootstrap.servers", "client.id")


class SettingOrConnection(Action):
    """`--config` of a command that sets something: NAME=VALUE is a setting, as for Kafka's tool of that name; anything
    else is the file it is for all other commands."""

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[Any] | None,
        option: str | None = None,
    ) -> None:
        assert isinstance(values, str)
        if "=" in values:
            name, _, value = values.partition("=")
            setattr(namespace, self.dest, [*getattr(namespace, self.dest), (name.strip(), value.strip())])
        elif Path(values).is_file():
            namespace.client_config = values
        else:
            parser.error(f"argument --config: {values!r} is not of the form NAME=VALUE, and there is no such file")


def add_connection(parser: ArgumentParser, *, timeout: bool = True, own_config: bool = False) -> None:
    """`own_config`: the command has a --config already (`SettingOrConnection`)."""
    group = parser.add_argument_group("connection")
    group.add_argument(
        "-b",
        "--bootstrap",
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        help=f"brokers to start from (default: {BOOTSTRAP_VARIABLE}, what --config says, {DEFAULT_BOOTSTRAP})",
    )
    if timeout:
        group.add_argument(
            "--timeout",
            metavar="TIME",
            type=checked(parse_duration),
            default=30.0,
            help="how long to keep trying, as in 30s or 2m (default 30s)",
        )
    group.add_argument(
        *(() if own_config else ("--config",)),
        "--command-config",
        dest="client_config",
        metavar="FILE",
        help=f"properties of a Kafka client, as Kafka's tools take them (default: the file in {CONFIG_VARIABLE})",
    )
    group.add_argument(
        "--profile",
        metavar="NAME",
        help=f"such a file kept as NAME.properties in {shown_profiles()} (default: {PROFILE_VARIABLE}, or default)",
    )
    group.add_argument(
        "-X",
        dest="properties",
        metavar="NAME=VALUE",
        action="append",
        type=key_value,
        default=[],
        help="one such property, but no password; repeatable",
    )
    security = parser.add_argument_group(
        "security",
        f"The password is the first line of --password-file, or in {PASSWORD_VARIABLE}, or asked for on the\n"
        f"terminal; that of a locked key is in {KEY_PASSWORD_VARIABLE}.",
    )
    security.add_argument("--security-protocol", metavar="NAME", help="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
    security.add_argument(
        "--sasl-mechanism", metavar="NAME", help="PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI"
    )
    security.add_argument("--username", metavar="NAME", help="who to be, with SASL")
    security.add_argument("--password-file", metavar="FILE", help="where the password is")
    security.add_argument("--ca-file", metavar="PEM", help="the authorities to trust (default: the system's)")
    security.add_argument("--cert-file", metavar="PEM", help="our own certificate, for brokers that want one")
    security.add_argument("--key-file", metavar="PEM", help="its key (default: in the same file)")


def connect(options: Namespace) -> Cluster:
    """The cluster the options name. Connects when first used."""
    from moldau.client.cluster import Cluster

    properties, security = client_properties(options)
    client_id = properties.get("client.id") or "moldau-cli"
    return Cluster(properties["bootstrap.servers"], client_id=client_id, timeout=options.timeout, security=security)


def client_properties(options: Namespace) -> tuple[dict[str, str], Security]:
    """Where to begin and all that is about security, by Kafka's names, passwords among it; and what that comes to."""
    from moldau.client.properties import security_options
    from moldau.client.property_names import PropertyError

    properties = _given(options)
    try:
        return properties, security_options(properties, _names(options)).open()
    except PropertyError as error:
        raise Failure(str(error), USAGE) from None


def client_settings(options: Namespace) -> dict[str, Any]:
    """The same for a command that works with a client's class instead of a cluster."""
    from moldau.client.properties import security_options
    from moldau.client.property_names import PropertyError

    properties = _given(options)
    try:
        security = security_options(properties, _names(options)).client()
    except PropertyError as error:
        raise Failure(str(error), USAGE) from None
    return {
        "bootstrap_servers": properties["bootstrap.servers"],
        "client_id": properties.get("client.id") or "moldau-cli",
        "bootstrap_timeout_ms": options.timeout * 1000,
        **security,
    }


def _given(options: Namespace) -> dict[str, str]:
    properties = _from_file(_file_of(options))
    for name, value in options.properties:
        if name in _SECRETS:
            where = f"--config, --password-file or {PASSWORD_VARIABLE}"
            raise Failure(f"Everybody can read the command line: {name} belongs into {where}.", USAGE)
        properties[_known(name, "-X", strict=True)] = value
    for option, (name, hidden) in _SHORTHAND.items():
        value = getattr(options, option)
        if value is not None:
            properties = {each: text for each, text in properties.items() if not each.startswith(hidden)}
            properties[name] = value
    _add_passwords(properties, options)
    if options.bootstrap is not None:
        properties["bootstrap.servers"] = options.bootstrap
    elif options.client_config is None and options.profile is None and os.environ.get(BOOTSTRAP_VARIABLE):
        # What was named for this one command says more than what holds for all.
        properties["bootstrap.servers"] = os.environ[BOOTSTRAP_VARIABLE]
    properties.setdefault("bootstrap.servers", DEFAULT_BOOTSTRAP)
    return properties


def _file_of(options: Namespace) -> str | Path | None:
    """What was named for this command before what is named for all, and a file before a profile."""
    if options.client_config is not None and options.profile is not None:
        raise Failure("--config and --profile both name a file of properties; one is enough.", USAGE)
    if options.client_config is not None:
        return str(options.client_config)
    if options.profile is not None:
        return _profile(options.profile)
    if os.environ.get(CONFIG_VARIABLE):
        return os.environ[CONFIG_VARIABLE]
    if os.environ.get(PROFILE_VARIABLE):
        return _profile(os.environ[PROFILE_VARIABLE])
    usual = profiles() / "default.properties"
    return usual if usual.is_file() else None


def profiles() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "moldau"


def shown_profiles() -> str:
    return "$XDG_CONFIG_HOME/moldau" if os.environ.get("XDG_CONFIG_HOME") else "~/.config/moldau"


def _profile(name: str) -> Path:
    path = profiles() / f"{name}.properties"
    if "/" in name or not path.is_file():
        there = sorted(each.stem for each in profiles().glob("*.properties")) if profiles().is_dir() else []
        known = f"there are {', '.join(there)}" if there else "there is none"
        raise Failure(f"There is no profile {name} in {shown_profiles()}; {known}.", USAGE)
    return path


def _from_file(path: str | Path | None) -> dict[str, str]:
    if path is None:
        return {}
    from moldau.cli.config_providers import resolved
    from moldau.config.definition import ConfigError
    from moldau.config.properties import decode_properties

    try:
        with open(path, "rb") as file:
            given = resolved(decode_properties(file.read()), str(path))
    except ConfigError as error:
        raise Failure(f"{path}: {error}.", USAGE) from None
    return {_known(name, str(path), strict=False): value for name, value in given.items()}


def _known(name: str, where: str, *, strict: bool) -> str:
    """A file for Kafka's tools may say much that is of no use here. But what is about security, or looks as if it were
    meant to be, is not passed over."""
    from moldau.client.properties import SECURITY_PROPERTIES

    known = (*SECURITY_PROPERTIES, *_OURS)
    if name in known:
        return name
    close = get_close_matches(name, known, 1, 0.85)
    if strict or close or name.startswith(("security.", "sasl.", "ssl.")):
        meant = f" is {close[0]} meant?" if close else " known are " + ", ".join(known) + "."
        raise Failure(f"{where}: there is no property {name};{meant}", USAGE)
    return name


def _add_passwords(properties: dict[str, str], options: Namespace) -> None:
    if options.password_file is not None:
        properties["sasl.password"] = first_line(options.password_file)
    elif "sasl.username" in properties and "sasl.password" not in properties:
        properties["sasl.password"] = _password(properties["sasl.username"])
    if os.environ.get(KEY_PASSWORD_VARIABLE) and {"ssl.certificate.location", "ssl.keystore.location"} & {*properties}:
        properties.setdefault("ssl.key.password", os.environ[KEY_PASSWORD_VARIABLE])


def first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            line = file.readline().rstrip("\r\n")
    except UnicodeDecodeError:
        # Not what is wrong with it: that would show bytes of the password.
        raise Failure(f"{path}: the password must be text in UTF-8.", USAGE) from None
    if not line:
        raise Failure(f"{path}: the first line should be the password, and is empty.", USAGE)
    return line


def _password(username: str) -> str:
    given = os.environ.get(PASSWORD_VARIABLE)
    if given is not None:
        return given
    if sys.stderr.isatty():
        from getpass import getpass

        return getpass(f"Password of {username}: ")
    raise Failure(
        f"The password of {username} is missing: put it into {PASSWORD_VARIABLE}, or into a file for --password-file.",
        USAGE,
    )


def _names(options: Namespace) -> Names:
    """Properties that were given by an option are called by its name."""
    from moldau.client.property_names import Names

    shown = {
        name: f"--{option.replace('_', '-')}"
        for option, (name, _) in _SHORTHAND.items()
        if getattr(options, option) is not None
    }
    if options.password_file is not None:
        shown["sasl.password"] = "--password-file"
    return Names(login="sasl.username", key="ssl.key.location", instead={**_TO_ASK_FOR, **shown})
