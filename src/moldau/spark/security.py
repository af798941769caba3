"""TLS and SASL for `format("moldau")`: the properties of Kafka's clients as options of Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from moldau.client import properties
from moldau.client.property_names import Names, PropertyError
from moldau.client.security import Security
from moldau.spark.options import KAFKA, OptionError

_NAMES: Final = Names(KAFKA)


@dataclass(frozen=True, slots=True)
class SecurityOptions(properties.SecurityOptions):
    def open(self) -> Security:
        """What a connection of this process needs. OptionError for files that are not there or of no use."""
        try:
            return properties.SecurityOptions.open(self)
        except PropertyError as error:
            raise OptionError(str(error)) from None


def security_options(kafka: Mapping[str, str]) -> SecurityOptions:
    """From the client settings, which are without their prefix. Looks at no file."""
    try:
        read = properties.security_options(kafka, _NAMES)
    except PropertyError as error:
        raise OptionError(str(error)) from None
    return SecurityOptions(read.settings, read.texts, read.oldest, read.newest, read.names, read.tokens)
