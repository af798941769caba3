"""Bounds of single requests, far above what any honest client asks: of one resource, one entity, one fetch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from in_process_node import InProcessNode, Wire, request_frame

from moldau import slicing
from moldau.errors import ErrorCode
from moldau.protocol.messages import alter_configs, incremental_alter_configs
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from moldau.protocol.messages.fetch import FetchRequest, FetchResponse, ForgottenTopic
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TOPIC_RESOURCE = 2


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessNode]:
    node = InProcessNode(tmp_path_factory.mktemp("node") / "data", compiled=True, hurry=True)
    node.create_topic("t")
    yield node
    node.close()


@pytest.mark.parametrize("at", ["broker", "controller"])
@pytest.mark.parametrize("module", [alter_configs, incremental_alter_configs], ids=lambda module: module.__name__)
def test_settings_of_one_resource(node: InProcessNode, module: Any, at: str) -> None:
    incremental = module is incremental_alter_configs
    name = "IncrementalAlterConfigs" if incremental else "AlterConfigs"
    request_of, response_of = getattr(module, f"{name}Request"), getattr(module, f"{name}Response")
    setting = {True: {"config_operation": 0}, False: {}}[incremental]
    settings = [module.AlterableConfig(name="retention.ms", value="9", **setting)] * 1001
    for number, refused in ((1001, "at most 1000 are taken"), (1, None)):
        resource = module.AlterConfigsResource(
            resource_type=TOPIC_RESOURCE, resource_name="t", configs=settings[:number]
        )
        answer = node.ask(request_of(resources=[resource]), request_of.MAX_VERSION, response_of, at=at)
        (row,) = answer.responses
        if refused is None:
            assert row.error_code == ErrorCode.NONE
        else:
            assert row.error_code == ErrorCode.INVALID_REQUEST
            assert refused in row.error_message


@pytest.mark.parametrize("array", ["entity", "ops"])
def test_parts_and_quotas_of_one_entity(node: InProcessNode, array: str) -> None:
    entry: dict[str, Any] = {
        "entity": [RequestEntityData(entity_type="user", entity_name="u")],
        "ops": [OpData(key="producer_byte_rate", value=1000.0)],
    }
    for number, code in ((101, ErrorCode.INVALID_REQUEST), (1, ErrorCode.NONE)):
        many = RequestEntryData(**{**entry, array: entry[array] * number})
        fine = RequestEntryData(**entry)
        answer = node.ask(AlterClientQuotasRequest(entries=[many, fine]), 1, AlterClientQuotasResponse)
        assert [row.error_code for row in answer.entries] == [code, code]


def test_partitions_of_one_fetch(node: InProcessNode) -> None:
    def asked(number: int) -> Any:
        forgotten = [ForgottenTopic(topic="t", partitions=[0] * number)]
        request = FetchRequest(max_wait_ms=0, session_epoch=-1, topics=[], forgotten_topics_data=forgotten)
        return node.ask(request, 11, FetchResponse)

    assert "more than 100000 elements" in asked(100_000)
    assert asked(90_000).error_code == ErrorCode.NONE


def test_all_offsets_of_one_group_are_told_once(node: InProcessNode) -> None:
    everything = [OffsetFetchRequestGroup(group_id="g", topics=None)] * 100
    answer = node.ask(OffsetFetchRequest(groups=everything), 9, OffsetFetchResponse)
    assert [group.group_id for group in answer.groups] == ["g"]


@pytest.mark.parametrize(("acks", "steps"), [(0, 1.5), (1, 5.5)])
def test_what_became_of_very_many_batches_is_let_go_in_slices(
    node: InProcessNode, monkeypatch: pytest.MonkeyPatch, acks: int, steps: float
) -> None:
    """The refusals one by one; the last to hold them would free all at once, for as long as it took to make them."""
    monkeypatch.setattr(slicing, "SLICE_SECONDS", 0)
    monkeypatch.setattr(slicing, "FIRST_SLICE_SECONDS", 0)
    count = 3000
    rows = [PartitionProduceData(index=0, records=b"")] * count
    topics = [TopicProduceData(name="nowhere", partition_data=rows)]
    before, wire = node.node.slicer.slices, Wire()
    node.send(wire, request_frame(ProduceRequest(acks=acks, timeout_ms=1000, topic_data=topics), 9))
    node.turn_until(lambda: (bool(wire.sent) or wire.closed is not None) and not len(node.node.slicer))
    # Each is handled and let go; what is answered is put together and written as well.
    assert node.node.slicer.slices - before > steps * count
