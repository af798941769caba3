"""Real Kafka clients behind one small interface, so that a test says once what every client must be able to do."""

from __future__ import annotations

import pytest

from .aio import AioKafka
from .confluent import ConfluentKafka
from .interface import EARLIEST, LATEST, Client, Message, ProduceFailed, Received, Timestamp, Tls, eventually
from .kcat import Kcat
from .kpython import KafkaPython

CLIENTS: tuple[type[Client], ...] = (ConfluentKafka, KafkaPython, AioKafka, Kcat)


def offering(*operations: str) -> pytest.MarkDecorator:
    """Runs a test with those clients that have all of these operations."""
    able = [kind for kind in CLIENTS if all(kind.offers(operation) for operation in operations)]
    return pytest.mark.parametrize("client", able, indirect=True, ids=lambda kind: kind.name)


# The clients that can send every record the format allows, and not only lines of text.
any_record = pytest.mark.parametrize(
    "client", [kind for kind in CLIENTS if kind.sends_any_record], indirect=True, ids=lambda kind: kind.name
)

__all__ = [
    "CLIENTS",
    "EARLIEST",
    "LATEST",
    "AioKafka",
    "Client",
    "ConfluentKafka",
    "KafkaPython",
    "Kcat",
    "Message",
    "ProduceFailed",
    "Received",
    "Timestamp",
    "Tls",
    "any_record",
    "eventually",
    "offering",
]
