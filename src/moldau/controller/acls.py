"""Access rules: made, and removed by what they say. What they mean is for the authorizers of the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from moldau.controller.decision import Decision, check_size
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.acls import acl_of, acl_record, missing
from moldau.metadata.records import (
    AccessControlEntryRecord,
    Message,
    MetadataError,
    RemoveAccessControlEntryRecord,
)
from moldau.runtime.ports import Random
from moldau.security.acl import Acl, AclFilter, check_acl, check_filter
from moldau.slicing import Work, pieces
from moldau.timeline import SnapshotRegistry, TimelineMap
from moldau.types import ZERO_UUID, Uuid

# Rules that are looked at before others have their turn.
_IN_A_ROW: Final = 2000
# How often rules are held against filters in one decision, for which all others wait: about two seconds.
_MOST_LOOKED_AT: Final = 2_000_000
# How often rules are told in an answer, where many filters match each of them.
_MOST_TOLD: Final = 100_000


class Removed(NamedTuple):
    """What one filter came to."""

    acls: Sequence[Acl] = ()
    error: KafkaError | None = None


class AclControl:
    def __init__(self, registry: SnapshotRegistry, random: Random) -> None:
        self._random = random
        self._by_id: TimelineMap[Uuid, Acl] = TimelineMap(registry)
        # Every rule, by what it says; the same one is not made twice.
        self._ids: TimelineMap[Acl, Uuid] = TimelineMap(registry)

    def create(self, acls: Sequence[Acl]) -> Decision[list[KafkaError | None]]:
        """Rules stand alone: one that is refused does not stop the others. One that is there already is fine."""
        check_size(len(acls), "access rules")
        records: list[Message] = []
        results: list[KafkaError | None] = []
        made: set[Acl] = set()
        for acl in acls:
            try:
                check_acl(acl)
            except KafkaError as error:
                results.append(error)
                continue
            if acl not in self._ids and acl not in made:
                made.add(acl)
                records.append(acl_record(self._new_id(), acl))
            results.append(None)
        return Decision(records, results)

    def delete(self, filters: Sequence[AclFilter]) -> Work[Decision[list[Removed]]]:
        """What two filters match is told for each of them, and removed once."""
        removed: dict[Uuid, Message] = {}
        results: dict[AclFilter, Removed] = {}
        told = 0
        if len({wanted for wanted in filters if wanted.rule is None}) * len(self._by_id) > _MOST_LOOKED_AT:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"So many filters take too long to be held against {len(self._by_id)} access rules; those that say all "
                "of a rule do not.",
            )
        for wanted in filters:
            if wanted not in results:
                try:
                    check_filter(wanted)
                except KafkaError as error:
                    results[wanted] = Removed(error=error)
                else:
                    results[wanted] = Removed((yield from self._matched(wanted, removed)))
            told += len(results[wanted].acls)
            if told > _MOST_TOLD:
                raise KafkaError(
                    ErrorCode.POLICY_VIOLATION,
                    f"The filters match access rules {told} times; at most {_MOST_TOLD} are told in one answer.",
                )
            yield
        return Decision(list(removed.values()), [results[wanted] for wanted in filters])

    def _matched(self, wanted: AclFilter, removed: dict[Uuid, Message]) -> Work[list[Acl]]:
        found: list[Acl] = []
        rule = wanted.rule
        acl_id = None if rule is None else self._ids.get(rule)
        if rule is not None:
            if acl_id is not None:
                found.append(rule)
                removed.setdefault(acl_id, RemoveAccessControlEntryRecord(id=acl_id))
                check_size(len(removed), "access rules to be removed")
            return found
        for some in pieces(self._by_id.items(), _IN_A_ROW):
            for acl_id, acl in some:
                if wanted.matches(acl):
                    found.append(acl)
                    removed.setdefault(acl_id, RemoveAccessControlEntryRecord(id=acl_id))
            check_size(len(removed), "access rules to be removed")
            yield
        return found

    def replay(self, record: AccessControlEntryRecord) -> None:
        acl = acl_of(record)
        before = self._by_id.get(record.id)
        if before is not None:
            self._ids.pop(before)
        self._by_id[record.id] = acl
        self._ids[acl] = record.id

    def replay_remove(self, record: RemoveAccessControlEntryRecord) -> None:
        acl = self._by_id.pop(record.id)
        if acl is None:
            raise MetadataError(missing(record))
        if self._ids.get(acl) == record.id:
            self._ids.pop(acl)

    def _new_id(self) -> Uuid:
        while True:
            acl_id = self._random.bytes(16)
            if acl_id != ZERO_UUID and acl_id not in self._by_id:
                return acl_id
