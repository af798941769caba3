"""Spark through TLS: driver and tasks, reading and both ways of writing, with a client certificate asked for."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from certificates import Certificates
from moldau.client.properties import in_java
from moldau.spark.history.copying import CopyRequest, copy
from moldau.spark.history.topic_access import ThroughBrokers
from moldau.spark.pipeline import load
from moldau.spark.pipeline.lag import current_lag
from moldau.spark.pipeline.sources import source_frame
from moldau.spark.pipeline.status import Status
from moldau.testing import Cluster
from tls_proxy import TlsProxy


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def address(certificates: Certificates) -> Iterator[str]:
    """Of a node that tells its clients to come back through TLS: what does not use it cannot even find a leader."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.node, certificates.node_key)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certificates.ca)
    proxy = TlsProxy(context)
    with Cluster(settings={"advertised.listeners": f"PLAINTEXT://127.0.0.1:{proxy.port}"}) as node:
        host, port = node.bootstrap_servers.rsplit(":", 1)
        assert int(port) != proxy.port
        proxy.lead_to((host, int(port)))
        yield f"127.0.0.1:{proxy.port}"
        proxy.close()


@pytest.fixture
def by_text(address: str, certificates: Certificates) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": address,
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": certificates.ca.read_text(),
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": certificates.client.read_text(),
        "kafka.ssl.keystore.key": certificates.client_key.read_text(),
        "kafka.ssl.key.password": certificates.password,
    }


@pytest.fixture
def by_file(address: str, certificates: Certificates, tmp_path: Path) -> dict[str, str]:
    both = tmp_path / "client.pem"
    both.write_text(certificates.client.read_text() + certificates.client_key.read_text())
    return {
        "kafka.bootstrap.servers": address,
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(certificates.ca),
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.location": str(both),
        "kafka.ssl.key.password": certificates.password,
    }


def values(spark: Any, options: dict[str, str], topic: str) -> list[str]:
    frame = spark.read.format("moldau").options(**options).option("subscribe", topic)
    committed = frame.option("kafka.isolation.level", "read_committed").load()
    return sorted(row.value for row in committed.selectExpr("CAST(value AS STRING)").collect())


def test_batches_and_streams_through_tls(
    spark: Any, by_text: dict[str, str], by_file: dict[str, str], topic: str, tmp_path: Path
) -> None:
    rivers = ["elbe", "moldau", "sazava"]
    frame = spark.createDataFrame([(river,) for river in rivers], "value string").repartition(2)
    frame.write.format("moldau").options(**by_text).option("topic", topic).mode("append").save()
    assert values(spark, by_file, topic) == rivers

    stream = spark.readStream.format("moldau").options(**by_file)
    query = (
        stream.option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("upper(CAST(value AS STRING)) AS value")
        .writeStream.format("moldau")
        .options(**by_text)
        .option("topic", f"{topic}-upper")
        .option("delivery", "exactly-once")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert values(spark, by_text, f"{topic}-upper") == [river.upper() for river in rivers]


def test_brokers_nobody_vouches_for_are_not_talked_to(
    spark: Any, by_text: dict[str, str], certificates: Certificates, topic: str
) -> None:
    options = by_text | {"kafka.ssl.truststore.certificates": certificates.stranger.read_text()}
    with pytest.raises(Exception, match="its certificate is not accepted") as caught:
        values(spark, options, topic)
    assert certificates.password not in str(caught.value)
    frame = spark.createDataFrame([("elbe",)], "value string")
    with pytest.raises(Exception, match="its certificate is not accepted") as caught:
        frame.write.format("moldau").options(**options).option("topic", topic).mode("append").save()
    assert certificates.password not in str(caught.value)


def test_a_declared_pipeline_passes_its_options_on(
    spark: Any, by_file: dict[str, str], address: str, topic: str, tmp_path: Path
) -> None:
    frame = spark.createDataFrame([("elbe",), ("moldau",)], "value string")
    frame.write.format("moldau").options(**by_file).option("topic", topic).mode("append").save()
    way = {name: value for name, value in by_file.items() if name != "kafka.bootstrap.servers"}
    file = tmp_path / "rivers.yaml"
    # JSON is YAML.
    content = {
        "pipeline": "rivers",
        "bootstrap": address,
        "sources": {"read": {"topic": topic, "starting": "earliest", "options": way}},
        "sinks": {"kept": {"from": "read", "memory": "kept_rivers"}},
    }
    file.write_text(json.dumps(content))
    pipeline = load(str(file))
    read = source_frame(spark, pipeline, replace(pipeline.sources["read"], streaming=False))
    assert sorted(bytes(row.value) for row in read.collect()) == [b"elbe", b"moldau"]
    status = Status("rivers", str(file), "", queries=[{"query": "kept", "positions": {topic: {"0": 1}}}])
    assert current_lag(pipeline, status) == {"kept": 1}


def test_jobs_over_history_through_tls(
    spark: Any, address: str, certificates: Certificates, by_text: dict[str, str], topic: str
) -> None:
    rivers = ["elbe", "moldau", "sazava"]
    frame = spark.createDataFrame([(river, river) for river in rivers], "key string, value string")
    frame.write.format("moldau").options(**by_text).option("topic", topic).mode("append").save()
    by_files = {
        "security.protocol": "SSL",
        "ssl.ca.location": str(certificates.ca),
        "ssl.certificate.location": str(certificates.client),
        "ssl.key.location": str(certificates.client_key),
        "ssl.key.password": certificates.password,
    }
    access = ThroughBrokers(address, in_java(by_files))
    assert sum(end - first for first, end in access.ranges(topic, "read_committed").values()) == 3
    copy(spark, access, CopyRequest("repartition", topic, f"{topic}-new", None, 2, False))
    assert values(spark, by_text, f"{topic}-new") == rivers
