"""The names of metrics on the pages for operators, asked of a node."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from node_process import StartNode
from patience import wait_until
from scraping import metrics_address, scrape

from moldau import KafkaConsumer, KafkaProducer, KafkaShareConsumer

pytestmark = pytest.mark.ours_only("Apache Kafka has no such endpoint")

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "operating" / "metrics.md", DOCS / "OPERATING.md")


def test_the_names_of_the_pages_have_series(start_node: StartNode):
    """A row that ends in `*` stands for all that begin so."""
    node = start_node({"metrics.listener": "127.0.0.1:0"})
    quotas = ["producer_byte_rate=50000000", "request_percentage=1000", "--client-id", "counted"]
    command = [sys.executable, "-m", "moldau", "quotas", "set", *quotas, "-b", node.bootstrap]
    subprocess.run(command, check=True, capture_output=True)
    brokers = node.bootstrap
    with KafkaProducer(bootstrap_servers=brokers, transactional_id="counted", client_id="counted") as producer:
        producer.init_transactions()
        with (
            KafkaConsumer("counted", bootstrap_servers=brokers, group_id="counters") as consumer,
            KafkaShareConsumer("counted", bootstrap_servers=brokers, group_id="sharers") as sharer,
        ):
            producer.begin_transaction()
            producer.send("counted", b"x", partition=0).get(timeout=30)
            consumer.poll(timeout_ms=1000)

            def shares() -> bool:
                sharer.poll(timeout_ms=200)
                return any("sharepartition" in name for name in scrape(metrics_address(node.log)))

            wait_until(shares)
            series = scrape(metrics_address(node.log)).keys()
            producer.abort_transaction()
    named: list[str] = []
    for page in PAGES:
        found = re.findall(r"`((?:kafka|moldau|process|jvm)_[a-z_]+\*?)`", page.read_text())
        assert len(found) > 12, page.name
        # Clients push them, if they are asked to.
        named += [name for name in found if not name.startswith("kafka_client_")]
    missing = [name for name in named if not any(re.fullmatch(name.replace("*", ".*"), each) for each in series)]
    assert missing == []
