"""The access rules of the cluster: in images, in the difference between two, and as records.

The rules of an image are the ones an authorizer decides by, kept as it needs them. A delta copies what its records
touch, record by record, so that taking it over costs nothing, however many rules there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from moldau.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from moldau.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from moldau.security.acl import Acl
from moldau.security.authorizer import NO_RULES, Rules
from moldau.types import Uuid, uuid_to_text


class AclsImage(NamedTuple):
    by_id: Mapping[Uuid, Acl]
    rules: Rules

    def records(self) -> Iterator[AccessControlEntryRecord]:
        return (acl_record(acl_id, acl) for acl_id, acl in self.by_id.items())


NO_ACLS: Final = AclsImage({}, NO_RULES)


class AclsDelta:
    """What records do to the rules of `base`; of a snapshot, which says all there is, to none."""

    def __init__(self, base: AclsImage, *, is_snapshot: bool = False) -> None:
        self.base = base
        self._start = NO_ACLS if is_snapshot else base
        self._by_id: dict[Uuid, Acl] | None = None
        self._rules = NO_RULES

    @classmethod
    def whole(cls, image: AclsImage) -> AclsDelta:
        """From nothing to `image`."""
        delta = cls(NO_ACLS)
        delta._start = image
        return delta

    @property
    def is_changed(self) -> bool:
        return self._by_id is not None or self._start is not self.base

    def add(self, record: AccessControlEntryRecord) -> None:
        by_id = self._writable()
        self._forget(by_id, record.id)
        acl = by_id[record.id] = acl_of(record)
        self._rules.add(acl)

    def remove(self, record: RemoveAccessControlEntryRecord) -> bool:
        """Whether there was such a rule."""
        return self._forget(self._writable(), record.id)

    def apply(self) -> AclsImage:
        return self._start if self._by_id is None else AclsImage(self._by_id, self._rules)

    def _forget(self, by_id: dict[Uuid, Acl], acl_id: Uuid) -> bool:
        before = by_id.pop(acl_id, None)
        if before is not None:
            self._rules.remove(before)
        return before is not None

    def _writable(self) -> dict[Uuid, Acl]:
        if self._by_id is None:
            self._by_id = dict(self._start.by_id)
            self._rules = self._start.rules.copy()
        return self._by_id


def acl_of(record: AccessControlEntryRecord) -> Acl:
    return Acl(
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        record.principal,
        record.host,
        record.operation,
        record.permission_type,
    )


def acl_record(acl_id: Uuid, acl: Acl) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def missing(record: RemoveAccessControlEntryRecord) -> str:
    return f"the metadata log removes the access rule {uuid_to_text(record.id)}, which does not exist"
