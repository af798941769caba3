"""A real cluster for the tests of applications, gone without a trace when the test is over.

    from moldau.testing import Cluster

    with Cluster() as cluster:
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)

Nothing is imitated: the nodes are processes that speak Kafka's protocol over TCP and write Kafka's files, so what a
test sees is what production does. `moldau.testing.plugin` offers the same as a pytest fixture named `moldau`.
"""

from __future__ import annotations

from moldau.supervision.process import NodeFailed
from moldau.testing.cluster import Cluster
from moldau.testing.node import Node

__all__ = ["Cluster", "Node", "NodeFailed"]
