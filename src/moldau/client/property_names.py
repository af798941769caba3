"""How the properties of a client are called: by Kafka, by librdkafka, and in sentences for whoever gave them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from moldau.errors import MoldauError

# librdkafka's names, which are those of kcat and of confluent-kafka.
SYNONYMS: Final = {
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.oauthbearer.client.id": "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.secret": "sasl.oauthbearer.client.credentials.client.secret",
}


class PropertyError(MoldauError):
    """A property that is missing, impossible, or does not go with the others."""


@dataclass(frozen=True, slots=True)
class Names:
    """How properties are called where they were given, for the sentences about them."""

    prefix: str = ""
    # What to ask for where nobody says who it is.
    login: str = "sasl.jaas.config"
    key: str = "ssl.keystore.location"
    instead: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, name: str) -> str:
        return self.instead.get(name, self.prefix + name)

    def refused(self, name: str, reason: str) -> PropertyError:
        return PropertyError(f"The option {self(name)} cannot be used: {reason}.")

    def missing(self, name: str, reason: str) -> PropertyError:
        return PropertyError(f"The option {self(name)} is missing{reason}")


AS_THEY_ARE: Final = Names()


class Properties(dict[str, str]):
    """As they were given, and how they were called."""

    def __init__(self, given: Mapping[str, str], names: Names) -> None:
        super().__init__({SYNONYMS.get(name, name): value for name, value in given.items()})
        self.names = names
