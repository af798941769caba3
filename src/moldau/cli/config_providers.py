"""Values that stand elsewhere: `${file:PATH:NAME}`, `${dir:PATH:NAME}` and `${env:NAME}` in files of properties.

A password in a file that is copied, shown and kept under version control is no secret. Kafka's files name a place
instead, and say in `config.providers` which kinds of places they mean:

    config.providers=file,env
    ssl.key.password=${file:/etc/moldau/secrets.properties:key.password}
    ssl.keystore.location=${env:KEYSTORE}

Kafka's classes are known under the names its documentation gives them, and need not be spelt out. As in Kafka, a value
that names a provider which is not listed stays as it is, and `allowed.paths` and `allowlist.pattern` limit what may be
looked at. No sentence from here shows a value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from moldau.cli.failure import USAGE, Failure
from moldau.config.definition import ConfigError
from moldau.config.properties import decode_properties

_PROVIDERS: Final = "config.providers"
_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_CLASSES: Final = {"file": "FileConfigProvider", "dir": "DirectoryConfigProvider", "env": "EnvVarConfigProvider"}
# Kafka's DirectoryConfigProvider is called directory in its own examples.
_USUAL: Final = {**_CLASSES, "directory": "DirectoryConfigProvider"}
# Of what holds secrets; a keystore in PEM has some ten thousand bytes.
_LARGEST: Final = 1024 * 1024
_REFERENCE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")


def resolved(properties: Mapping[str, str], where: str) -> dict[str, str]:
    """The properties with what they refer to in its place, and without the settings about providers. Failure if
    something is not to be had; `where` is named in it."""
    if _PROVIDERS not in properties:
        return dict(properties)
    providers = Providers(properties, where)
    return {
        name: providers.fetched(name, value)
        for name, value in properties.items()
        if name != _PROVIDERS and not name.startswith(f"{_PROVIDERS}.")
    }


class Providers:
    """Those that properties name. `taken` is for settings that change while a node runs, in the cluster's metadata:
    they refer to what is on the machine of the broker they are for, by the providers of its file."""

    def __init__(self, properties: Mapping[str, str], where: str) -> None:
        names = [name.strip() for name in properties.get(_PROVIDERS, "").split(",") if name.strip()]
        self._providers = {name: _provider(name, properties, where) for name in names}

    @classmethod
    def of_node(cls, path: str | None, *, environment: bool) -> Providers | None:
        """Of its file, which has been read before, and of settings in its environment above that; None without any."""
        given = {} if path is None else decode_properties(Path(path).read_bytes())
        if environment:
            from moldau.cli.environment_settings import environment_settings

            given |= environment_settings(os.environ)
        return cls(given, "A stored setting") if _PROVIDERS in given else None

    def fetched(self, name: str, value: str) -> str:
        """The value with what it refers to in its place."""

        def one(found: re.Match[str]) -> str:
            provider = self._providers.get(found[1])
            return found[0] if provider is None else provider(name, found[2] or "", found[3])

        return _REFERENCE.sub(one, value) if "${" in value else value

    def taken(self, name: str, text: str) -> str:
        try:
            return self.fetched(name, text)
        except Failure as failure:
            raise ConfigError(str(failure).rstrip(".")) from None

    def is_one(self, text: str) -> bool:
        found = _REFERENCE.fullmatch(text.strip())
        return found is not None and found[1] in self._providers


_Provider = Callable[[str, str, str], str]


def _provider(name: str, properties: Mapping[str, str], where: str) -> _Provider:
    prefix = f"{_PROVIDERS}.{name}."
    given = properties.get(f"{prefix}class", _USUAL.get(name, ""))
    kind = given.removeprefix(_PACKAGE)
    if kind not in _CLASSES.values():
        known = ", ".join(f"{_PACKAGE}{each}" for each in _CLASSES.values())
        raise Failure(f"{where}: {prefix}class must be one of {known}.", USAGE)
    if kind == "EnvVarConfigProvider":
        pattern = re.compile(properties.get(f"{prefix}param.allowlist.pattern", ".*"))
        return lambda setting, place, key: _from_environment(pattern, f"{where}: {setting}", key)
    allowed = [
        Path(each.strip()) for each in properties.get(f"{prefix}param.allowed.paths", "").split(",") if each.strip()
    ]
    fetch = _from_file if kind == "FileConfigProvider" else _from_directory
    return lambda setting, place, key: fetch(
        _allowed(Path(place), allowed, f"{where}: {setting}"), f"{where}: {setting}", key
    )


def _from_environment(pattern: re.Pattern[str], setting: str, key: str) -> str:
    if not pattern.fullmatch(key) or key not in os.environ:
        raise Failure(f"{setting} names {key}, which is not in the environment, or not among what may be taken.", USAGE)
    return os.environ[key]


def _allowed(path: Path, allowed: list[Path], setting: str) -> Path:
    real = path.resolve()
    if allowed and not any(real.is_relative_to(each.resolve()) for each in allowed):
        raise Failure(f"{setting} names {path}, which is not below what allowed.paths says.", USAGE)
    return path


def _from_file(path: Path, setting: str, key: str) -> str:
    try:
        held = decode_properties(_read(path, setting))
    except ConfigError:
        # Its words show what stands in the file.
        raise Failure(f"{setting} names {path}, which is no file of properties.", USAGE) from None
    if key not in held:
        raise Failure(f"{setting} names {key} in {path}, and there is no such property.", USAGE)
    return held[key]


def _from_directory(path: Path, setting: str, key: str) -> str:
    if "/" in key or key in ("", ".", ".."):
        raise Failure(f"{setting} names {key!r} in {path}: it must be a file there.", USAGE)
    try:
        return _read(path / key, setting).decode()
    except UnicodeDecodeError:
        raise Failure(f"{setting} names {path / key}, which is not text in UTF-8.", USAGE) from None


def _read(path: Path, setting: str) -> bytes:
    try:
        if not path.is_file() and path.exists():
            # Whoever may change settings must not have a node wait for what is written into a pipe.
            raise Failure(f"{setting} names {path}, which is no file.", USAGE)
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise Failure(f"{setting} names {path}, which cannot be read: {error.strerror}.", USAGE) from None
    if len(data) > _LARGEST:
        raise Failure(f"{setting} names {path}, which has more than {_LARGEST} bytes.", USAGE)
    return data
