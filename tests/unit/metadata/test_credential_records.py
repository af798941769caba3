"""SCRAM credentials and delegation tokens in images, deltas and snapshots."""

from __future__ import annotations

import pytest

from moldau.metadata.credentials import ScramKey
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.metadata.records import Message, decode_record, encode_record, versioned
from moldau.metadata.snapshot_records import image_records
from moldau.protocol.messages.delegation_token_record import DelegationTokenRecord
from moldau.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from moldau.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from moldau.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from moldau.security.delegation_token import DelegationToken
from moldau.security.principal import Principal, user
from moldau.security.scram_credential import ScramCredential
from moldau.slicing import run_whole

JAN = ScramKey(1, "jan")
CREDENTIAL = UserScramCredentialRecord(
    name="jan", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096
)
TOKEN = DelegationTokenRecord(
    owner="User:jan",
    requester="User:a:b",
    renewers=["User:eva"],
    issue_timestamp=1,
    max_timestamp=9,
    expiration_timestamp=5,
    token_id="t",
)
REMOVALS = (RemoveUserScramCredentialRecord(name="jan", mechanism=1), RemoveDelegationTokenRecord(token_id="t"))


def replayed(base: MetadataImage, *records: Message, is_snapshot: bool = False) -> MetadataImage:
    delta = MetadataDelta(base, is_snapshot=is_snapshot)
    for record in records:
        delta.replay(record)
    if is_snapshot:
        run_whole(delta.finish_snapshot())
    assert not delta.is_empty
    return delta.apply(base.offset + 1, 1)


@pytest.mark.parametrize("record", [CREDENTIAL, TOKEN, *REMOVALS], ids=lambda record: type(record).__name__)
def test_records_are_read_and_written_as_they_are(record: Message) -> None:
    assert decode_record(encode_record(versioned(record, 30))) == (record, 0)


def test_an_image_knows_them_until_they_are_removed() -> None:
    image = replayed(EMPTY_IMAGE, CREDENTIAL, TOKEN)
    assert image.scram == {JAN: ScramCredential(b"s", b"k", b"v", 4096)}
    assert image.tokens == {
        "t": DelegationToken("t", user("jan"), Principal("User", "a:b"), (user("eva"),), 1, 9, 5),
    }
    assert not image.same_content(EMPTY_IMAGE)
    assert replayed(image, REMOVALS[0]).scram == {}
    assert replayed(image, REMOVALS[0]).tokens == image.tokens
    assert replayed(image, REMOVALS[1]).tokens == {}
    assert replayed(image, *REMOVALS).same_content(EMPTY_IMAGE)


def test_a_snapshot_is_the_same_records_and_takes_away_what_it_lacks() -> None:
    image = replayed(EMPTY_IMAGE, CREDENTIAL, TOKEN)
    assert list(image_records(image)) == [CREDENTIAL, TOKEN]
    assert replayed(EMPTY_IMAGE, *image_records(image)).same_content(image)
    assert replayed(image, TOKEN, is_snapshot=True).scram == {}
    assert replayed(image, CREDENTIAL, is_snapshot=True).tokens == {}
    assert MetadataDelta.whole(image).apply(image.offset, 1).same_content(image)


def test_what_does_not_change_is_shared() -> None:
    image = replayed(EMPTY_IMAGE, CREDENTIAL, TOKEN)
    later = replayed(image, REMOVALS[1])
    assert later.scram is image.scram


def test_a_credential_does_not_show_itself() -> None:
    shown = repr(replayed(EMPTY_IMAGE, CREDENTIAL).scram)
    assert "hidden" in shown
    assert not any(secret in shown for secret in ("b's'", "b'k'", "b'v'"))
