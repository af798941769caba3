"""One Spark session for all tests here, and a node of their own beside it.

A session costs about ten seconds and a JVM; the tests share it and keep apart by topics and directories.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moldau.testing import Cluster

pytest.importorskip("pyspark", reason="Spark's tests need the extra: pip install 'moldau[spark]'")

from moldau.spark import spark_session

_numbers = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What Spark's own Python code warns of is not ours to mend; what ours warns of stays an error."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for module in ("pyspark", "py4j", "pandas", "pyarrow"):
                item.add_marker(pytest.mark.filterwarnings(rf"ignore:::{module}(\.|$)"))
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed.*:ResourceWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    warehouse = tmp_path_factory.mktemp("warehouse")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = spark_session(
            "moldau tests",
            master="local[2]",
            settings={
                "spark.sql.shuffle.partitions": 2,
                "spark.sql.warehouse.dir": str(warehouse),
                "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
                "spark.sql.streaming.stopTimeout": "60s",
            },
        )
    yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.stop()


@pytest.fixture(scope="session")
def node() -> Iterator[Cluster]:
    with Cluster(nodes=1) as cluster:
        yield cluster


@pytest.fixture
def topic() -> str:
    """A name that no other test uses."""
    return f"topic-{next(_numbers)}"


@pytest.fixture
def create_topic(node: Cluster) -> Callable[..., str]:
    """Makes a topic and returns its name."""
    from moldau.admin import KafkaAdminClient, NewTopic

    def create(partitions: int = 1, **settings: str) -> str:
        name = f"topic-{next(_numbers)}"
        configs = {key.replace("_", "."): value for key, value in settings.items()}
        with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
            admin.create_topics([NewTopic(name, partitions, 1, topic_configs=configs)])
        return name

    return create
