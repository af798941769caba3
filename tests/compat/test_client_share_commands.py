"""`moldau share-groups`, `consume --share-group`, `explain share-group`, and the admin client's words for the same."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from node_process import MOLDAU

from moldau import KafkaAdminClient, KafkaProducer, KafkaShareConsumer, TopicPartition, errors
from moldau.admin import ConfigResource, NewTopic


def moldau(bootstrap: str, *words: str) -> tuple[int, str, str]:
    done = subprocess.run([str(MOLDAU), *words, "-b", bootstrap], capture_output=True, text=True, timeout=90)
    return done.returncode, done.stdout, done.stderr


def shown(bootstrap: str, *words: str) -> Any:
    status, output, errors = moldau(bootstrap, *words, "--json")
    assert status == 0, errors
    return json.loads(output)


@pytest.fixture
def filled(share_bootstrap: str, topic: str) -> str:
    """A topic of two partitions with ten records each, and a share group of its name that begins with the oldest."""
    with KafkaAdminClient(bootstrap_servers=share_bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 2, 1)])
        admin.alter_configs([ConfigResource("group", topic, {"share.auto.offset.reset": "earliest"})])
    with KafkaProducer(bootstrap_servers=share_bootstrap) as producer:
        for number in range(20):
            producer.send(topic, b"%d" % number, partition=number % 2)
    return topic


def test_a_share_group_from_its_first_record_to_its_deletion(share_bootstrap: str, filled: str) -> None:
    group = filled
    words = ("consume", filled, "--share-group", group, "--max", "5", "--format", "{delivery_count} {value}", "-q")
    status, output, said = moldau(share_bootstrap, *words)
    assert status == 0, said
    first = output.splitlines()
    assert len(first) == 5
    assert all(line.startswith("1 ") for line in first)
    status, output, said = moldau(share_bootstrap, "consume", filled, "--share-group", group, "--idle", "2s", "--json")
    assert status == 0, said
    rest = [json.loads(line) for line in output.splitlines()]
    values = [line.split()[1] for line in first] + [row["value"] for row in rest]
    assert sorted(values, key=int) == [str(number) for number in range(20)]
    assert {row["delivery_count"] for row in rest} == {1}

    assert {"group": group, "state": "Empty"}.items() <= _of(
        shown(share_bootstrap, "share-groups", "list"), group
    ).items()
    (described,) = shown(share_bootstrap, "share-groups", "describe", group)
    assert (described["state"], described["left"], described["members"]) == ("Empty", 0, [])
    assert [(row["partition"], row["end"]) for row in described["partitions"]] == [(0, 10), (1, 10)]
    planned = shown(
        share_bootstrap, "share-groups", "reset-offsets", group, "--to", "3", "--topic", filled, "--dry-run"
    )
    assert [(row["after"], row["moved"]) for row in planned] == [(3, False)] * 2
    status, output, said = moldau(share_bootstrap, "share-groups", "reset-offsets", group, "--to", "3", "--all-topics")
    assert status == 0, said
    assert "AFTER" in output
    explained = shown(share_bootstrap, "explain", "share-group", group, "--for", "100ms")
    assert explained["left"] == 14
    assert "Nobody is in the group: it waits for a member." in [row["fact"] for row in explained["findings"]]
    status, output, said = moldau(share_bootstrap, "explain", "share-group", group, "--for", "0s")
    assert status == 0, said
    assert output.startswith(f"{group} is a share group, Empty, with 0 members")

    status, output, said = moldau(share_bootstrap, "share-groups", "delete", group, "--topic", filled)
    assert (status, output) == (0, f"deleted {group}, topic {filled}\n"), said
    assert shown(share_bootstrap, "share-groups", "delete", group) == [{"group": group}]
    status, _, said = moldau(share_bootstrap, "share-groups", "describe", group)
    assert (status, said) == (1, f"moldau: There is no share group {group}.\n")


def _of(groups: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (found,) = [row for row in groups if row["group"] == name]
    return found


def test_a_group_with_members_is_described_and_not_moved(share_bootstrap: str, filled: str) -> None:
    group = filled
    with KafkaShareConsumer(
        filled,
        bootstrap_servers=share_bootstrap,
        group_id=group,
        client_id="packer",
        share_acknowledgement_mode="explicit",
    ) as consumer:
        held = [record for records in consumer.poll(20_000).values() for record in records]
        consumer.acknowledge(held[0])
        # Until something is acknowledged nothing is written down, and nobody can tell how much is left.
        assert set(consumer.commit_sync().values()) == {None}
        (described,) = shown(share_bootstrap, "share-groups", "describe", group)
        assert described["state"] == "Stable"
        assert [member["client"] for member in described["members"]] == ["packer"]
        status, output, _ = moldau(share_bootstrap, "share-groups", "describe", group, "--members")
        assert status == 0
        assert f"{filled}-0,{filled}-1" in output
        explained = shown(share_bootstrap, "explain", "share-group", group, "--for", "100ms")
        assert explained["left"] >= 9
        assert any("Members hold records" in (row["advice"] or "") for row in explained["findings"])
        status, _, said = moldau(share_bootstrap, "share-groups", "reset-offsets", group, "--to", "0", "--all-topics")
        assert status == 1
        assert "has members" in said
        status, _, said = moldau(share_bootstrap, "share-groups", "delete", group)
        assert status == 1
        assert "has members" in said


def test_what_the_group_decides_is_not_the_command_s(share_bootstrap: str, topic: str) -> None:
    for words in (["--from", "latest"], ["--tail", "3"], ["--partition", "0"], ["--isolation", "read-committed"]):
        status, _, said = moldau(share_bootstrap, "consume", topic, "--share-group", "any", *words)
        assert (status, said.startswith(f"moldau: {words[0]} is the share group's matter")) == (2, True)
    status, _, said = moldau(share_bootstrap, "consume", topic, "--idle", "1s")
    assert (status, said) == (2, "moldau: --idle goes with --group or --share-group.\n")


def test_the_admin_client_knows_share_groups(share_bootstrap: str, filled: str) -> None:
    group = filled
    with (
        KafkaAdminClient(bootstrap_servers=share_bootstrap) as admin,
        KafkaShareConsumer(filled, bootstrap_servers=share_bootstrap, group_id=group) as consumer,
    ):
        taken = 0
        while taken < 20:
            taken += sum(map(len, consumer.poll(1000).values()))
        consumer.commit_sync()
        described = admin.describe_share_groups([group, "nobody's"])
        assert described[group]["group_state"] == "Stable"
        assert described[group]["members"][0]["assignment"] == {filled: [0, 1]}
        assert described["nobody's"]["group_state"] == "Dead"
        with pytest.raises(errors.NonEmptyGroupError):
            admin.alter_share_group_offsets(group, {TopicPartition(filled, 0): 5})
        consumer.close()
        listed = admin.list_share_groups()
        assert {"group_id": group, "group_state": "Empty", "group_type": "share"} in listed
        where, other = (TopicPartition(filled, number) for number in (0, 1))
        assert admin.alter_share_group_offsets(group, {where: 5}) == {where: errors.NoError}
        positions = admin.list_share_group_offsets(group)[group]
        assert positions[where].start == 5
        assert (positions[where].lag, positions[other].lag) == (5, 0)
        assert admin.list_share_group_offsets({group: [where]})[group].keys() == {where}
        assert admin.delete_share_group_offsets(group, [filled]) == {filled: errors.NoError}
        assert admin.delete_share_groups([group]) == {group: "OK"}
