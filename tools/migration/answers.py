"""Every operation of kafka-python's admin client that a single node can answer, asked with both clients."""

from __future__ import annotations

import builtins
import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any
from uuid import UUID

import kafka
import kafka.admin
import kafka.errors

import moldau
import moldau.admin
import moldau.errors


@dataclass(frozen=True)
class Library:
    """The modules of one of the two, and a name for what is created with it."""

    package: ModuleType
    admin: ModuleType
    errors: ModuleType
    suffix: str

    def topic(self, name: str) -> str:
        return f"{name}-{self.suffix}"

    def where(self, name: str, partition: int = 0) -> Any:
        return self.package.TopicPartition(self.topic(name), partition)


THEIRS = Library(kafka, kafka.admin, kafka.errors, "theirs")
OURS = Library(moldau, moldau.admin, moldau.errors, "ours")

Case = Callable[[Any, Library], Any]


def cases() -> dict[str, Case]:
    """In order: later ones look at what earlier ones made."""
    return dict(_topics()) | dict(_configs()) | dict(_groups()) | dict(_cluster()) | dict(_ends())


def _topics() -> Iterator[tuple[str, Case]]:
    yield "create_topics", lambda a, lib: a.create_topics([lib.admin.NewTopic(lib.topic("a"), 2, 1)])
    yield "create_topics, by name", lambda a, lib: a.create_topics([lib.topic("b")])
    yield (
        "create_topics, by a dictionary",
        lambda a, lib: a.create_topics({lib.topic("c"): {"num_partitions": 1, "replication_factor": 1}}),
    )
    yield "create_topics, only tried", lambda a, lib: a.create_topics([lib.topic("d")], validate_only=True)
    yield "create_topics, there already", lambda a, lib: a.create_topics([lib.topic("a")])
    yield "create_topics, there already, told", lambda a, lib: a.create_topics([lib.topic("a")], raise_errors=False)
    yield "create_topics, a name that is none", lambda a, lib: a.create_topics(["a b"])
    yield (
        "create_topics, too many replicas",
        lambda a, lib: a.create_topics([lib.admin.NewTopic(lib.topic("e"), 1, 3)], raise_errors=False),
    )
    yield "list_topics", lambda a, lib: [name for name in a.list_topics() if name.endswith(lib.suffix)]
    yield "describe_topics", lambda a, lib: a.describe_topics([lib.topic("a")])
    yield "describe_topics, unknown", lambda a, lib: a.describe_topics([lib.topic("unknown")])
    yield "describe_topic_partitions", lambda a, lib: a.describe_topic_partitions([lib.topic("a")])
    yield "describe_topic_partitions, unknown", lambda a, lib: a.describe_topic_partitions([lib.topic("unknown")])
    yield "describe_topic_partitions, a page", lambda a, lib: a.describe_topic_partitions([lib.topic("a")], 1)
    yield "create_partitions", lambda a, lib: a.create_partitions({lib.topic("b"): lib.admin.NewPartitions(3)})
    yield "create_partitions, by number", lambda a, lib: a.create_partitions({lib.topic("b"): 4})
    yield "create_partitions, fewer", lambda a, lib: a.create_partitions({lib.topic("b"): 1})
    yield "create_partitions, fewer, told", lambda a, lib: a.create_partitions({lib.topic("b"): 1}, raise_errors=False)
    yield (
        "create_partitions, unknown",
        lambda a, lib: a.create_partitions({lib.topic("unknown"): 2}, raise_errors=False),
    )
    yield "wait_for_topics", lambda a, lib: a.wait_for_topics([lib.topic("a")])
    yield (
        "list_partition_offsets",
        lambda a, lib: a.list_partition_offsets({lib.where("a"): lib.admin.OffsetSpec.LATEST}),
    )
    yield (
        "list_partition_offsets, by time",
        lambda a, lib: a.list_partition_offsets({lib.where("a"): lib.admin.OffsetTimestamp(0)}),
    )
    yield (
        "list_partition_offsets, unknown",
        lambda a, lib: a.list_partition_offsets({lib.where("unknown"): lib.admin.OffsetSpec.LATEST}),
    )
    yield "delete_records", lambda a, lib: a.delete_records({lib.where("a"): 1})
    yield "delete_records, beyond the end", lambda a, lib: a.delete_records({lib.where("a"): 1000})
    yield "delete_records, unknown", lambda a, lib: a.delete_records({lib.where("unknown"): 1})


def _configs() -> Iterator[tuple[str, Case]]:
    def resource(lib: Library, name: str = "a", configs: Any = None) -> Any:
        return lib.admin.ConfigResource("topic", lib.topic(name), configs)

    yield "alter_configs", lambda a, lib: a.alter_configs([resource(lib, configs={"retention.ms": "1000"})])
    yield "alter_configs, not valid", lambda a, lib: a.alter_configs([resource(lib, configs={"retention.ms": "x"})])
    yield "alter_configs, unknown", lambda a, lib: a.alter_configs([resource(lib, configs={"colour": "x"})])
    yield (
        "alter_configs, unknown topic",
        lambda a, lib: a.alter_configs([resource(lib, "unknown", {"retention.ms": "1000"})]),
    )
    yield "describe_configs", lambda a, lib: a.describe_configs([resource(lib)])
    yield "describe_configs, named", lambda a, lib: a.describe_configs([resource(lib, configs=["retention.ms"])])
    yield "describe_configs, synonyms", lambda a, lib: a.describe_configs([resource(lib)], include_synonyms=True)
    yield (
        "describe_configs, all",
        lambda a, lib: (
            a.describe_configs([resource(lib)], config_filter=lib.admin.ConfigFilterType.ALL)
            if hasattr(lib.admin, "ConfigFilterType")
            else a.describe_configs([resource(lib)], config_filter="all")
        ),
    )
    yield "describe_configs, of a broker", lambda a, lib: a.describe_configs([lib.admin.ConfigResource("broker", "1")])
    yield "describe_configs, unknown topic", lambda a, lib: a.describe_configs([resource(lib, "unknown")])
    yield "reset_configs", lambda a, lib: a.reset_configs([resource(lib, configs=["retention.ms"])])
    yield (
        "list_config_resources",
        lambda a, lib: [name for name in a.list_config_resources()["topic"] if name.endswith(lib.suffix)],
    )


def _groups() -> Iterator[tuple[str, Case]]:
    def offsets(lib: Library, offset: int) -> Any:
        return {lib.where("a"): lib.package.OffsetAndMetadata(offset, "m", -1)}

    yield "alter_group_offsets", lambda a, lib: a.alter_group_offsets(lib.topic("g"), offsets(lib, 2))
    yield (
        "alter_group_offsets, unknown topic",
        lambda a, lib: a.alter_group_offsets(
            lib.topic("g"), {lib.where("unknown"): lib.package.OffsetAndMetadata(1, "", -1)}
        ),
    )
    yield "list_group_offsets", lambda a, lib: a.list_group_offsets(lib.topic("g"))
    yield "list_group_offsets, unknown", lambda a, lib: a.list_group_offsets(lib.topic("unknown"))
    yield "list_groups", lambda a, lib: [each for each in a.list_groups() if str(each).find(lib.suffix) >= 0]
    yield "describe_groups", lambda a, lib: a.describe_groups([lib.topic("g")])
    yield (
        "describe_groups, authorized operations",
        lambda a, lib: a.describe_groups([lib.topic("g")], include_authorized_operations=True),
    )
    yield "describe_groups, unknown", lambda a, lib: a.describe_groups([lib.topic("unknown")])
    yield (
        "reset_group_offsets",
        lambda a, lib: a.reset_group_offsets(lib.topic("g"), {lib.where("a"): lib.admin.OffsetSpec.EARLIEST}),
    )
    yield "delete_group_offsets", lambda a, lib: a.delete_group_offsets(lib.topic("g"), [lib.where("a")])
    yield (
        "remove_group_members",
        lambda a, lib: a.remove_group_members(lib.topic("g"), [lib.admin.MemberToRemove("m", None)]),
    )
    yield "delete_groups", lambda a, lib: a.delete_groups([lib.topic("g")])
    yield "delete_groups, unknown", lambda a, lib: a.delete_groups([lib.topic("unknown")])


def _cluster() -> Iterator[tuple[str, Case]]:
    yield "describe_cluster", lambda a, lib: a.describe_cluster()
    yield "describe_log_dirs", lambda a, lib: a.describe_log_dirs([lib.topic("a")])
    yield "api_versions", lambda a, lib: a.api_versions()
    yield "describe_features", lambda a, lib: a.describe_features()
    yield "describe_metadata_quorum", lambda a, lib: a.describe_metadata_quorum()
    yield "update_features", lambda a, lib: a.update_features({"metadata.version": (1, 1)}, validate_only=True)
    yield "elect_leaders", lambda a, lib: a.elect_leaders(0, {lib.topic("a"): [0]}, raise_errors=False)
    yield "alter_partition_reassignments", lambda a, lib: a.alter_partition_reassignments({lib.where("a"): [1]})
    yield "list_partition_reassignments", lambda a, lib: a.list_partition_reassignments()
    yield "list_transactions", lambda a, lib: a.list_transactions()
    yield "describe_transactions, unknown", lambda a, lib: a.describe_transactions(["unknown"])
    yield "describe_producers", lambda a, lib: a.describe_producers([lib.where("a")])
    yield "find_hanging_transactions", lambda a, lib: a.find_hanging_transactions()


def _ends() -> Iterator[tuple[str, Case]]:
    yield "delete_topics", lambda a, lib: a.delete_topics([lib.topic("c")])
    yield "delete_topics, unknown", lambda a, lib: a.delete_topics([lib.topic("unknown")])
    yield "delete_topics, unknown, told", lambda a, lib: a.delete_topics([lib.topic("unknown")], raise_errors=False)


Answers = dict[str, tuple[Any, Any]]


def ask(bootstrap: str) -> Answers:
    """What each of the two answers: values, or the exception."""
    answers: dict[str, list[Any]] = {name: [] for name in cases()}
    _wait_for_coordinators(bootstrap)
    for library in (THEIRS, OURS):
        with (
            library.package.KafkaProducer(bootstrap_servers=bootstrap) as producer,
            library.package.KafkaAdminClient(bootstrap_servers=bootstrap) as admin,
        ):
            for name, case in cases().items():
                answers[name].append(_answer(case, admin, library))
                if name == "wait_for_topics":
                    for number in range(5):
                        producer.send(library.topic("a"), b"%d" % number, partition=0).get(10)
    return {name: (theirs, ours) for name, (theirs, ours) in answers.items()}


def _wait_for_coordinators(bootstrap: str) -> None:
    """Whoever asks first meets coordinators that are only beginning, and theirs raises what ours waits for."""
    with moldau.KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        with contextlib.suppress(moldau.errors.TransactionalIdNotFoundError):
            admin.describe_transactions(["unknown"])
        admin.list_transactions()
        for library in (THEIRS, OURS):
            for group in ("g", "unknown"):
                admin.list_group_offsets(library.topic(group))
        admin.list_groups()


def _answer(case: Case, admin: Any, library: Library) -> Any:
    try:
        return plain(case(admin, library), library)
    except Exception as error:
        return error


def covers(theirs: Any, ours: Any) -> bool:
    """Whether a program that works with their answer works with ours: the same values under the same names. Ours may
    have more, and other sentences; an exception has to be caught by the name of theirs."""
    if isinstance(theirs, BaseException):
        name = type(theirs).__name__
        kind = getattr(OURS.errors, name, None) or getattr(builtins, name)
        return isinstance(ours, kind)
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and all(
            name in ours and (covers(each, ours[name]) or _free(name, each, ours[name]))
            for name, each in theirs.items()
        )
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(covers, theirs, ours))
    return bool(theirs == ours)


def _free(name: Any, theirs: Any, ours: Any) -> bool:
    """Sentences, and what differs from one question to the next."""
    if name in ("error", "error_message"):
        return isinstance(theirs, str) and isinstance(ours, str)
    return name in (
        "finalized_epoch",
        "usable_bytes",
        "producer_id",
        "log_end_offset",
        "high_watermark",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
    )


def plain(value: Any, library: Library) -> Any:
    """Without the libraries' own types, and with ids, times and names of topics made alike."""
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, dict):
        return {_key(plain(key, library)): plain(each, library) for key, each in value.items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, type):
        return value.__name__
    if hasattr(value, "_fields"):
        return plain(value._asdict(), library)
    if isinstance(value, set | frozenset):
        return sorted(str(plain(each, library)) for each in value)
    if isinstance(value, list | tuple):
        return [plain(each, library) for each in value]
    if isinstance(value, str | UUID):
        text = str(value).replace(f"-{library.suffix}", "-it")
        return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "<id>", text)
    return "<time>" if isinstance(value, int) and value > 10**12 and value < 10**13 else value


def _key(plain_key: Any) -> Any:
    return tuple(plain_key.items()) if isinstance(plain_key, dict) else plain_key
