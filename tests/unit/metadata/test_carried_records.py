"""Credentials and tokens: nothing is done with them, and nothing of them is lost."""

from __future__ import annotations

import pytest

from moldau.metadata.carried_records import CARRIED_TYPES
from moldau.metadata.committed import CommittedBatch
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.metadata.loader import MetadataLoader
from moldau.metadata.records import Message, decode_record, encode_record, versioned
from moldau.metadata.snapshot_records import image_records
from moldau.protocol.messages.delegation_token_record import DelegationTokenRecord
from moldau.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from moldau.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from moldau.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from moldau.slicing import run_whole

CREDENTIAL = UserScramCredentialRecord(name="vltava", mechanism=1, salt=b"s", iterations=4096)
TOKEN = DelegationTokenRecord(owner="User:vltava", token_id="t", renewers=[])
WRITTEN = (CREDENTIAL, TOKEN)
REMOVALS = (
    RemoveUserScramCredentialRecord(name="vltava", mechanism=1),
    RemoveDelegationTokenRecord(token_id="t"),
)


def replayed(base: MetadataImage, *records: Message, is_snapshot: bool = False) -> MetadataImage:
    delta = MetadataDelta(base, is_snapshot=is_snapshot)
    for record in records:
        delta.replay(record)
    if is_snapshot:
        run_whole(delta.finish_snapshot())
    assert delta.is_empty is (records == () and not is_snapshot)
    return delta.apply(base.offset + 1, 1)


@pytest.mark.parametrize("record", [*WRITTEN, *REMOVALS], ids=lambda record: type(record).__name__)
def test_they_are_read_and_written_as_they_are(record: Message) -> None:
    assert type(record) in CARRIED_TYPES
    assert decode_record(encode_record(versioned(record, 30))) == (record, 0)


def test_they_are_part_of_a_snapshot_until_they_are_removed() -> None:
    image = replayed(EMPTY_IMAGE, *WRITTEN)
    again = replayed(EMPTY_IMAGE, *image_records(image))
    assert again.same_content(image)
    assert not again.same_content(EMPTY_IMAGE)
    assert [record for record in image_records(image) if type(record) in CARRIED_TYPES] == list(WRITTEN)
    for removal, gone in zip(REMOVALS, WRITTEN, strict=True):
        assert [*replayed(image, removal).carried.values()] == [record for record in WRITTEN if record is not gone]
    assert MetadataDelta.whole(image).apply(image.offset, 1).same_content(image)


def test_a_snapshot_without_them_takes_them_away() -> None:
    assert replayed(replayed(EMPTY_IMAGE, *WRITTEN), TOKEN, is_snapshot=True).carried == dict(
        replayed(EMPTY_IMAGE, TOKEN).carried
    )


def test_a_newer_value_takes_the_place_of_the_older() -> None:
    more = UserScramCredentialRecord(name="vltava", mechanism=1, salt=b"t", iterations=8192)
    other = UserScramCredentialRecord(name="vltava", mechanism=2, salt=b"u", iterations=4096)
    assert [*replayed(replayed(EMPTY_IMAGE, CREDENTIAL), more, other).carried.values()] == [more, other]


def test_each_kind_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    loader = MetadataLoader()
    for offset, record in enumerate((CREDENTIAL, CREDENTIAL, TOKEN)):
        loader.on_commit(CommittedBatch(offset, offset, 1, 0, [record]), more=False)
    assert [line.partition(":")[0] for line in caplog.messages] == [
        "the cluster has SCRAM credentials",
        "the cluster has delegation tokens",
    ]
