"""Users that a new cluster begins with: `--add-scram` as Kafka's tool reads it.

    SCRAM-SHA-256=[name=alice,password=...]
    SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]

No sentence from here repeats what was given: it may be a password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from moldau.errors import MoldauError
from moldau.metadata.credentials import ScramKey, credential_record
from moldau.metadata.records import UserScramCredentialRecord
from moldau.runtime.ports import Random
from moldau.security.scram import credential_of, from_base64, make_credential
from moldau.security.scram_credential import FEWEST_ITERATIONS, HASHES, MOST_ITERATIONS, NUMBERS

_FORM: Final = re.compile(r"(?P<mechanism>[A-Z0-9\-]+)=\[(?P<options>.*)\]", re.DOTALL)
# A value in quotes may have commas in it.
_OPTION: Final = re.compile(r'\s*(?P<name>[a-z]+)=(?:"(?P<quoted>[^"]*)"|(?P<bare>[^,]*))\s*(?:,|$)', re.DOTALL)
_OPTIONS: Final = frozenset({"name", "password", "iterations", "salt", "saltedpassword"})
_SALT_BYTES: Final = 24


class ScramArgumentError(MoldauError):
    """What follows --add-scram is not of its form; says why without repeating it."""


def parse_scram(text: str, random: Random) -> UserScramCredentialRecord:
    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise ScramArgumentError("--add-scram is written MECHANISM=[name=USER,password=...].")
    mechanism = form["mechanism"]
    if mechanism not in HASHES:
        raise ScramArgumentError(f"--add-scram knows {' and '.join(HASHES)}.")
    options = _options(form["options"])
    iterations = _iterations(options.get("iterations", str(FEWEST_ITERATIONS)))
    if not options.get("name"):
        raise ScramArgumentError("--add-scram needs the name of the user.")
    salt = _bytes(options, "salt") if "salt" in options else random.bytes(_SALT_BYTES)
    if ("password" in options) is ("saltedpassword" in options):
        raise ScramArgumentError("--add-scram needs either the password or the saltedpassword.")
    key = ScramKey(NUMBERS[mechanism], options["name"])
    if "password" in options:
        if not options["password"]:
            raise ScramArgumentError("--add-scram needs a password that is not empty.")
        return credential_record(key, make_credential(mechanism, options["password"], salt, iterations))
    if "salt" not in options:
        raise ScramArgumentError("--add-scram needs the salt that goes with the saltedpassword.")
    return credential_record(key, credential_of(mechanism, _bytes(options, "saltedpassword"), salt, iterations))


def _options(text: str) -> Mapping[str, str]:
    options: dict[str, str] = {}
    position = 0
    while position < len(text):
        found = _OPTION.match(text, position)
        if found is None or found["name"] not in _OPTIONS or found["name"] in options:
            raise ScramArgumentError(
                f"--add-scram takes each of {', '.join(sorted(_OPTIONS))} once, as name=value between commas."
            )
        options[found["name"]] = found["bare"] if found["quoted"] is None else found["quoted"]
        position = found.end()
    return options


def _iterations(text: str) -> int:
    if text.isascii() and text.isdigit() and FEWEST_ITERATIONS <= int(text[:9]) <= MOST_ITERATIONS and len(text) < 9:
        return int(text)
    raise ScramArgumentError(f"--add-scram takes from {FEWEST_ITERATIONS} to {MOST_ITERATIONS} iterations.")


def _bytes(options: Mapping[str, str], name: str) -> bytes:
    data = from_base64(options[name])
    if not data:
        raise ScramArgumentError(f"--add-scram takes the {name} in base64.")
    return data
