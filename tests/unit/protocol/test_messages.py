"""The generated classes: round trips at every version, defaults, what a version cannot say, tagged fields, headers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from message_samples import class_of, full, make, messages, parts, scalar, versions

from message_generator import model
from moldau.errors import ErrorCode, ProtocolError
from moldau.protocol import api
from moldau.protocol.api import ApiKey
from moldau.protocol.arrays import MOST_NUMBERS
from moldau.protocol.message import UnsupportedVersionError
from moldau.protocol.messages.api_versions import ApiVersionsRequest
from moldau.protocol.messages.consumer_group_member_metadata_value import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)
from moldau.protocol.messages.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    PartitionData,
)
from moldau.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from moldau.protocol.messages.request_header import RequestHeader
from moldau.protocol.messages.response_header import ResponseHeader
from moldau.protocol.messages.vote import RequestTopicData, ResponseTopicData
from moldau.protocol.slices import MOST_ELEMENTS
from moldau.protocol.tagged_fields import MOST_TAGS
from moldau.protocol.wire import Reader, Writer
from moldau.slicing import run_whole

EVERY_MESSAGE = pytest.mark.parametrize(
    ("module", "message"), [pytest.param(module, message, id=message.name) for module, message in messages()]
)


@EVERY_MESSAGE
def test_what_is_encoded_comes_back_at_every_version(module: str, message: model.Message) -> None:
    for version in versions(message):
        random = Random(f"{message.name} {version}")
        for _ in range(4):
            sent = make(random, module, message.struct, version, tags=message.is_flexible(version))
            encoded = sent.encode(version)
            assert type(sent).decode(encoded, version) == sent
            assert type(sent).decode(memoryview(bytearray(encoded)), version) == sent
            source = Reader(b"ab" + encoded + b"cd", 2)
            assert type(sent).read(source, version) == sent
            assert bytes(source.rest()) == b"cd"


@EVERY_MESSAGE
def test_in_slices_it_is_the_same(module: str, message: model.Message) -> None:
    if message.kind not in ("request", "response", "value"):
        return
    for version in versions(message):
        random = Random(f"slices of {message.name} {version}")
        sent = make(random, module, message.struct, version, tags=message.is_flexible(version))
        encoded = sent.encode(version)
        source = Reader(b"ab" + encoded + b"cd", 2)
        assert run_whole(type(sent).read_in_slices(source, version)) == sent
        assert bytes(source.rest()) == b"cd"
        assert run_whole(type(sent).decode_in_slices(encoded, version)) == sent
        with pytest.raises(ProtocolError, match="2 bytes follow"):
            run_whole(type(sent).decode_in_slices(encoded + b"cd", version))
        out = Writer()
        run_whole(sent.write_in_slices(out, version))
        assert out.bytes() == encoded


def test_a_long_array_pauses_on_the_way() -> None:
    sent = MetadataRequest(topics=[MetadataRequestTopic(name=f"t{number}") for number in range(1000)])
    pauses = list(MetadataRequest.read_in_slices(Reader(sent.encode(9)), 9))
    assert sum(pauses) == 1001
    assert max(pauses) <= 32
    answer = MetadataResponse(
        topics=[MetadataResponseTopic(name="t", partitions=[MetadataResponsePartition()] * 100)] * 10
    )
    assert max(answer.write_in_slices(Writer(), 9)) <= 32


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda body: body[:-5], "ends early"),
        (lambda body: body.replace(b"t777", b"\xff\xff\xff\xff"), "UTF-8"),
    ],
)
def test_damage_is_found_in_slices_too(damage: Callable[[bytes], bytes], problem: str) -> None:
    sent = MetadataRequest(topics=[MetadataRequestTopic(name=f"t{number}") for number in range(1000)])
    with pytest.raises(ProtocolError, match=problem):
        run_whole(MetadataRequest.read_in_slices(Reader(damage(sent.encode(9))), 9))


def test_what_was_stored_is_read_however_much_it_is() -> None:
    members = [MemberMetadata()] * (MOST_ELEMENTS + 1)
    stored = GroupMetadataValue(members=members).encode(3)
    assert len(run_whole(GroupMetadataValue.decode_in_slices(stored, 3)).members) == len(members)
    topics = ["t"] * (MOST_ELEMENTS + 1)
    pattern = ConsumerGroupRegularExpressionValue(topics=topics).encode(0)
    assert run_whole(ConsumerGroupRegularExpressionValue.decode_in_slices(pattern, 0)).topics == topics


def test_numbers_and_tags_beyond_all_measure_are_refused() -> None:
    topic = OffsetFetchRequestTopic(name="t", partition_indexes=[0] * (MOST_NUMBERS + 1))
    with pytest.raises(ProtocolError, match="at most 262144"):
        OffsetFetchRequest.decode(OffsetFetchRequest(topics=[topic]).encode(7), 7)
    request = MetadataRequest()
    request.unknown_tags = dict.fromkeys(range(MOST_TAGS + 1), b"")
    with pytest.raises(ProtocolError, match="at most 256"):
        MetadataRequest.decode(request.encode(9), 9)


@EVERY_MESSAGE
def test_class_attributes_say_what_the_definition_says(module: str, message: model.Message) -> None:
    found = class_of(module, message.struct)
    assert found.__name__ == message.name
    assert message.versions == (found.MIN_VERSION, found.MAX_VERSION)
    assert (found.FLEXIBLE_SINCE is None) == (message.flexible is None)
    assert message.flexible is None or message.flexible.low == found.FLEXIBLE_SINCE
    assert (-1 if message.api_key is None else message.api_key) == found.API_KEY


@EVERY_MESSAGE
def test_versions_outside_the_range_are_refused(module: str, message: model.Message) -> None:
    found = class_of(module, message.struct)
    for version in (message.versions.low - 1, message.versions.high + 1):
        with pytest.raises(UnsupportedVersionError, match=f"not {version}"):
            found().encode(version)
        with pytest.raises(UnsupportedVersionError) as refused:
            found.decode(b"", version)
        assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION


def other_than(default: Any, random: Random, module: str, field: model.Field) -> Any:
    while True:
        if field.struct is not None:
            value: Any = make(random, module, field.struct, field.versions.low)
        else:
            value = scalar(random, field.type)
        if field.is_array:
            value = [value]
        if value != default:
            return value


@EVERY_MESSAGE
def test_a_value_without_a_place_is_refused_unless_it_may_be_dropped(module: str, message: model.Message) -> None:
    random = Random(message.name)
    for version in versions(message):
        filled = full(module, message.struct, version)
        encoded = filled.encode(version)
        for part, struct in parts(filled, message.struct, version):
            for field in struct.fields:
                if version in field.versions:
                    continue
                default = getattr(part, field.name)
                setattr(part, field.name, other_than(default, random, module, field))
                if field.ignorable:
                    assert filled.encode(version) == encoded, f"{struct.name}.{field.name} at version {version}"
                else:
                    with pytest.raises(UnsupportedVersionError, match=rf"{struct.class_name}\.{field.name} is set"):
                        filled.encode(version)
                setattr(part, field.name, default)


@EVERY_MESSAGE
def test_null_is_refused_where_the_version_does_not_allow_it(module: str, message: model.Message) -> None:
    for version in versions(message):
        filled = full(module, message.struct, version)
        for part, struct in parts(filled, message.struct, version):
            for field in struct.fields:
                if field.nullable is None or version not in field.versions:
                    continue
                value = getattr(part, field.name)
                setattr(part, field.name, None)
                if field.is_nullable(version):
                    assert type(filled).decode(filled.encode(version), version) == filled
                else:
                    with pytest.raises(UnsupportedVersionError, match=rf"{struct.class_name}\.{field.name} is null"):
                        filled.encode(version)
                setattr(part, field.name, value)


def test_a_value_deep_inside_without_a_place_is_refused() -> None:
    partition = FetchPartition(partition=1, last_fetched_epoch=7)
    request = FetchRequest(topics=[FetchTopic(topic="t", partitions=[partition])])
    assert FetchRequest.decode(request.encode(12), 12).topics[0].partitions[0].last_fetched_epoch == 7
    with pytest.raises(UnsupportedVersionError, match=r"FetchPartition\.last_fetched_epoch is set, but version 11"):
        request.encode(11)


def test_defaults_are_kafkas() -> None:
    request = FetchRequest()
    assert (request.cluster_id, request.replica_id, request.max_bytes, request.session_epoch) == (
        None,
        -1,
        2**31 - 1,
        -1,
    )
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (-1, -1)
    assert (request.topics, request.rack_id) == ([], "")
    assert FetchPartition().high_watermark == 2**63 - 1
    assert MetadataRequest().topics == []
    assert MetadataRequest().allow_auto_topic_creation is True
    assert PartitionData().records is None
    assert CreateTopicsRequest().timeout_ms == 60_000


def test_defaults_are_not_shared_between_objects() -> None:
    first, second = CreateTopicsRequest(), CreateTopicsRequest()
    first.topics.append(CreatableTopic(name="t"))
    assert second.topics == []
    one, other = PartitionData(), PartitionData()
    one.current_leader.leader_id = 5
    assert other.current_leader.leader_id == -1


def test_a_list_given_to_the_constructor_is_not_copied() -> None:
    topics = [CreatableTopic(name="t")]
    assert CreateTopicsRequest(topics=topics).topics is topics


def test_equality_and_repr_run_over_the_fields() -> None:
    first = FetchTopic(topic="t", partitions=[FetchPartition(partition=1)])
    second = FetchTopic(topic="t", partitions=[FetchPartition(partition=1)])
    assert first == second
    second.partitions[0].fetch_offset = 9
    assert first != second
    assert first != "t"
    third = FetchTopic(topic="t", partitions=[FetchPartition(partition=1)])
    third.unknown_tags = {7: b""}
    assert first != third
    assert repr(FetchTopic(topic="t")) == f"FetchTopic(topic='t', topic_id={bytes(16)!r}, partitions=[])"
    assert repr(third).endswith("unknown_tags={7: b''})")
    with pytest.raises(TypeError):
        hash(first)
    with pytest.raises(AttributeError):
        first.partition = 3  # type: ignore[attr-defined]


def test_bytes_after_the_message_are_an_error() -> None:
    encoded = MetadataRequest(topics=None).encode(12)
    with pytest.raises(ProtocolError, match="3 bytes follow a complete MetadataRequest of version 12"):
        MetadataRequest.decode(encoded + b"xyz", 12)


def test_numbers_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(ProtocolError, match="FetchRequest cannot be encoded"):
        FetchRequest(max_wait_ms=2**31).encode(12)
    with pytest.raises(ProtocolError, match="ApiVersionsRequest cannot be encoded"):
        ApiVersionsRequest(client_software_name="\ud800").encode(3)


# ------------------------------------------------------------------------------------------- tagged fields


def test_tagged_fields_are_written_only_if_they_say_something() -> None:
    assert FetchRequest().encode(15)[-2:] == b"\x01\x00"
    assert FetchRequest(cluster_id="c").encode(15)[-6:] == b"\x01" + b"\x01\x00\x02" + b"\x02c"


def test_unknown_tagged_fields_are_kept_in_order_of_their_tags() -> None:
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData()])])
    partition = response.responses[0].partitions[0]
    partition.current_leader = LeaderIdAndEpoch(leader_id=1, leader_epoch=2)
    partition.unknown_tags = {9: b"nine", 5: b""}
    encoded = response.encode(12)
    assert b"\x03" + b"\x01\x09" + b"\x00\x00\x00\x01\x00\x00\x00\x02\x00" + b"\x05\x00" + b"\x09\x04nine" in encoded
    assert FetchResponse.decode(encoded, 12) == response


@pytest.mark.parametrize(
    ("version", "tags", "problem"),
    [
        pytest.param(12, b"\x01\x01\x05" + bytes(5), "does not exist at version 12", id="known only to later versions"),
        pytest.param(15, b"\x01\x00\x03\x02c\x00", "does not fill", id="shorter than announced"),
        pytest.param(15, b"\x01\x00\x01\x02c", "does not fill", id="longer than announced"),
        pytest.param(15, b"\x01\x00\x09\x02c", "ends early", id="announced beyond the end"),
        pytest.param(15, b"\x02\x07\x00\x07\x00", "sent twice", id="twice"),
        pytest.param(15, b"\x02\x07\x00", "ends early|announced", id="fewer than announced"),
    ],
)
def test_damaged_tagged_fields_are_refused(version: int, tags: bytes, problem: str) -> None:
    body = FetchRequest().encode(version)
    assert body.endswith(b"\x00")
    with pytest.raises(ProtocolError, match=problem):
        FetchRequest.decode(body[:-1] + tags, version)


def test_a_tagged_struct_that_is_null_is_not_the_same_as_none_at_all() -> None:
    member = ConsumerGroupMemberMetadataValue(classic_member_metadata=None)
    assert member.encode(0)[-4:] == b"\x01" + b"\x00\x01" + b"\x00"
    assert ConsumerGroupMemberMetadataValue().encode(0)[-1:] == b"\x00"
    member.classic_member_metadata = ClassicMemberMetadata(session_timeout_ms=5)
    assert member.encode(0)[-10:] == b"\x01" + b"\x00\x07" + b"\x01" + b"\x00\x00\x00\x05\x01\x00"


def test_tagged_fields_cannot_be_said_at_old_versions() -> None:
    request = FetchRequest()
    request.unknown_tags = {3: b"x"}
    with pytest.raises(
        UnsupportedVersionError, match="FetchRequest holds tagged fields, which version 11 does not have"
    ):
        request.encode(11)
    request.unknown_tags = {0: b"x"}
    request.cluster_id = "c"
    with pytest.raises(ProtocolError, match="tagged field 0 is set both"):
        request.encode(12)


# ---------------------------------------------------------------------------------------- headers and APIs


def test_a_request_with_its_header_as_it_stands_in_a_frame() -> None:
    frame = bytes.fromhex("0012 0003 00000007 0003 6b6366 00" + "02 6b 02 31 00")
    source = Reader(frame)
    assert api.request_header_version(18, 3) == 2
    header = RequestHeader.read(source, 2)
    assert header == RequestHeader(request_api_key=18, request_api_version=3, correlation_id=7, client_id="kcf")
    body = ApiVersionsRequest.read(source, 3)
    assert (body.client_software_name, body.client_software_version) == ("k", "1")
    assert source.remaining == 0
    out = Writer()
    header.write(out, 2)
    body.write(out, 3)
    assert out.bytes() == frame


def test_header_versions_follow_flexibility() -> None:
    assert api.request_header_version(ApiKey.PRODUCE, 8) == 1
    assert api.request_header_version(ApiKey.PRODUCE, 9) == 2
    assert api.response_header_version(ApiKey.PRODUCE, 8) == 0
    assert api.response_header_version(ApiKey.PRODUCE, 9) == 1
    assert api.request_header_version(ApiKey.SASL_HANDSHAKE, 1) == 1
    assert api.response_header_version(ApiKey.SASL_HANDSHAKE, 1) == 0
    assert [api.response_header_version(ApiKey.API_VERSIONS, version) for version in range(5)] == [0] * 5
    assert ResponseHeader(correlation_id=1).encode(0) == bytes.fromhex("00000001")
    assert ResponseHeader(correlation_id=1).encode(1) == bytes.fromhex("0000000100")
    with pytest.raises(KeyError):
        api.request_header_version(999, 0)


def test_every_api_has_a_name_and_both_classes() -> None:
    gone = {ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA, ApiKey.CONTROLLED_SHUTDOWN}
    assert set(api.REQUESTS) == set(api.RESPONSES) == set(api.ENTRIES) == set(ApiKey) - gone
    for key, entry in api.ENTRIES.items():
        request, response = api.REQUESTS[key], api.RESPONSES[key]
        assert ApiKey(key).name == entry.module.upper()
        assert (key, key) == (request.API_KEY, response.API_KEY)
        assert (entry.min_version, entry.max_version) == (request.MIN_VERSION, request.MAX_VERSION)
        assert (entry.min_version, entry.max_version) == (response.MIN_VERSION, response.MAX_VERSION)
        assert request.FLEXIBLE_SINCE == response.FLEXIBLE_SINCE == entry.flexible_since
    assert [entry.name for entry in api.ENTRIES.values() if entry.latest_unstable] == ["InitProducerId"]
    assert 4 not in api.REQUESTS
    assert api.REQUESTS.get(4) is None


def test_records_are_found_by_their_number() -> None:
    assert api.METADATA_RECORDS[2].__name__ == "TopicRecord"
    assert api.GROUP_KEYS[2].__name__ == "GroupMetadataKey"
    assert api.GROUP_VALUES[2].__name__ == "GroupMetadataValue"
    assert api.TRANSACTION_VALUES[0].__name__ == "TransactionLogValue"
    assert api.SHARE_STATE_KEYS[1].__name__ == "ShareUpdateKey"
    assert set(api.GROUP_KEYS) == set(api.GROUP_VALUES)
    for records in (api.METADATA_RECORDS, api.GROUP_KEYS, api.GROUP_VALUES):
        assert all(number == found.API_KEY for number, found in records.items())


def test_request_and_response_keep_structs_of_one_name_apart() -> None:
    assert "voter_id" not in RequestTopicData.FIELDS
    assert RequestTopicData.FIELDS == ResponseTopicData.FIELDS == ("topic_name", "partitions")
    assert RequestTopicData() != ResponseTopicData()


def test_importing_one_message_does_not_import_the_others() -> None:
    code = (
        "import sys; import moldau.protocol.api; from moldau.protocol.messages import produce;"
        "print(sorted(m for m in sys.modules if m.startswith('moldau.protocol.')))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "moldau.protocol.messages.produce" in shown
    assert "moldau.protocol.messages.fetch" not in shown
    assert "message_generator" not in shown


def test_a_decoded_response_holds_views_of_the_frame() -> None:
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[PartitionData(records=b"abc")])])
    frame = bytearray(response.encode(11))
    decoded = FetchResponse.decode(memoryview(frame), 11)
    records = decoded.responses[0].partitions[0].records
    assert isinstance(records, memoryview)
    frame[frame.index(b"abc")] = ord("x")
    assert bytes(records) == b"xbc"


def test_text_of_a_decoded_message_outlives_the_frame() -> None:
    frame = bytearray(MetadataResponse(cluster_id="cluster").encode(12))
    decoded = MetadataResponse.decode(memoryview(frame), 12)
    frame[:] = bytes(len(frame))
    assert decoded.cluster_id == "cluster"
