"""Spark's own Kafka connector (`format("kafka")`) reads and writes our node unmodified, and sees what we see.

Long, because it fetches jars (tools/fetch_spark_connector) and starts a Spark of its own with them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from filled_topics import NOON, rows, write, write_transaction

from moldau.client.admin.topics import NewTopic, create_topics
from moldau.client.cluster import Cluster as Client
from moldau.protocol.records import Compression
from moldau.testing import Cluster

HERE = Path(__file__).parent
FETCH = HERE.parent.parent / "tools" / "fetch_spark_connector"


def connector_jars() -> list[str]:
    found = subprocess.run([str(FETCH)], capture_output=True, text=True, timeout=600)
    if found.returncode:
        said = found.stderr.strip().splitlines()
        pytest.skip(f"Spark's own connector cannot be fetched here: {said[-1] if said else 'no reason given'}")
    return sorted(str(path) for path in Path(found.stdout.strip()).glob("*.jar"))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    jars = connector_jars()
    with Cluster() as node:
        bootstrap = node.bootstrap_servers
        with Client(bootstrap) as client:
            client.run(create_topics([NewTopic(name, 2, 1) for name in ("rivers", "lakes", "seas")]))
            client.run(create_topics([NewTopic("moved", 1, 1)]))
        for number, codec in enumerate(Compression):
            headers = [("n", b"%d" % number), ("none", None)] if number % 2 else []
            records = [(NOON + n, b"k%d" % n if n % 3 else None, b"%d-%d" % (number, n), headers) for n in range(20)]
            write(bootstrap, "rivers", number % 2, records, compression=codec)
        write_transaction(bootstrap, "rivers", 0, rows(5, first=100), commit=True)
        write_transaction(bootstrap, "rivers", 0, rows(5, first=200), commit=False)
        write(bootstrap, "rivers", 0, rows(5, first=300))
        write(bootstrap, "moved", 0, rows(10))
        directory = tmp_path_factory.mktemp("connector")
        command = [sys.executable, str(HERE / "connector_program.py"), bootstrap, str(directory), *jars]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-3000:]
        return dict(json.loads(done.stdout.strip().splitlines()[-1]))


Found = dict[str, Any]


@pytest.mark.long
def test_both_see_the_same(found: Found) -> None:
    theirs, ours = found["kafka"], found["moldau"]
    assert ours["schema"] == theirs["schema"]
    assert ours["all"] == theirs["all"]
    assert len(ours["all"]) == 115
    assert ours["committed"] == theirs["committed"]
    assert len(ours["committed"]) == 110


@pytest.mark.long
@pytest.mark.parametrize("topic", ["lakes", "seas"])
def test_what_the_connector_writes(found: Found, topic: str) -> None:
    theirs, ours = found["written"][topic]
    assert ours == theirs
    assert len(ours) == 115


@pytest.mark.long
def test_a_checkpoint_of_the_connector_is_continued(found: Found) -> None:
    assert found["moved before"] == list(range(10))
    assert found["moved after"] == list(range(10, 17))


@pytest.mark.long
def test_a_checkpoint_of_ours_is_continued_by_the_connector(found: Found) -> None:
    assert found["moved back"] == [17, 18, 19]
