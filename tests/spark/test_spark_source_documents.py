"""The Python examples about the source in docs/spark, run as they stand there (but on the node under test)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from filled_topics import rows, write

from moldau.admin import KafkaAdminClient, NewTopic
from moldau.testing import Cluster

DOCUMENTS = Path(__file__).parents[2] / "docs" / "spark"
EXAMPLES = [
    pytest.param(block, id=f"{page}-{number}")
    for page in ("options", "migrating")
    for number, block in enumerate(
        re.findall(r"^```python\n(.*?)^```", (DOCUMENTS / f"{page}.md").read_text(), re.MULTILINE | re.DOTALL), 1
    )
]


@pytest.fixture(scope="module")
def rivers(node: Cluster) -> None:
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("rivers", 2, 1)])
    write(node.bootstrap_servers, "rivers", 0, rows(3))


@pytest.mark.usefixtures("rivers")
@pytest.mark.parametrize("example", EXAMPLES)
def test_runs(spark: Any, node: Cluster, example: str) -> None:
    names: dict[str, Any] = {"spark": spark}
    exec(example.replace("127.0.0.1:9092", node.bootstrap_servers), names)
    frame = names.get("frame", names.get("values"))
    assert frame.count() == 3


def test_every_option_is_in_the_table() -> None:
    from moldau.spark.options import OPTIONS

    text = (DOCUMENTS / "options.md").read_text()
    spark_s_own = {"checkpointLocation", "queryName"}
    assert [name for name in OPTIONS if f"`{name}`" not in text and name not in spark_s_own] == []
