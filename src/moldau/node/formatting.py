"""Data directories made ready for a node before it starts: whose they are, and with what its cluster begins.

`meta.properties` in each directory names cluster, node and directory. `bootstrap.checkpoint` in the metadata directory
holds the first records of a new cluster, its feature levels; whoever leads first writes them into the log. A quorum
whose voters may change begins with a snapshot at offset 0 that names them. All of it as Kafka's tool writes it.

`meta.properties` comes last: a directory that has one is ready.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from moldau.config.broker import BrokerConfig
from moldau.dataclass import dataclass
from moldau.errors import MoldauError
from moldau.metadata.credentials import SCRAM_SINCE, scram_key
from moldau.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    FEATURES,
    GROUP_VERSION,
    KRAFT_VERSION,
    LATEST_METADATA_VERSION,
    METADATA_VERSION,
    MINIMUM_METADATA_VERSION,
    SHARE_VERSION,
    STREAMS_VERSION,
    TRANSACTION_VERSION,
    release_of,
)
from moldau.metadata.records import FeatureLevelRecord, UserScramCredentialRecord, VersionedRecord, encode_record
from moldau.metadata.topic_name import METADATA_PARTITION
from moldau.node.bootstrap import BOOTSTRAP
from moldau.protocol.message import Message
from moldau.protocol.messages.kraft_version_record import KRaftVersionRecord
from moldau.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from moldau.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from moldau.protocol.messages.voters_record import Endpoint, KRaftVersionFeature, Voter, VotersRecord
from moldau.protocol.records import BatchBuilder, ControlType, control_record, encode_batch
from moldau.runtime.ports import Disk, Random
from moldau.storage.checkpoint import replace_file
from moldau.storage.log_dirs import (
    MetaProperties,
    random_id,
    read_meta_properties,
    refuse_logs,
    sync_place,
    write_meta_properties,
)
from moldau.types import Uuid, uuid_from_text

FIRST_SNAPSHOT: Final = f"{0:020d}-{0:010d}.checkpoint"
# What a formatting that was killed may leave of the metadata log.
_INTERRUPTED: Final = (FIRST_SNAPSHOT, f"{FIRST_SNAPSHOT}.tmp")
_DYNAMIC_KRAFT_VERSION: Final = 1
# The metadata.version from which on a new cluster may have a feature at this level.
_SINCE: Final[Mapping[str, Sequence[tuple[int, int]]]] = {
    GROUP_VERSION: ((22, 1),),
    TRANSACTION_VERSION: ((24, 2),),
    ELIGIBLE_LEADER_REPLICAS_VERSION: ((26, 1),),
    SHARE_VERSION: ((28, 1),),
    STREAMS_VERSION: ((29, 1),),
}


class FormatError(MoldauError):
    """The directories cannot be formatted like this; the sentence says what to change."""


class InitialController(NamedTuple):
    id: int
    host: str
    port: int
    directory_id: Uuid


@dataclass(slots=True, frozen=True)
class Wanted:
    """What was asked for. Of the last three a controller whose voters may change needs exactly one."""

    cluster_id: str
    release_version: str | None = None
    features: Mapping[str, int] | None = None
    ignore_formatted: bool = False
    standalone: bool = False
    initial_controllers: Sequence[InitialController] | None = None
    no_initial_controllers: bool = False
    # Users the cluster begins with.
    scram: Sequence[UserScramCredentialRecord] = ()

    @property
    def ways(self) -> list[str]:
        given = {
            "--standalone": self.standalone,
            "--initial-controllers": self.initial_controllers is not None,
            "--no-initial-controllers": self.no_initial_controllers,
        }
        return [name for name, is_given in given.items() if is_given]


def directories_of(config: BrokerConfig) -> list[str]:
    """Of logs and metadata, each once."""
    return list(dict.fromkeys([*config.log_directories, config.metadata_log_directory]))


def format_storage(config: BrokerConfig, wanted: Wanted, disk: Disk, random: Random, now_ms: int) -> list[str]:
    """Formats what is not formatted yet, and says of each directory what was done."""
    _check_ways(config, wanted)
    if not wanted.cluster_id or wanted.cluster_id != wanted.cluster_id.strip():
        raise FormatError("The cluster id must not be empty; `moldau storage random-uuid` makes one.")
    levels = _levels(wanted)
    _check_scram(wanted, levels)
    new = _not_formatted(config, wanted, disk)
    if not new:
        return ["All of the directories are formatted already."]
    metadata = config.metadata_log_directory
    ids = {path: random_id(random) for path in new}
    voters = _voters(config, wanted, ids.get(metadata, bytes(16)))
    if metadata in ids:
        for voter in voters or ():
            if voter.id == config.node_id:
                ids[metadata] = voter.directory_id
    release = release_of(levels[METADATA_VERSION])
    said = []
    for path in new:
        if path == metadata:
            _write_bootstrap(disk, metadata, levels, wanted.scram, now_ms)
            _remove_voters(disk, metadata)
            if voters:
                _write_voters(disk, config, metadata, voters, now_ms)
        write_meta_properties(disk, path, MetaProperties(wanted.cluster_id, config.node_id, ids[path]))
        said.append(f"Formatted {_kind(path == metadata, bool(voters))} {path} with metadata.version {release}.")
    return said


# ------------------------------------------------------------------------------------------------------------- checks


def _check_ways(config: BrokerConfig, wanted: Wanted) -> None:
    ways = wanted.ways
    if len(ways) > 1:
        raise FormatError(f"{' and '.join(ways)} exclude each other.")
    if not config.is_controller:
        if ways:
            raise FormatError(f"{ways[0]} is for controllers, and this node is a broker only.")
        return
    is_static = config.standalone or bool(config.controller_quorum_voters)
    if is_static and ways:
        reason = "it is standalone" if config.standalone else "controller.quorum.voters names them"
        raise FormatError(f"{ways[0]} is for a quorum whose voters may change, and in this one {reason}.")
    if not is_static and not ways:
        raise FormatError(
            "controller.quorum.voters is not set, so it must be said who votes first: --standalone for this controller "
            "alone, --initial-controllers for several, --no-initial-controllers to join others later."
        )
    listed = wanted.initial_controllers
    if listed is not None and config.node_id not in {controller.id for controller in listed}:
        raise FormatError(f"--initial-controllers must name this node, which has node.id {config.node_id}.")


def _levels(wanted: Wanted) -> dict[str, int]:
    """The level of each feature, metadata.version first."""
    given = dict(wanted.features or {})
    for name, level in given.items():
        if name not in FEATURES:
            raise FormatError(f"{name} is not a feature; there are {', '.join(FEATURES)}.")
        span = FEATURES[name].supported
        if name != KRAFT_VERSION and not span.minimum <= level <= span.maximum:
            raise FormatError(f"{name} can be set from {span.minimum} to {span.maximum} here, not to {level}.")
    if wanted.release_version is not None:
        if METADATA_VERSION in given:
            raise FormatError(f"--release-version and --feature {METADATA_VERSION} exclude each other.")
        given[METADATA_VERSION] = _release_level(wanted.release_version)
    is_dynamic = bool(wanted.ways)
    kraft = given.pop(KRAFT_VERSION, _DYNAMIC_KRAFT_VERSION if is_dynamic else 0)
    if kraft != (_DYNAMIC_KRAFT_VERSION if is_dynamic else 0):
        raise FormatError(
            f"{KRAFT_VERSION} is {_DYNAMIC_KRAFT_VERSION} with --standalone, --initial-controllers or "
            "--no-initial-controllers, and 0 without."
        )
    metadata_version = given.pop(METADATA_VERSION, FEATURES[METADATA_VERSION].new_clusters)
    levels = {METADATA_VERSION: metadata_version}
    for name, feature in FEATURES.items():
        if name in (METADATA_VERSION, KRAFT_VERSION):
            continue
        usual = min(feature.new_clusters, _possible(name, metadata_version))
        levels[name] = given.get(name, usual)
    return levels


def _check_scram(wanted: Wanted, levels: Mapping[str, int]) -> None:
    if wanted.scram and levels[METADATA_VERSION] < SCRAM_SINCE:
        raise FormatError(f"--add-scram needs a metadata.version of {release_of(SCRAM_SINCE)} or later.")
    keys = [scram_key(record) for record in wanted.scram]
    for key in keys:
        if keys.count(key) > 1:
            raise FormatError(f"--add-scram names {key.user} twice for the same mechanism.")


def _possible(name: str, metadata_version: int) -> int:
    """The level a feature may have by default in a cluster of this metadata.version."""
    steps = _SINCE.get(name)
    if steps is None:
        return FEATURES[name].supported.maximum
    return max((level for since, level in steps if metadata_version >= since), default=0)


def _release_level(release: str) -> int:
    """`4.0-IV1`, or `4.0` for the last of that release."""
    levels = range(MINIMUM_METADATA_VERSION, LATEST_METADATA_VERSION + 1)
    short = ".".join(release.partition("-")[0].split(".")[:2])
    for level in reversed(levels):
        name = release_of(level)
        if name == release or ("-" not in release and name.partition("-")[0] == short):
            return level
    first, last = release_of(levels[0]), release_of(levels[-1])
    raise FormatError(f"{release} is no release that is known here; they go from {first} to {last}.")


def _not_formatted(config: BrokerConfig, wanted: Wanted, disk: Disk) -> list[str]:
    new = []
    for path in directories_of(config):
        disk.make_directories(path)
        meta = read_meta_properties(disk, path)
        if meta is None:
            refuse_logs(disk, path, {str(METADATA_PARTITION): _INTERRUPTED})
            sync_place(disk, path)
            new.append(path)
        elif not wanted.ignore_formatted:
            raise FormatError(
                f"{path} is formatted already, for cluster {meta.cluster_id}; --ignore-formatted leaves it as it is "
                "and formats the others."
            )
        elif (meta.cluster_id, meta.node_id) != (wanted.cluster_id, config.node_id):
            raise FormatError(
                f"{path} belongs to node {meta.node_id} of cluster {meta.cluster_id}, not to node {config.node_id} of "
                f"{wanted.cluster_id}."
            )
    return new


def _voters(config: BrokerConfig, wanted: Wanted, directory_id: Uuid) -> list[InitialController] | None:
    if wanted.initial_controllers is not None:
        return list(wanted.initial_controllers)
    if not wanted.standalone:
        return None
    endpoint = config.advertised_controller_endpoints[0]
    if not endpoint.host or not endpoint.port:
        raise FormatError(
            f"--standalone needs to know where this controller is reached: give {endpoint.name} a host and a port in "
            "listeners or advertised.listeners."
        )
    return [InitialController(config.node_id, endpoint.host, endpoint.port, directory_id)]


def parse_initial_controllers(text: str) -> list[InitialController]:
    """`id@host:port:directory-id`, separated by commas; FormatError says which one is not."""
    controllers = []
    for item in filter(None, (item.strip() for item in text.split(","))):
        node_id, _, rest = item.partition("@")
        place, _, directory = rest.rpartition(":")
        host, _, port = place.rpartition(":")
        try:
            if not host or not 0 < int(port) <= 65535 or int(node_id) < 0:
                raise ValueError
            controllers.append(InitialController(int(node_id), host.strip("[]"), int(port), uuid_from_text(directory)))
        except ValueError:
            raise FormatError(f"{item!r} is not of the form ID@HOST:PORT:DIRECTORY-ID.") from None
    if not controllers:
        raise FormatError("--initial-controllers names nobody.")
    for what, values in (
        ("id", [controller.id for controller in controllers]),
        ("directory id", [controller.directory_id for controller in controllers]),
    ):
        if len(set(values)) != len(values):
            raise FormatError(f"--initial-controllers names the same {what} twice.")
    return controllers


def _kind(is_metadata: bool, has_voters: bool) -> str:
    if not is_metadata:
        return "data directory"
    return "metadata directory of a voter" if has_voters else "metadata directory"


# -------------------------------------------------------------------------------------------------------------- files


def _write_bootstrap(
    disk: Disk,
    directory: str,
    levels: Mapping[str, int],
    scram: Sequence[UserScramCredentialRecord],
    now_ms: int,
) -> None:
    records = [
        VersionedRecord(FeatureLevelRecord(name=name, feature_level=level), 0)
        for name, level in levels.items()
        if level
    ]
    records += [VersionedRecord(record, 0) for record in scram]
    replace_file(disk, posixpath.join(directory, BOOTSTRAP), _checkpoint([], records, now_ms))


def _remove_voters(disk: Disk, directory: str) -> None:
    """Those of a formatting that was killed: this one may be told others, or none."""
    place = posixpath.join(directory, str(METADATA_PARTITION))
    if disk.is_directory(place):
        disk.remove_tree(place)
        disk.sync_directory(directory)


def _write_voters(
    disk: Disk, config: BrokerConfig, directory: str, voters: Sequence[InitialController], now_ms: int
) -> None:
    listener = config.controller_listener_names[0].upper()
    record = VotersRecord(
        voters=[
            Voter(
                voter_id=voter.id,
                voter_directory_id=voter.directory_id,
                endpoints=[Endpoint(name=listener, host=voter.host, port=voter.port)],
                kraft_version_feature=KRaftVersionFeature(
                    min_supported_version=0, max_supported_version=_DYNAMIC_KRAFT_VERSION
                ),
            )
            for voter in voters
        ]
    )
    control: list[tuple[ControlType, Message]] = [
        (ControlType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=_DYNAMIC_KRAFT_VERSION)),
        (ControlType.KRAFT_VOTERS, record),
    ]
    place = posixpath.join(directory, str(METADATA_PARTITION))
    disk.make_directories(place)
    disk.sync_directory(directory)
    replace_file(disk, posixpath.join(place, FIRST_SNAPSHOT), _checkpoint(control, [], now_ms))


def _checkpoint(
    control: Sequence[tuple[ControlType, Message]], records: Sequence[VersionedRecord], now_ms: int
) -> bytes:
    """The bytes of a snapshot: what opens it, what it holds, what closes it; epoch 0, offsets from 0."""
    header = SnapshotHeaderRecord(last_contained_log_timestamp=now_ms)
    opening = [(ControlType.SNAPSHOT_HEADER, header), *control]
    content = _control_batch(opening, 0, now_ms)
    offset = len(opening)
    if records:
        builder = BatchBuilder()
        builder.extend((now_ms, None, encode_record(record), ()) for record in records)
        content += builder.build(base_offset=offset, partition_leader_epoch=0)
        offset += len(records)
    return content + _control_batch([(ControlType.SNAPSHOT_FOOTER, SnapshotFooterRecord())], offset, now_ms)


def _control_batch(records: Sequence[tuple[ControlType, Message]], offset: int, now_ms: int) -> bytes:
    values = [control_record(kind, message.encode(0), now_ms) for kind, message in records]
    return encode_batch(values, base_offset=offset, partition_leader_epoch=0, is_control=True)
