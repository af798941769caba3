"""Requests that name far too much hold nobody up: others are answered before them, and the node goes on.

Every array of every request that is offered is filled with tens of thousands of elements in turn. No time is measured:
what is held is that somebody else is served in between.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process_node import InProcessNode, Wire, request_frame

from moldau import slicing
from moldau.errors import ErrorCode
from moldau.protocol import slices
from moldau.protocol.api import RESPONSES, ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages import share_acknowledge as acknowledgements
from moldau.protocol.messages import share_fetch as shares
from moldau.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest, ReassignableTopic
from moldau.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
)
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from moldau.protocol.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from moldau.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from moldau.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from moldau.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from moldau.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from moldau.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from moldau.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from moldau.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    Topology,
)
from moldau.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from moldau.protocol.records import Record, encode_batch
from moldau.server import request_channel
from moldau.server.apis.table import BROKER_APIS, CONTROLLER_APIS
from moldau.server.dispatch import Api

sys.path.insert(0, str(Path(__file__).parent.parent / "protocol"))

from message_samples import full, messages

from message_generator import model

MANY = 30_000
DEFINITIONS = {message.api_key: (module, message) for module, message in messages() if message.kind == "request"}
ON_BROKERS = {api.key for api in BROKER_APIS}
# Decoded in one step, however many there are, and soon done with.
NUMBERS = ("int8", "int16", "int32", "int64")


def arrays(struct: model.Struct, version: int, path: tuple[model.Field, ...] = ()) -> Iterator[tuple[model.Field, ...]]:
    for field in struct.fields:
        if version in field.versions:
            if field.is_array and field.type not in NUMBERS:
                yield (*path, field)
            if field.struct is not None:
                yield from arrays(field.struct, version, (*path, field))


OFFERED = {
    "broker": BROKER_APIS,
    # What a broker offers as well is tried there: it passes it on.
    "controller": [api for api in CONTROLLER_APIS if api.key is ApiKey.FETCH or api.key not in ON_BROKERS],
}


def cases() -> Iterator[Any]:
    for at, apis in OFFERED.items():
        for api in apis:
            _, message = DEFINITIONS[api.key]
            version = message.versions.high if api.max_version is None else api.max_version
            for path in arrays(message.struct, version):
                name = ".".join(field.name for field in path)
                yield pytest.param(at, api, version, path, id=f"{at}-{api.key.name}-{name}")


def filled(api: Api, version: int, path: tuple[model.Field, ...]) -> Any:
    """The request with one element everywhere, and very many in the array at the end of the path."""
    module, message = DEFINITIONS[api.key]
    request = at = full(module, message.struct, version)
    for field in path[:-1]:
        at = getattr(at, field.name)
        at = at[0] if isinstance(at, list) else at
    last = path[-1]
    element: Any = {"string": "s", "uuid": bytes(16), "bytes": b""}.get(last.type)
    if last.struct is not None:
        element = full(module, last.struct, version)
    setattr(at, last.name, [element] * MANY)
    return request


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessNode]:
    node = InProcessNode(tmp_path_factory.mktemp("node") / "data", compiled=True, hurry=True)
    node.create_topic("t", 2)
    yield node
    node.close()


def done(wire: Wire) -> bool:
    return bool(wire.sent) or wire.closed is not None or not wire.paused


def send_beside(node: InProcessNode, frame: bytearray, at: str = "broker") -> Wire:
    """The wire of the request, once it is done with; somebody else was answered before."""
    hostile, other = Wire(), Wire()
    node.send(hostile, frame, at=at)
    assert not done(hostile), "it was served in one go"
    node.send(other, request_frame(MetadataRequest(topics=[]), 9))
    assert other.sent
    node.turn_until(lambda: done(hostile) and not len(node.node.slicer))
    return hostile


@pytest.mark.parametrize(("at", "api", "version", "path"), list(cases()))
def test_somebody_else_is_answered_before(
    node: InProcessNode, at: str, api: Api, version: int, path: tuple[model.Field, ...]
) -> None:
    frame = request_frame(filled(api, version, path), version)
    if api.most_elements < MANY:
        # Refused before long.
        hostile = Wire()
        node.send(hostile, frame, at=at)
        node.turn_until(lambda: done(hostile))
    else:
        send_beside(node, frame, at)
    assert node.ask(MetadataRequest(topics=[]), 9, MetadataResponse).brokers


def test_what_is_far_too_much_is_refused(node: InProcessNode) -> None:
    topics = [MetadataRequestTopic(name="nowhere")] * 250_000
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    assert node.ask(request, 13, MetadataResponse).error_code == ErrorCode.INVALID_REQUEST
    # Before version 13 the answer has no place for that, and the connection is closed.
    assert "An array of 250000 elements" in node.ask(request, 9, MetadataResponse)


def test_a_topology_that_is_far_too_large_is_refused(node: InProcessNode) -> None:
    """Before its names are looked at: it is below what the request may have, and is stored as a whole."""
    sub = Subtopology(subtopology_id="0", source_topics=["not a name"] * 10_000)
    request = StreamsGroupHeartbeatRequest(group_id="g", member_id="m", topology=Topology(epoch=0, subtopologies=[sub]))
    answer = node.ask(request, 0, StreamsGroupHeartbeatResponse)
    assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_too_much_in_many_arrays_is_refused_as_well(node: InProcessNode) -> None:
    topic = ListOffsetsTopic(name="nowhere", partitions=[ListOffsetsPartition(timestamp=-1)] * 1000)
    wire = send_beside(node, request_frame(ListOffsetsRequest(replica_id=-1, topics=[topic] * 250), 9))
    assert wire.closed is not None
    assert "more than 200000" in wire.closed


def test_an_honest_request_of_thousands_is_answered_in_full(node: InProcessNode) -> None:
    asked = [
        ListOffsetsTopic(
            name=f"absent-{number}",
            partitions=[ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(10)],
        )
        for number in range(4000)
    ]
    asked.append(
        ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=i, timestamp=-1) for i in (0, 1)])
    )
    answer = send_beside(node, request_frame(ListOffsetsRequest(replica_id=-1, topics=asked), 9))
    topics = ListOffsetsResponse.decode(answer.sent[0][9:], 9).topics
    assert [(topic.name, len(topic.partitions)) for topic in topics] == [
        (topic.name, len(topic.partitions)) for topic in asked
    ]
    assert {row.error_code for topic in topics[:-1] for row in topic.partitions} == {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }
    assert [row.error_code for row in topics[-1].partitions] == [ErrorCode.NONE] * 2


def test_settings_asked_for_again_are_described_once(node: InProcessNode) -> None:
    resource = DescribeConfigsResource(resource_type=2, resource_name="t", configuration_keys=None)
    one = node.ask(DescribeConfigsRequest(resources=[resource]), 4, DescribeConfigsResponse)
    often = node.ask(DescribeConfigsRequest(resources=[resource] * 5000), 4, DescribeConfigsResponse)
    assert often == one


@pytest.mark.parametrize("acks", [0, 1])
def test_very_many_batches_are_all_written(node: InProcessNode, acks: int) -> None:
    """More than a compiled request may have: worked through in slices, from a copy of the receive buffer."""
    count = 3000
    records = encode_batch([Record(0, 1_700_000_000_000, None, b"v", [])])
    rows = [PartitionProduceData(index=1, records=records)] * count
    request = ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=rows)])
    frame = request_frame(request, 9)
    log = node.node.replicas.get("t", 1).log
    before = log.log_end_offset
    wire = Wire()
    node.send(wire, frame)
    # The buffer is used again as soon as the request was taken.
    frame[:] = bytes(len(frame))
    node.turn_until(lambda: log.log_end_offset == before + count and len(wire.sent) == acks)
    assert wire.closed is None


def test_a_fetch_of_very_many_partitions_finds_what_is_there(node: InProcessNode) -> None:
    def topic(name: str) -> FetchTopic:
        asked = [FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20) for index in range(2)]
        return FetchTopic(topic=name, partitions=asked)

    request = FetchRequest(
        max_wait_ms=0, session_epoch=-1, topics=[*(topic(f"absent-{number}") for number in range(8000)), topic("t")]
    )
    answer = send_beside(node, request_frame(request, 11)).sent[0]
    assert answer.count(b"absent-") == 8000


def test_a_share_session_of_very_many_partitions_is_begun_changed_and_told_of_in_slices(
    node: InProcessNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Partition by partition, since whatever is done for one of them may be done for all that one topic has."""
    monkeypatch.setattr(slicing, "SLICE_SECONDS", 0)
    monkeypatch.setattr(slicing, "FIRST_SLICE_SECONDS", 0)
    count, topic_id, wire = 1000, b"absent".ljust(16), Wire()
    rows = [shares.FetchPartition(partition_index=index) for index in range(count)]
    wanted = [shares.FetchTopic(topic_id=topic_id, partitions=rows)]
    forgotten = [shares.ForgottenTopic(topic_id=topic_id, partitions=list(range(count)))]
    acknowledged = [
        acknowledgements.AcknowledgeTopic(
            topic_id=topic_id,
            partitions=[acknowledgements.AcknowledgePartition(partition_index=index) for index in range(count)],
        )
    ]
    share = {"group_id": "many", "member_id": "m"}
    # To begin with each is read, asked for, looked at, answered and put into its topic.
    for request, times in (
        (shares.ShareFetchRequest(**share, topics=wanted), 7.5),
        (shares.ShareFetchRequest(**share, share_session_epoch=1, forgotten_topics_data=forgotten), 0.5),
        (acknowledgements.ShareAcknowledgeRequest(**share, share_session_epoch=2, topics=acknowledged), 3.5),
    ):
        before = node.node.slicer.slices
        wire.sent.clear()
        node.send(wire, request_frame(request, 2))
        node.turn_until(lambda: bool(wire.sent))
        assert node.node.slicer.slices - before > times * count


ABSENT = [f"absent-{number:05d}" for number in range(3000)]
# With how many slices an element takes at least: reading the requests and writing the answers have theirs as well.
ONE_BY_ONE: list[tuple[Message, float]] = [
    (DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in ABSENT]), 4),
    (
        AlterUserScramCredentialsRequest(
            deletions=[ScramCredentialDeletion(name=name, mechanism=1) for name in ABSENT]
        ),
        0.5,
    ),
    (
        DescribeShareGroupOffsetsRequest(
            groups=[DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None) for name in ABSENT]
        ),
        4.5,
    ),
    (DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic="absent", partitions=list(range(3000)))]), 0.5),
    (ElectLeadersRequest(timeout_ms=9000, topic_partitions=[TopicPartitions(topic=name) for name in ABSENT]), 6.5),
    (AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name=name) for name in ABSENT]), 4.5),
    (
        ListPartitionReassignmentsRequest(
            timeout_ms=9000, topics=[ListPartitionReassignmentsTopics(name=name) for name in ABSENT]
        ),
        2.5,
    ),
    (
        AlterShareGroupOffsetsRequest(
            group_id="g", topics=[AlterShareGroupOffsetsRequestTopic(topic_name=name) for name in ABSENT]
        ),
        2.5,
    ),
    (
        DeleteShareGroupOffsetsRequest(
            group_id="g", topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in ABSENT]
        ),
        0.5,
    ),
]


@pytest.mark.parametrize(("request_", "slices_each"), ONE_BY_ONE, ids=[type(each).__name__ for each, _ in ONE_BY_ONE])
def test_what_is_decided_of_each_element_is_decided_in_slices(
    node: InProcessNode, monkeypatch: pytest.MonkeyPatch, request_: Message, slices_each: float
) -> None:
    monkeypatch.setattr(slicing, "SLICE_SECONDS", 0)
    monkeypatch.setattr(slicing, "FIRST_SLICE_SECONDS", 0)
    before, wire = node.node.slicer.slices, Wire()
    node.send(wire, request_frame(request_, request_.MAX_VERSION))
    node.turn_until(lambda: bool(wire.sent) and not len(node.node.slicer))
    assert wire.closed is None
    assert node.node.slicer.slices - before > slices_each * len(ABSENT)


def test_partitions_of_one_topic_are_described_in_slices(node: InProcessNode, monkeypatch: pytest.MonkeyPatch) -> None:
    node.create_topic("wide", 300)
    monkeypatch.setattr(slicing, "SLICE_SECONDS", 0)
    monkeypatch.setattr(slicing, "FIRST_SLICE_SECONDS", 0)
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="wide")], response_partition_limit=250)
    before, wire = node.node.slicer.slices, Wire()
    node.send(wire, request_frame(request, 0))
    node.turn_until(lambda: bool(wire.sent))
    # Each when it is looked at; what is written is written in larger pieces.
    assert node.node.slicer.slices - before > 250
    (topic,) = DescribeTopicPartitionsResponse.decode(wire.sent[0][9:], 0).topics
    assert [row.partition_index for row in topic.partitions] == list(range(250))


@pytest.mark.parametrize(
    "request_",
    [
        DescribeClientQuotasRequest(components=[ComponentData(entity_type="user", match_type=2)] * 1_100),
        UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature="group.version", max_version_level=1)] * 1_100),
        CreateDelegationTokenRequest(renewers=[CreatableRenewers(principal_type="User", principal_name="r")] * 1_100),
        DescribeDelegationTokenRequest(
            owners=[DescribeDelegationTokenOwner(principal_type="User", principal_name="o")] * 5_100
        ),
    ],
    ids=lambda request: type(request).__name__,
)
def test_what_there_is_little_of_may_not_be_named_thousands_of_times(node: InProcessNode, request_: Message) -> None:
    """Each is held against all that is known, or all of it goes into one record: it is refused before it is read."""
    kind = RESPONSES[request_.API_KEY]
    answer: Any = node.ask(request_, request_.MAX_VERSION, kind)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert "elements is not taken" in getattr(answer, "error_message", "elements is not taken")


def test_what_was_asked_for_in_a_large_request_is_let_go_in_slices_though_it_was_refused(
    node: InProcessNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slicing, "SLICE_SECONDS", 0)
    monkeypatch.setattr(slicing, "FIRST_SLICE_SECONDS", 0)
    batches = [shares.AcknowledgementBatch()] * 40
    topics = [shares.FetchTopic(partitions=[shares.FetchPartition(acknowledgement_batches=batches)] * 15)] * 15
    let_go: list[int] = []

    def watched(request: Any, *, alone: bool) -> Iterator[int]:
        for count in slices.freed(request, alone=alone):
            let_go.append(count)
            yield count

    monkeypatch.setattr(request_channel, "freed", watched)
    wire = Wire()
    # A session does not begin with acknowledgements; until that is seen they have been gathered.
    request = shares.ShareFetchRequest(group_id="g", member_id="m", share_session_epoch=0, topics=topics)
    node.send(wire, request_frame(request, 2))
    node.turn_until(lambda: bool(wire.sent) and not len(node.node.slicer))
    assert sum(let_go) >= 15 * 15 * 40


def test_every_offered_request_was_tried() -> None:
    tried = {param.values[1].key for param in cases()}
    assert {ApiKey.FETCH, ApiKey.PRODUCE, ApiKey.METADATA, ApiKey.CREATE_TOPICS, ApiKey.OFFSET_COMMIT} <= tried
    without = {api.key for api in (*BROKER_APIS, *CONTROLLER_APIS)} - tried
    assert all(
        not field.is_array or field.type in NUMBERS for key in without for field in DEFINITIONS[key][1].struct.fields
    )
