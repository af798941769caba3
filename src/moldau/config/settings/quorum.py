"""Broker settings of KRaft: who this node is, the quorum of controllers, the metadata log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from moldau.config.definition import (
    BOOLEAN,
    HIGH,
    INT,
    LIST,
    LONG,
    LOW,
    MEDIUM,
    STRING,
    Allowed,
    Setting,
    at_least,
    distinct,
    each_of,
    optional,
)

_WEEK = 7 * 24 * 60 * 60 * 1000

_VOTER = re.compile(r"\d+@(\[[0-9a-zA-Z:%.]+\]|[^\s:@\[\]]+):\d{1,5}", re.ASCII)
_SERVER = re.compile(r"(\[[0-9a-zA-Z:%.]+\]|[^\s:@\[\]]+):\d{1,5}", re.ASCII)


def _all_match(pattern: re.Pattern[str], items: Sequence[str]) -> bool:
    return all(pattern.fullmatch(item) for item in items)


_VOTERS: Final[Allowed[Any]] = Allowed("a list of id@host:port", lambda items: _all_match(_VOTER, items))
_SERVERS: Final[Allowed[Any]] = Allowed("a list of host:port", lambda items: _all_match(_SERVER, items))
_ROLES: Final[Allowed[Any]] = each_of("broker", "controller", may_be_empty=False)


# fmt: off
class QuorumSettings:
    node_id = Setting("node.id", INT, -1, at_least(0), HIGH,
        "The number of this node, different for every node of the cluster. Required where `process.roles` is set; a "
        "standalone node is 1 where it is not.")
    broker_id = Setting("broker.id", INT, -1, None, HIGH,
        "The older name of `node.id`; where both are set they must agree.")
    process_roles = Setting("process.roles", LIST, ("broker", "controller"), _ROLES, HIGH,
        "What this node does: broker, controller or both. A node where this is not set is standalone: both, in a "
        "quorum of one.")
    broker_rack = Setting("broker.rack", optional(STRING), None, None, MEDIUM,
        "The rack of this broker; replicas are spread over racks, and consumers may read from the nearest.")

    controller_listener_names = Setting("controller.listener.names", LIST, (), distinct(may_be_empty=True), HIGH,
        "The names of the listeners on which controllers are reached; brokers use the first.")
    controller_quorum_voters = Setting("controller.quorum.voters", LIST, (), _VOTERS, HIGH,
        "The controllers of a quorum that never changes, as id@host:port separated by commas.")
    controller_quorum_bootstrap_servers = Setting("controller.quorum.bootstrap.servers", LIST, (), _SERVERS, HIGH,
        "Addresses where controllers of a quorum that may change are found, as host:port separated by commas.")
    controller_quorum_election_timeout_ms = Setting("controller.quorum.election.timeout.ms", INT, 1000, None, HIGH,
        "How long a candidate waits for votes before it tries again.")
    controller_quorum_fetch_timeout_ms = Setting("controller.quorum.fetch.timeout.ms", INT, 2000, None, HIGH,
        "How long a voter goes without word from the leader before it stands for election, and a leader without word "
        "from a majority before it resigns.")
    controller_quorum_election_backoff_max_ms = Setting(
        "controller.quorum.election.backoff.max.ms", INT, 1000, None, HIGH,
        "The longest pause between two elections that nobody wins.")
    controller_quorum_append_linger_ms = Setting("controller.quorum.append.linger.ms", INT, 25, None, MEDIUM,
        "How long the leader gathers metadata records before it writes them.",
        no_effect="what is decided in one turn of the loop is written together, without waiting")
    controller_quorum_request_timeout_ms = Setting("controller.quorum.request.timeout.ms", INT, 2000, None, MEDIUM,
        "How long a request to another controller may take.")
    controller_quorum_retry_backoff_ms = Setting("controller.quorum.retry.backoff.ms", INT, 20, None, LOW,
        "The pause before a request to another controller is repeated.")
    controller_quorum_auto_join_enable = Setting("controller.quorum.auto.join.enable", BOOLEAN, False, None, LOW,
        "Whether a controller that is not a voter asks to become one.")

    initial_broker_registration_timeout_ms = Setting(
        "initial.broker.registration.timeout.ms", INT, 60_000, None, MEDIUM,
        "How long a starting broker waits for a leader of the controllers to tell it the metadata, and then tries to "
        "register with it, before it gives up and ends.")
    broker_heartbeat_interval_ms = Setting("broker.heartbeat.interval.ms", INT, 2000, None, MEDIUM,
        "How often a broker tells the controller that it is alive.")
    broker_session_timeout_ms = Setting("broker.session.timeout.ms", INT, 9000, None, MEDIUM,
        "How long a broker may go without a heartbeat before the controller fences it; a third of it, and a second, "
        "where it does not ask for the metadata log either.")
    server_max_startup_time_ms = Setting("server.max.startup.time.ms", LONG, 2**63 - 1, at_least(0), MEDIUM,
        "How long the node may take to start.", internal=True, no_effect="a start is not timed")

    metadata_log_dir = Setting("metadata.log.dir", optional(STRING), None, None, HIGH,
        "The directory of the metadata log; the first log directory where it is not set.")
    metadata_log_segment_bytes = Setting("metadata.log.segment.bytes", INT, 1 << 30, at_least(8 << 20), HIGH,
        "The size at which a segment of the metadata log is closed.")
    internal_metadata_log_segment_bytes = Setting(
        "internal.metadata.log.segment.bytes", optional(INT), None, None, LOW,
        "A segment size below the minimum of `metadata.log.segment.bytes`, for tests.", internal=True,
        no_effect="the metadata log has no smaller segments")
    metadata_log_segment_ms = Setting("metadata.log.segment.ms", LONG, _WEEK, None, HIGH,
        "The age at which a segment of the metadata log is closed.")
    metadata_max_retention_bytes = Setting("metadata.max.retention.bytes", LONG, 100 << 20, None, HIGH,
        "The size of metadata log and snapshots above which the oldest are deleted; a snapshot always remains.",
        no_effect="the newest snapshot is kept, with what follows it")
    metadata_max_retention_ms = Setting("metadata.max.retention.ms", LONG, _WEEK, None, HIGH,
        "The age after which metadata log and snapshots are deleted; a snapshot always remains.",
        no_effect="the newest snapshot is kept, with what follows it")
    metadata_log_max_record_bytes_between_snapshots = Setting(
        "metadata.log.max.record.bytes.between.snapshots", LONG, 20 << 20, at_least(1), HIGH,
        "How many bytes of metadata records are written before the next snapshot.")
    metadata_log_max_snapshot_interval_ms = Setting(
        "metadata.log.max.snapshot.interval.ms", LONG, 60 * 60_000, at_least(0), HIGH,
        "How long the metadata log goes without a snapshot while it grows; 0 means only its size counts.",
        no_effect="only the size of the log counts")
    metadata_max_idle_interval_ms = Setting("metadata.max.idle.interval.ms", INT, 500, at_least(0), LOW,
        "How often the controller writes a record when nothing else happens, so that the log moves; 0 for never.",
        no_effect="who follows the log is seen from what he asks, so it need not move")
