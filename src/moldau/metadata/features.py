"""Feature levels: what this version understands, and what each metadata.version lets the log contain.

A cluster agrees on a level per feature and writes it into the log; only then may records and requests of that level
be used. The table below is the one place to edit when a feature becomes ready: raise `built`, and its `new_clusters`
level if a fresh log should start with it. What is supported are the levels of Kafka 4.3: a node of ours can live in a
cluster that agreed on them, whether or not it serves what they switch on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from moldau.metadata.broker_registration import FeatureRange
from moldau.protocol.messages.feature_level_record import FeatureLevelRecord

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
TRANSACTION_VERSION: Final = "transaction.version"
GROUP_VERSION: Final = "group.version"
ELIGIBLE_LEADER_REPLICAS_VERSION: Final = "eligible.leader.replicas.version"
SHARE_VERSION: Final = "share.version"
STREAMS_VERSION: Final = "streams.version"

# The oldest log with a level in it, and the level of Kafka 4.3.
MINIMUM_METADATA_VERSION: Final = 7
LATEST_METADATA_VERSION: Final = 30
# Levels of metadata.version from which the records can hold controllers, directories of replicas, eligible leaders and
# cordoned directories: 3.7-IV0, 3.7-IV2, 4.0-IV1, 4.3-IV0.
CONTROLLERS_SINCE: Final = 15
DIRECTORIES_SINCE: Final = 17
ELIGIBLE_LEADERS_SINCE: Final = 23
CORDONED_SINCE: Final = 30


class Feature(NamedTuple):
    supported: FeatureRange
    # The highest level a controller of ours agrees to: what it switches on is there.
    built: int
    # The level a new cluster starts with; 0 leaves it switched off.
    new_clusters: int
    # The metadata.version that every level above 0 needs, because of its records.
    needs_metadata_version: int = 0


FEATURES: Final[Mapping[str, Feature]] = {
    METADATA_VERSION: Feature(
        FeatureRange(MINIMUM_METADATA_VERSION, LATEST_METADATA_VERSION),
        built=LATEST_METADATA_VERSION,
        new_clusters=LATEST_METADATA_VERSION,
    ),
    KRAFT_VERSION: Feature(FeatureRange(0, 1), built=1, new_clusters=0),
    TRANSACTION_VERSION: Feature(FeatureRange(0, 2), built=2, new_clusters=2),
    GROUP_VERSION: Feature(FeatureRange(0, 1), built=1, new_clusters=1),
    ELIGIBLE_LEADER_REPLICAS_VERSION: Feature(
        FeatureRange(0, 1), built=1, new_clusters=1, needs_metadata_version=ELIGIBLE_LEADERS_SINCE
    ),
    SHARE_VERSION: Feature(FeatureRange(0, 1), built=1, new_clusters=1),
    STREAMS_VERSION: Feature(FeatureRange(0, 1), built=1, new_clusters=1),
}

# kraft.version belongs to the quorum, not to the records: it is never a FeatureLevelRecord.
_NOT_IN_RECORDS = frozenset({KRAFT_VERSION})

# The releases of Kafka by level, for people.
_RELEASES: Final[Mapping[int, str]] = {
    7: "3.3-IV3", 8: "3.4-IV0", 9: "3.5-IV0", 10: "3.5-IV1", 11: "3.5-IV2", 12: "3.6-IV0", 13: "3.6-IV1",
    14: "3.6-IV2", 15: "3.7-IV0", 16: "3.7-IV1", 17: "3.7-IV2", 18: "3.7-IV3", 19: "3.7-IV4", 20: "3.8-IV0",
    21: "3.9-IV0", 22: "4.0-IV0", 23: "4.0-IV1", 24: "4.0-IV2", 25: "4.0-IV3", 26: "4.1-IV0", 27: "4.1-IV1",
    28: "4.2-IV0", 29: "4.2-IV1", 30: "4.3-IV0",
}  # fmt: skip

# Levels whose records older ones cannot hold: going below one of them would lose metadata.
_CHANGED_RECORDS: Final = frozenset({7, 8, 11, 13, 14, 15, 17, 23, 30})


def supported_features() -> dict[str, FeatureRange]:
    """What a node says it understands. As in Kafka, a feature that can only be off is left out."""
    return {name: feature.supported for name, feature in FEATURES.items() if feature.supported.maximum > 0}


def supported_range(name: str) -> FeatureRange:
    feature = FEATURES.get(name)
    return feature.supported if feature is not None else FeatureRange(0, 0)


def bootstrap_records() -> list[FeatureLevelRecord]:
    """The first records of a new log. The metadata.version comes first: it says how to read the rest."""
    return [
        FeatureLevelRecord(name=name, feature_level=feature.new_clusters)
        for name, feature in FEATURES.items()
        if feature.new_clusters > 0 and name not in _NOT_IN_RECORDS
    ]


def release_of(level: int) -> str:
    return _RELEASES.get(level, f"level {level}")


def downgrade_loses_metadata(current: int, target: int) -> bool:
    return any(target < level <= current for level in _CHANGED_RECORDS)


# ------------------------------------------------------------------------- record versions by metadata.version


def partition_record_version(metadata_version: int) -> int:
    """1 names the directory of each replica, 2 the eligible leaders; both for PartitionRecord and its changes."""
    return 2 if metadata_version >= ELIGIBLE_LEADERS_SINCE else 1 if metadata_version >= DIRECTORIES_SINCE else 0


def register_broker_record_version(metadata_version: int) -> int:
    """1 adds controlled shutdown, 2 the ZooKeeper migration, 3 the directories, 4 the cordoned ones."""
    if metadata_version >= CORDONED_SINCE:
        return 4
    return 3 if metadata_version >= DIRECTORIES_SINCE else 2 if metadata_version >= 8 else 1


def broker_registration_change_record_version(metadata_version: int) -> int:
    """1 adds controlled shutdown, 2 the directories, 3 the cordoned ones."""
    return 3 if metadata_version >= CORDONED_SINCE else 2 if metadata_version >= DIRECTORIES_SINCE else 1
