"""Access rules in images: record by record, in snapshots, and what an authorizer makes of them."""

from __future__ import annotations

import pytest

from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.metadata.records import (
    AccessControlEntryRecord,
    Message,
    MetadataError,
    RemoveAccessControlEntryRecord,
    decode_record,
    encode_record,
    versioned,
)
from moldau.metadata.snapshot_records import image_records
from moldau.security.acl import Operation, PatternType, Permission, ResourceType
from moldau.security.authorizer import Authorizer
from moldau.slicing import run_whole


def rule(number: int, name: str, *, operation: int = Operation.READ) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=bytes([number]) * 16,
        resource_type=ResourceType.TOPIC,
        resource_name=name,
        pattern_type=PatternType.LITERAL,
        principal="User:jan",
        host="*",
        operation=operation,
        permission_type=Permission.ALLOW,
    )


def removal(number: int) -> RemoveAccessControlEntryRecord:
    return RemoveAccessControlEntryRecord(id=bytes([number]) * 16)


def replayed(base: MetadataImage, *records: Message, is_snapshot: bool = False) -> MetadataImage:
    delta = MetadataDelta(base, is_snapshot=is_snapshot)
    for record in records:
        delta.replay(record)
    if is_snapshot:
        run_whole(delta.finish_snapshot())
    return delta.apply(base.offset + 1, 1)


def readable(image: MetadataImage) -> str:
    authorizer = Authorizer(image.acls.rules)
    return "".join(
        name for name in "abcd" if authorizer.allows("User:jan", "h", Operation.READ, ResourceType.TOPIC, name)
    )


def test_they_come_and_go_record_by_record() -> None:
    first = replayed(EMPTY_IMAGE, rule(1, "a"), rule(2, "b"))
    second = replayed(first, removal(1), rule(3, "c"))
    third = replayed(second, rule(3, "d"))
    assert [readable(image) for image in (EMPTY_IMAGE, first, second, third)] == ["", "ab", "bc", "bd"]
    assert not first.same_content(second)
    # What does not concern them shares them.
    assert replayed(third).acls is third.acls
    assert MetadataDelta(third).is_empty


def test_a_snapshot_says_all_there_is() -> None:
    image = replayed(EMPTY_IMAGE, rule(1, "a"), rule(2, "b"))
    records = list(image_records(image))
    again = replayed(EMPTY_IMAGE, *records)
    assert again.same_content(image)
    assert readable(replayed(image, rule(3, "c"), is_snapshot=True)) == "c"
    none = replayed(image, is_snapshot=True)
    assert readable(none) == ""
    assert list(none.acls.records()) == []
    for record in records:
        assert decode_record(encode_record(versioned(record, 30))) == (record, 0)


def test_whoever_comes_late_is_told_all_of_them() -> None:
    image = replayed(EMPTY_IMAGE, rule(1, "a"))
    late = MetadataDelta.whole(image)
    assert late.acls.is_changed
    assert late.apply(image.offset, 1).same_content(image)
    assert not MetadataDelta.whole(EMPTY_IMAGE).acls.is_changed


def test_what_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(MetadataError, match="which does not exist"):
        replayed(replayed(EMPTY_IMAGE, rule(1, "a")), removal(2))


def test_kinds_that_are_not_known_here_are_kept() -> None:
    strange = rule(1, "a", operation=77)
    image = replayed(EMPTY_IMAGE, strange)
    assert list(image_records(image)) == [strange]
    assert readable(image) == ""
