"""`moldau groups` and `moldau explain group` against a node with a group in it."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from node_process import MOLDAU


def moldau(bootstrap: str, *words: str) -> tuple[int, str, str]:
    done = subprocess.run([str(MOLDAU), *words, "-b", bootstrap], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def shown(bootstrap: str, *words: str) -> Any:
    status, output, errors = moldau(bootstrap, *words, "--json")
    assert status == 0, errors
    return json.loads(output)


def test_a_group_from_its_first_member_to_its_deletion(bootstrap: str, topic: str) -> None:
    group = f"group-of-{topic}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result()
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(200):
        producer.produce(topic, str(number).encode(), partition=number % 2)
    producer.flush()
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.subscribe([topic])
    seen = 0
    while seen < 200:
        seen += len(consumer.consume(200, timeout=1))
    consumer.commit(asynchronous=False)

    (described,) = shown(bootstrap, "groups", "describe", group)
    assert (described["state"], described["lag"], len(described["members"])) == ("Stable", 0, 1)
    assert [row["committed"] for row in described["partitions"]] == [100, 100]
    status, output, _ = moldau(bootstrap, "groups", "describe", group, "--members")
    assert status == 0
    assert f"{topic}-0,{topic}-1" in output
    status, _, errors = moldau(bootstrap, "groups", "reset-offsets", group, "--to", "earliest", "--topic", topic)
    assert (status, "has members" in errors) == (1, True)
    explained = shown(bootstrap, "explain", "group", group, "--for", "100ms")
    assert explained["since"] is not None
    assert "It has read everything there is." in [row["fact"] for row in explained["findings"]]
    consumer.close()

    assert [group, "Empty"] in [[row["group_id"], row["state"]] for row in shown(bootstrap, "groups", "list")]
    planned = shown(
        bootstrap, "groups", "reset-offsets", group, "--to", "earliest", "--topic", f"{topic}:1", "--dry-run"
    )
    assert planned == [{"topic": topic, "partition": 1, "before": 100, "after": 0, "committed": False}]
    for words, after in (
        (["--to", "10", "--topic", topic], 10),
        (["--shift", "5", "--all-topics"], 15),
        (["--shift", "-1000", "--all-topics"], 0),
        (["--to", "latest", "--all-topics"], 100),
        (["--to", "1h", "--all-topics"], 0),
        (["--to", "2200-01-01T00:00:00Z", "--all-topics"], 100),
        (["--to", "60", "--all-topics"], 60),
    ):
        moved = shown(bootstrap, "groups", "reset-offsets", group, *words)
        assert [row["after"] for row in moved] == [after, after], words
    (described,) = shown(bootstrap, "groups", "describe", group)
    assert described["lag"] == 80
    status, output, _ = moldau(bootstrap, "explain", "group", group, "--for", "10ms")
    assert status == 0
    assert "it waits for a member" in output
    assert moldau(bootstrap, "groups", "delete", group)[:2] == (0, f"deleted {group}\n")
    status, _, errors = moldau(bootstrap, "groups", "describe", group)
    assert (status, errors) == (1, f"moldau: There is no group {group}.\n")
