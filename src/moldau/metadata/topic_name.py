"""What a topic may be called, which names are ours, and which two names are too alike."""

from __future__ import annotations

import re
from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.types import TopicPartition

CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"
CLUSTER_METADATA: Final = "__cluster_metadata"
METADATA_PARTITION: Final = TopicPartition(CLUSTER_METADATA, 0)

# Clients see these flagged as internal; the metadata log is not a topic they ever see.
INTERNAL_TOPICS: Final = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})

# The longest name that leaves room for "-<partition>" and suffixes in a file name of 255 bytes.
MAX_LENGTH: Final = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)


def is_internal(name: str) -> bool:
    return name in INTERNAL_TOPICS


def why_invalid(name: str) -> str | None:
    """A clause that says what is wrong with the name, or None."""
    if not name:
        return "it is empty"
    if name in (".", ".."):
        return f"'{name}' means a directory"
    if len(name) > MAX_LENGTH:
        return f"it has {len(name)} characters and {MAX_LENGTH} are allowed"
    if not _LEGAL.fullmatch(name):
        return "only ASCII letters, digits, '.', '_' and '-' are allowed"
    return None


def validate(name: str) -> None:
    """KafkaError(INVALID_TOPIC_EXCEPTION) unless the name can be used."""
    reason = why_invalid(name)
    if reason is not None:
        shown = name if len(name) <= MAX_LENGTH else f"{name[:40]}..."
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"The topic name {shown!r} is not valid: {reason}.")


def collision_key(name: str) -> str | None:
    """Metric names turn '.' into '_', so two names that agree after that cannot live together.

    The form to compare by, or None for a name that cannot collide with another.
    """
    return name.replace(".", "_") if "." in name or "_" in name else None
