"""Broker settings of share and streams groups; those of consumer groups stand with the coordinators.

Most are what a group without settings of its own has, between the limits that its own must keep.
"""

from __future__ import annotations

from typing import Final

from moldau.config.definition import CLUSTER_WIDE, INT, INT_MAX, LOW, MEDIUM, Setting, at_least, between

_SHARE_MEMBERS: Final = between(1, 1000)


# fmt: off
class GroupTypeSettings:
    group_share_max_size = Setting("group.share.max.size", INT, 200, _SHARE_MEMBERS, MEDIUM,
        "How many members a share group may have.")
    group_share_max_share_sessions = Setting("group.share.max.share.sessions", INT, 2000, at_least(1), MEDIUM,
        "How many members of share groups may read from this node at a time.")
    group_share_session_timeout_ms = Setting("group.share.session.timeout.ms", INT, 45_000, at_least(1), MEDIUM,
        "How long a member of a share group may be silent before it is removed.")
    group_share_min_session_timeout_ms = Setting("group.share.min.session.timeout.ms", INT, 45_000, at_least(1), MEDIUM,
        "The shortest session timeout that may be set for a share group.")
    group_share_max_session_timeout_ms = Setting("group.share.max.session.timeout.ms", INT, 60_000, at_least(1), MEDIUM,
        "The longest session timeout that may be set for a share group.")
    group_share_heartbeat_interval_ms = Setting("group.share.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
        "How often members of a share group are told to send heartbeats.")
    group_share_min_heartbeat_interval_ms = Setting(
        "group.share.min.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
        "The shortest heartbeat interval that may be set for a share group.")
    group_share_max_heartbeat_interval_ms = Setting(
        "group.share.max.heartbeat.interval.ms", INT, 15_000, at_least(1), MEDIUM,
        "The longest heartbeat interval that may be set for a share group.")
    group_share_assignment_interval_ms = Setting("group.share.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
        "The least time between two new assignments of a share group.", CLUSTER_WIDE)
    group_share_min_assignment_interval_ms = Setting(
        "group.share.min.assignment.interval.ms", INT, 0, at_least(0), MEDIUM,
        "The shortest assignment interval that may be set for a share group.")
    group_share_max_assignment_interval_ms = Setting(
        "group.share.max.assignment.interval.ms", INT, 15_000, at_least(0), MEDIUM,
        "The longest assignment interval that may be set for a share group.")
    group_share_record_lock_duration_ms = Setting(
        "group.share.record.lock.duration.ms", INT, 30_000, between(1000, 3_600_000), MEDIUM,
        "How long a record that was delivered to a member of a share group is kept from the others.")
    group_share_min_record_lock_duration_ms = Setting(
        "group.share.min.record.lock.duration.ms", INT, 15_000, between(1000, 30_000), MEDIUM,
        "The shortest lock that may be set for a share group.")
    group_share_max_record_lock_duration_ms = Setting(
        "group.share.max.record.lock.duration.ms", INT, 60_000, between(30_000, 3_600_000), MEDIUM,
        "The longest lock that may be set for a share group.")
    group_share_delivery_count_limit = Setting("group.share.delivery.count.limit", INT, 5, between(2, 10), MEDIUM,
        "How often a record is delivered to a share group before it is given up.")
    group_share_min_delivery_count_limit = Setting(
        "group.share.min.delivery.count.limit", INT, 2, between(2, 5), MEDIUM,
        "The lowest limit of deliveries that may be set for a share group.")
    group_share_max_delivery_count_limit = Setting(
        "group.share.max.delivery.count.limit", INT, 10, between(5, 25), MEDIUM,
        "The highest limit of deliveries that may be set for a share group.")
    group_share_partition_max_record_locks = Setting(
        "group.share.partition.max.record.locks", INT, 2000, between(100, 10_000), MEDIUM,
        "How many records of a partition may be locked by the members of a share group at a time.")
    group_share_min_partition_max_record_locks = Setting(
        "group.share.min.partition.max.record.locks", INT, 100, between(100, 2000), MEDIUM,
        "The lowest limit of locked records that may be set for a share group.")
    group_share_max_partition_max_record_locks = Setting(
        "group.share.max.partition.max.record.locks", INT, 4000, between(2000, 20_000), MEDIUM,
        "The highest limit of locked records that may be set for a share group.")
    group_share_initialize_retry_interval_ms = Setting(
        "group.share.initialize.retry.interval.ms", INT, 30_000, at_least(1), LOW,
        "After how long the state of a share partition that was to be initialised is asked for again.", internal=True)

    group_streams_max_size = Setting("group.streams.max.size", INT, INT_MAX, at_least(1), MEDIUM,
        "How many members a streams group may have.")
    group_streams_session_timeout_ms = Setting("group.streams.session.timeout.ms", INT, 45_000, at_least(1), MEDIUM,
        "How long a member of a streams group may be silent before it is removed.")
    group_streams_min_session_timeout_ms = Setting(
        "group.streams.min.session.timeout.ms", INT, 45_000, at_least(1), MEDIUM,
        "The shortest session timeout that may be set for a streams group.")
    group_streams_max_session_timeout_ms = Setting(
        "group.streams.max.session.timeout.ms", INT, 60_000, at_least(1), MEDIUM,
        "The longest session timeout that may be set for a streams group.")
    group_streams_heartbeat_interval_ms = Setting(
        "group.streams.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
        "How often members of a streams group are told to send heartbeats.")
    group_streams_min_heartbeat_interval_ms = Setting(
        "group.streams.min.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
        "The shortest heartbeat interval that may be set for a streams group.")
    group_streams_max_heartbeat_interval_ms = Setting(
        "group.streams.max.heartbeat.interval.ms", INT, 15_000, at_least(1), MEDIUM,
        "The longest heartbeat interval that may be set for a streams group.")
    group_streams_num_standby_replicas = Setting("group.streams.num.standby.replicas", INT, 0, at_least(0), MEDIUM,
        "How many standby copies of each stateful task a streams group has.")
    group_streams_max_standby_replicas = Setting("group.streams.max.standby.replicas", INT, 2, at_least(0), MEDIUM,
        "The most standby copies that may be set for a streams group.")
    group_streams_initial_rebalance_delay_ms = Setting(
        "group.streams.initial.rebalance.delay.ms", INT, 3000, at_least(0), MEDIUM,
        "How long a new streams group waits for further members before it assigns tasks.")
    group_streams_assignment_interval_ms = Setting(
        "group.streams.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
        "The least time between two new assignments of a streams group.", CLUSTER_WIDE)
    group_streams_min_assignment_interval_ms = Setting(
        "group.streams.min.assignment.interval.ms", INT, 0, at_least(0), MEDIUM,
        "The shortest assignment interval that may be set for a streams group.")
    group_streams_max_assignment_interval_ms = Setting(
        "group.streams.max.assignment.interval.ms", INT, 15_000, at_least(0), MEDIUM,
        "The longest assignment interval that may be set for a streams group.")
# fmt: on
