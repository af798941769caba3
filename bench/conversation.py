"""The few requests a measurement needs before it starts: what does the broker speak, which topics has it."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Self, TypeVar

from moldau.protocol.api import ApiKey, request_header_version, response_header_version
from moldau.protocol.message import Message
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
from moldau.protocol.messages.request_header import RequestHeader
from moldau.protocol.wire import Reader
from moldau.types import Uuid

Answer = TypeVar("Answer", bound=Message)

Versions = dict[int, tuple[int, int]]

METADATA = 9  # a version that all contenders speak
PATIENCE_SECONDS = 180
LATEST = -1


def frame(request: Message, version: int, correlation_id: int = 1) -> bytes:
    """A request as it goes over the wire, its length in front."""
    header = RequestHeader(
        request_api_key=request.API_KEY, request_api_version=version, correlation_id=correlation_id, client_id="bench"
    )
    body = header.encode(request_header_version(request.API_KEY, version)) + request.encode(version)
    return struct.pack(">i", len(body)) + body


def response_body_at(api_key: int, version: int) -> int:
    """Where the body of a response begins, counted from its length field."""
    return 4 + 4 + response_header_version(api_key, version)  # a header of version 1 ends with an empty list of tags


def read_answer(data: bytes, answer: type[Answer], version: int) -> Answer:
    """Decodes what `send` returned. Bytes that are left over are let pass: the mock broker writes one too many."""
    return answer.read(Reader(data[response_body_at(answer.API_KEY, version) - 8 :]), version)


class Conversation:
    """One connection, one request at a time."""

    def __init__(self, address: tuple[str, int], patience: float = PATIENCE_SECONDS) -> None:
        self._socket = socket.create_connection(address, timeout=patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        self._socket.close()

    def send(self, request: bytes) -> bytes:
        """The answer to a frame, without its length and its correlation id."""
        self._socket.sendall(request)
        (length,) = struct.unpack(">i", self._read(4))
        return self._read(length)[4:]

    def ask(self, request: Message, version: int, answer: type[Answer]) -> Answer:
        return read_answer(self.send(frame(request, version)), answer, version)

    def _read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise ConnectionError("the broker closed the connection")
            data += part
        return bytes(data)

    def versions(self) -> Versions:
        found = self.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)
        return {entry.api_key: (entry.min_version, entry.max_version) for entry in found.api_keys}

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        """Returns when every partition can be used."""
        configs = [CreatableTopicConfig(name=key, value=value) for key, value in settings.items()]
        self.make(CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=configs))
        self.topic(name, METADATA, partitions)
        self._wait_for_logs(name, partitions)

    def make(self, wanted: CreatableTopic) -> None:
        """Returns when the controller has made it: whether it can be used yet is another question."""
        request = CreateTopicsRequest(topics=[wanted], timeout_ms=60_000)
        (made,) = self.ask(request, 5, CreateTopicsResponse).topics
        if made.error_code:
            raise RuntimeError(f"topic {wanted.name} was refused: error {made.error_code} {made.error_message or ''}")

    def _wait_for_logs(self, name: str, partitions: int) -> None:
        """A broker may name the leaders of new partitions before it has opened their logs."""
        rows = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in range(partitions)]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=rows)])
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            (topic,) = self.ask(request, 3, ListOffsetsResponse).topics
            if not any(row.error_code for row in topic.partitions):
                return
            time.sleep(0.005)
        raise TimeoutError(f"not all partitions of {name} have opened")

    def delete_topic(self, name: str) -> None:
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=60_000)
        (gone,) = self.ask(request, 4, DeleteTopicsResponse).responses
        if gone.error_code:
            raise RuntimeError(f"topic {name} was not deleted: error {gone.error_code}")

    def partitions(self, name: str) -> list[MetadataResponsePartition]:
        """As this broker knows them; none if it does not know the topic."""
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        (topic,) = self.ask(request, METADATA, MetadataResponse).topics
        return topic.partitions

    def topic(self, name: str, version: int, partitions: int = 1) -> Uuid:
        """The id of a topic, which is made if it does not exist; returns when its partitions have leaders."""
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=True)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            (topic,) = self.ask(request, version, MetadataResponse).topics
            led = sum(1 for partition in topic.partitions if partition.leader_id >= 0 and not partition.error_code)
            if topic.error_code == 0 and led >= partitions:
                return topic.topic_id
            time.sleep(0.01)
        raise TimeoutError(f"topic {name} did not appear")


def common_version(api: ApiKey, spoken: list[Versions], highest: int) -> int:
    """The newest version that every broker of the comparison speaks, so that all are asked for the same work."""
    return min(highest, *(versions[api][1] for versions in spoken))
