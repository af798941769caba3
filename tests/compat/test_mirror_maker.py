"""Kafka's MirrorMaker 2 copies from Apache Kafka to a node of ours and back, as docs/OPERATING.md says: topics with
their settings, records with keys and headers, and where groups stand."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from java_tools import JAVA, ApacheKafka, KafkaTools, find_libs
from node_process import NodeProcess
from patience import wait_until

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from moldau.admin import ConfigResource, NewTopic

pytestmark = [pytest.mark.long, pytest.mark.ours_only("both clusters are started here")]

TOPIC, GROUP, PARTITIONS = "orders", "billing", 3
RECORDS, READ = 1000, 600
# What the page has, and what lets one node be a cluster and does not wait for minutes.
PROPERTIES = """\
clusters=old,new
old.bootstrap.servers={old}
new.bootstrap.servers={new}
old->new.enabled=true
old->new.topics=.*
replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy
sync.group.offsets.enabled=true
replication.factor=1
checkpoints.topic.replication.factor=1
heartbeats.topic.replication.factor=1
offset-syncs.topic.replication.factor=1
config.storage.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
refresh.topics.interval.seconds=1
refresh.groups.interval.seconds=1
sync.topic.configs.interval.seconds=1
emit.checkpoints.interval.seconds=1
sync.group.offsets.interval.seconds=1
"""


@pytest.fixture(scope="module")
def tools() -> KafkaTools:
    libs = find_libs()
    if isinstance(libs, str):
        pytest.skip(libs)
    if not list(libs.glob("connect-mirror-[0-9]*.jar")):
        pytest.skip(f"{libs} has no connect-mirror: `tools/fetch_kafka` fetches it")
    return KafkaTools(libs)


@pytest.fixture
def apache_kafka(tools: KafkaTools, tmp_path: Path) -> Iterator[str]:
    node = ApacheKafka(tools, tmp_path / "kafka", {"group.initial.rebalance.delay.ms": "0"})
    node.format("compatibilitycompatibi", alone=True)
    node.start()
    yield node.bootstrap
    node.kill()


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[str]:
    node = NodeProcess(tmp_path / "ours", {"group.initial.rebalance.delay.ms": "0"})
    yield node.bootstrap
    node.kill()


@contextmanager
def mirroring(tools: KafkaTools, old: str, new: str, directory: Path) -> Iterator[Path]:
    """Its log, while it runs."""
    properties, said = directory / "mirror.properties", directory / "mirror.log"
    properties.write_text(PROPERTIES.format(old=old, new=new))
    command = [*JAVA, "-cp", tools.class_path, "org.apache.kafka.connect.mirror.MirrorMaker", str(properties)]
    with said.open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield said
        finally:
            process.kill()


def fill(bootstrap: str) -> None:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1, topic_configs={"retention.ms": "123456789"})])
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(RECORDS):
            producer.send(TOPIC, b"%d" % number, key=b"k%d" % (number % 7), headers=[("h", b"%d" % number)])


def read(bootstrap: str, count: int) -> list[tuple[bytes, bytes, list[tuple[str, bytes]]]]:
    """Of the group, from where it stands."""
    found: list[tuple[bytes, bytes, list[tuple[str, bytes]]]] = []
    with KafkaConsumer(
        TOPIC, bootstrap_servers=bootstrap, group_id=GROUP, auto_offset_reset="earliest", enable_auto_commit=False
    ) as consumer:
        while len(found) < count:
            for records in consumer.poll(1000, max_records=count - len(found)).values():
                found += [(record.key, record.value, list(record.headers)) for record in records]
        consumer.commit()
    return found


def ends(bootstrap: str) -> int:
    with KafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        return sum(consumer.end_offsets([TopicPartition(TOPIC, number) for number in range(PARTITIONS)]).values())


def stands(admin: KafkaAdminClient) -> int:
    """How many records the group has behind it."""
    committed = admin.list_group_offsets(GROUP)[GROUP]
    return sum(each.offset for where, each in committed.items() if where.topic == TOPIC)


@pytest.mark.parametrize("direction", ["to ours", "from ours"])
def test_a_cluster_is_copied(direction: str, apache_kafka: str, ours: str, tools: KafkaTools, tmp_path: Path) -> None:
    old, new = (apache_kafka, ours) if direction == "to ours" else (ours, apache_kafka)
    fill(old)
    before = read(old, READ)
    with mirroring(tools, old, new, tmp_path) as log, KafkaAdminClient(bootstrap_servers=new) as admin:

        def copied() -> bool:
            return TOPIC in admin.list_topics() and ends(new) == RECORDS

        try:
            wait_until(copied, "all records to be there")
            # Somewhat before where it stood: only some offsets of the one log are known in the other.
            wait_until(lambda: stands(admin) > 0, "the group to stand somewhere")
            setting = admin.describe_configs([ConfigResource("topic", TOPIC)])
        except BaseException:
            print(log.read_text(errors="replace")[-6000:])
            raise
    assert "123456789" in str(setting)
    with KafkaAdminClient(bootstrap_servers=new) as admin:
        left = RECORDS - stands(admin)
    assert left >= RECORDS - READ
    after = read(new, left)
    assert {int(value) for _, value, _ in before + after} == set(range(RECORDS))
    assert all((key, headers) == (b"k%d" % (int(value) % 7), [("h", value)]) for key, value, headers in before + after)
