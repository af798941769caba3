"""The names on the page about metrics, asked of a node."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from node_process import StartNode
from scraping import metrics_address, scrape

from moldau import KafkaConsumer, KafkaProducer

pytestmark = pytest.mark.ours_only("Apache Kafka has no such endpoint")

PAGE = Path(__file__).parents[2] / "docs" / "operating" / "metrics.md"


def test_the_names_of_the_page_have_series(start_node: StartNode):
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
    named = re.findall(r"`((?:kafka|moldau|process|jvm)_[a-z_]+\*?)`", PAGE.read_text())
    named = [name for name in named if not name.startswith("kafka_client_")]  # clients push them, if they are asked to
    assert len(named) > 15
    missing = [name for name in named if not any(re.fullmatch(name.replace("*", ".*"), each) for each in series)]
    assert missing == []
