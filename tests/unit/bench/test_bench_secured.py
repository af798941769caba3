"""The generators for secured listeners, against a node of ours."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import load
from bench.contenders import MOLDAU, stop
from bench.conversation import Conversation
from bench.frames import produce_frame
from bench.secured import PROTOCOLS, SecuredBroker, start_secured

from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    if shutil.which(os.environ.get("CC", "cc").split()[0]) is None:
        pytest.skip("the load generator needs a C compiler")
    try:
        load.build_secured()
    except load.LoadFailed as missing:
        pytest.skip(str(missing))
    started = start_secured(MOLDAU, tmp_path_factory.mktemp("secured") / "node")
    yield started
    stop(started.running)


def written(broker: SecuredBroker, topic: str) -> int:
    rows = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=rows)])
    with Conversation(broker.running.address) as conversation:
        (found,) = conversation.ask(request, 3, ListOffsetsResponse).topics
    return found.partitions[0].offset


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_requests_and_new_connections_come_through(broker: SecuredBroker, protocol: str, tmp_path: Path) -> None:
    topic = f"t-{protocol}"
    broker.running.create_topic(topic, 1)
    door = broker.doors[protocol]
    # Larger than a record of TLS, and several at a time.
    group = load.Group("bulk", produce_frame(topic, 50_000, 9), connections=3, depth=5)
    found = load.run(broker.running.address, [group], warmup=0.0, seconds=0.2, directory=tmp_path, door=door)["bulk"]
    assert group.frame is not None
    assert written(broker, topic) >= found.responses * group.frame.records > 0
    assert load.log_in_again_and_again(door, warmup=0.0, seconds=0.5).connections > 0


@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_a_wrong_key_measures_nothing(broker: SecuredBroker, protocol: str, tmp_path: Path) -> None:
    wrong = tmp_path / "other.pem"
    wrong.write_text("")
    door = broker.doors[protocol]
    door = door._replace(
        login=None if door.login is None else "bench:wrong", trusted=None if door.trusted is None else wrong
    )
    with pytest.raises(load.LoadFailed):
        load.log_in_again_and_again(door, warmup=0.0, seconds=0.5)
