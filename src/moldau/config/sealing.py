"""Secrets among the settings that change while a broker runs: encrypted wherever they are kept.

What is set at run time stands in the cluster's metadata: in the log and the snapshots of every node, and in whatever is
copied from there. A password is of use to nobody there but the broker it is for. So that broker seals it before it
passes it on, with a key that follows from `password.encoder.secret` in its own file, and without that setting takes no
secret at all. (Kafka did so while ZooKeeper kept its settings; since then it writes them down as they are, and such
values of other nodes are taken as they stand.)

The cipher is AES-GCM with a key of 256 bits, made by PBKDF2 with a salt of its own for each broker: making one takes
milliseconds, and a request may bring any number of secrets. The name of the setting is part of what is authenticated: a
sealed text counts for no other.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from functools import lru_cache
from typing import Final

from moldau.config.definition import ConfigError, Password

SETTING: Final = "password.encoder.secret"

_MARK: Final = "sealed:AES-GCM:"
_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
# Kafka's number of rounds.
_ROUNDS: Final = 4096

# What sealing takes of chance.
RANDOM_BYTES: Final = _NONCE_BYTES


def is_sealed(text: str) -> bool:
    return text.startswith(_MARK)


def seal(name: str, text: str, secret: Password | None, broker: str, random: bytes) -> str:
    """What may be written down in the place of a secret; ConfigError if there is nothing to encrypt it with. `broker`
    is who seals, as nobody else in the world is called."""
    if secret is None:
        raise ConfigError(
            f"{name} is a secret, and what is set while the broker runs is written into the metadata of the cluster: "
            f"set {SETTING} in the file of this broker, so that it is encrypted there"
        )
    # Loaded by those who have such settings: it costs every start milliseconds.
    import hashlib

    salt = hashlib.sha256(broker.encode()).digest()[:_SALT_BYTES]
    sealed = _cipher(secret.value, salt).encrypt(random, text.encode(), name.encode())
    return _MARK + b64encode(salt + random + sealed).decode()


def unseal(name: str, text: str, *secrets: Password | None) -> str:
    """The secret in a sealed text, by the first of `secrets` that opens it; any other text as it is."""
    if not is_sealed(text):
        return text
    given = [secret.value for secret in secrets if secret is not None]
    if not given:
        raise ConfigError(f"{name} is encrypted, and there is no {SETTING} to read it with")
    try:
        data = b64decode(text.removeprefix(_MARK), validate=True)
    except ValueError:
        data = b""
    begin = _SALT_BYTES + _NONCE_BYTES
    salt, nonce, sealed = data[:_SALT_BYTES], data[_SALT_BYTES:begin], data[begin:]
    from cryptography.exceptions import InvalidTag

    for secret in given if sealed else ():
        try:
            return str(_cipher(secret, salt).decrypt(nonce, sealed, name.encode()), "utf-8")
        except InvalidTag:
            continue
    raise ConfigError(f"{name} is encrypted, and {SETTING} is not the one it was encrypted with: set it again")


@lru_cache(maxsize=64)
def _cipher(secret: str, salt: bytes):  # type: ignore[no-untyped-def]
    # As above.
    import hashlib

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(hashlib.pbkdf2_hmac("sha512", secret.encode(), salt, _ROUNDS, _KEY_BYTES))
