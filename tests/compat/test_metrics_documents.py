"""The names of metrics on the pages for operators, asked of a node."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from node_process import StartNode
from scraping import metrics_address, scrape

from moldau import KafkaConsumer, KafkaProducer

pytestmark = pytest.mark.ours_only("Apache Kafka has no such endpoint")

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "operating" / "metrics.md", DOCS / "OPERATING.md")


def test_the_names_of_the_pages_have_series(start_node: StartNode):
    """A row that ends in `*` stands for all that begin so."""
    node = start_node({"metrics.listener": "127.0.0.1:0"})
    with KafkaProducer(bootstrap_servers=node.bootstrap, transactional_id="counted") as producer:
        producer.init_transactions()
        with KafkaConsumer("counted", bootstrap_servers=node.bootstrap, group_id="counters") as consumer:
            producer.begin_transaction()
            producer.send("counted", b"x", partition=0).get(timeout=30)
            consumer.poll(timeout_ms=1000)
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
