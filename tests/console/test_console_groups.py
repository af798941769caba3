"""Groups, share groups and transactions: seen, explained, moved after a plan, ended after a confirmation."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from chromium import Browser
from program import Program

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer, KafkaShareConsumer, TopicPartition
from moldau.admin import NewTopic
from moldau.client.admin.groups import find_group_coordinator
from moldau.client.cluster import Cluster as Line
from moldau.client.conversation import Ask, Conversation, Learn
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    Topology,
)
from moldau.protocol.records import encode_batch
from moldau.testing import Cluster

READ = TopicPartition("read", 0)


@pytest.fixture(scope="module", autouse=True)
def reader(cluster: Cluster, admin: KafkaAdminClient, producer: KafkaProducer) -> Iterator[None]:
    """`left-behind` has read 10 of 40 records and gone; `present` is there, and has read 30."""
    admin.create_topics([NewTopic("read", 1, 3), NewTopic("written", 1, 3)])
    for number in range(40):
        producer.send("read", b"%d" % number)
    producer.flush()
    with KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="left-behind") as consumer:
        consumer.assign([READ])
        consumer.seek(READ, 10)
        consumer.commit()
    ended = threading.Event()

    def read() -> None:
        with KafkaConsumer(
            "read", bootstrap_servers=cluster.bootstrap_servers, group_id="present", client_id="reader-1",
            auto_offset_reset="earliest", enable_auto_commit=False, max_poll_records=30,
        ) as consumer:  # fmt: skip
            committed = False
            while not ended.is_set():
                if consumer.poll(timeout_ms=200, max_records=30) and not committed:
                    consumer.commit()
                    committed = True

    thread = threading.Thread(target=read)
    thread.start()
    yield
    ended.set()
    thread.join()


def committed(admin: KafkaAdminClient, group: str) -> int:
    return int(admin.list_group_offsets({group: None})[group][READ].offset)


def test_the_list_says_who_is_how_far_behind(browser: Browser) -> None:
    browser.open("/groups", "Groups")
    browser.see("left-behind", "present", "Stable", "Empty")
    browser.wait(lambda: row(browser, "left-behind").endswith(" 30"), "30 behind")
    browser.wait(lambda: row(browser, "present").endswith(" 10"), "10 behind")
    browser.press("/")
    browser.press("left")
    browser.see_gone("present")


def row(browser: Browser, name: str) -> str:
    return browser.one(f"//main//tr[td[1]='{name}']").text


def test_one_with_its_members_and_what_it_waits_for(browser: Browser) -> None:
    browser.open("/group?name=present", "present")
    browser.see("reader-1", "read-0", "10", "records behind", "Stable", "It is 10 records behind")
    browser.open("/group?name=left-behind", "left-behind")
    browser.see("Nobody is in the group: it waits for a member.", "Start a consumer")
    browser.wait(lambda: browser.driver.find_elements("css selector", "svg.curve"), "a curve of the lag")


def test_a_group_is_moved_after_the_plan_was_seen(browser: Browser, admin: KafkaAdminClient) -> None:
    browser.open("/group?name=left-behind", "left-behind")
    browser.click("Move offsets …")
    browser.fill("Place", "nowhere")
    browser.click("Show what would move")
    browser.see("'nowhere' is neither earliest")
    browser.fill("Place", "earliest")
    browser.click("Show what would move")
    browser.heading("This would move")
    browser.see("10 records again", "Nothing has been moved yet.")
    assert committed(admin, "left-behind") == 10
    browser.click("Move the group")
    browser.see("left-behind was moved in 1 partition.")
    assert committed(admin, "left-behind") == 0
    browser.open("/group/move?name=left-behind")
    browser.fill("Topic", "read")
    browser.fill("Partitions", "0")
    browser.one("//input[@value='shift']").click()
    browser.fill("By so many records", "7")
    browser.click("Show what would move")
    browser.see("7 records left out")
    browser.click("Move the group")
    browser.see("left-behind was moved")
    assert committed(admin, "left-behind") == 7


def test_a_group_with_members_is_not_moved(browser: Browser, admin: KafkaAdminClient) -> None:
    browser.open("/group/move?name=present")
    browser.see("The group has members")
    browser.click("Show what would move")
    browser.click("Move the group")
    browser.see("has members: offsets can be moved only while it has none")
    assert committed(admin, "present") == 30


def test_a_plan_that_is_none_or_no_longer_holds_moves_nothing(program: Program, admin: KafkaAdminClient) -> None:
    place = "/group/move?name=left-behind"
    before = committed(admin, "left-behind")
    mark = program.mark(place)
    for plan in ("", "{", "[" * 5000, '[["read"]]', '[["read",0,1,-5]]', '[["read",0,"1",2]]',
                 json.dumps([["read", 0, before + 1, 3]])):  # fmt: skip
        assert program.post(place, {"mark": mark, "step": "apply", "plan": plan}).status == 409
    assert committed(admin, "left-behind") == before


def test_a_group_is_deleted_when_its_name_was_typed(
    browser: Browser, cluster: Cluster, admin: KafkaAdminClient
) -> None:
    with KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="to go") as consumer:
        consumer.assign([READ])
        consumer.seek(READ, 1)
        consumer.commit()
    browser.open("/group/delete?name=to+go", "Delete to go")
    browser.fill("To delete it, type to go", "to go")
    browser.click("Delete the group")
    browser.see("The group to go was deleted.")
    assert "to go" not in {each["group_id"] if isinstance(each, dict) else each[0] for each in admin.list_groups()}


def test_what_is_not_there(program: Program) -> None:
    for path in ("/group?name=none", "/share-group?name=none", "/group/move?name=none", "/group/delete?name=none",
                 "/transaction?id=none", "/share-group?name=present"):  # fmt: skip
        assert program.get(path).status == 404, path
    assert program.get("/transactions?hanging=1&longer=soon").status == 200


def test_share_groups(browser: Browser, cluster: Cluster, admin: KafkaAdminClient) -> None:
    """A cluster that has none has an empty page, and says what would fill it."""
    browser.open("/share-groups", "Share groups")
    level = admin.describe_features().get("share.version", {}).get("finalized")
    if not level or level[1] < 1:
        browser.see("No share group yet")
        return
    with KafkaShareConsumer("read", bootstrap_servers=cluster.bootstrap_servers, group_id="packers") as consumer:
        consumer.poll(timeout_ms=5000)
        browser.see("packers")
        browser.click("packers")
        browser.heading("packers")
        browser.see("records to deliver", "read-0", "What it waits for")
        browser.see_gone("Looking for a moment")
    browser.open("/group?name=packers", "packers")  # the other kind's page leads here
    browser.wait(lambda: "Nobody is in the group just now." in browser.text, "the member to be gone")
    browser.click("Move …")
    browser.click("Show what would move")
    browser.heading("This would move")
    browser.click("Move the group")
    browser.see("packers was moved in 1 partition.")


def join_streams(group: str) -> Conversation[StreamsGroupHeartbeatResponse]:
    """As an application of Kafka Streams joins: with what it computes, from one topic to nowhere."""
    node = yield from find_group_coordinator(group)
    topology = Topology(epoch=0, subtopologies=[Subtopology(subtopology_id="0", source_topics=["read"])])
    request = StreamsGroupHeartbeatRequest(
        group_id=group,
        member_id="first",
        process_id="p",
        rebalance_timeout_ms=30_000,
        topology=topology,
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
    )
    return (yield Ask(request, to=node))  # type: ignore[no-any-return]


def test_streams_groups(browser: Browser, cluster: Cluster) -> None:
    line = Line(cluster.bootstrap_servers, client_id="counting")
    assert line.run(join_streams("word-count")).error_code == 0
    browser.open("/groups?q=word", "Groups")
    browser.see("word-count", "streams")
    browser.click("word-count")
    browser.see("A streams group", "counting", "What it waits for")
    line.close()


def test_an_open_transaction_is_explained_and_aborted(browser: Browser, cluster: Cluster) -> None:
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, transactional_id="payments-7") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("written", b"paid").get(10)
        browser.open("/transactions", "Transactions")
        browser.see("payments-7", "Ongoing", "Open for")
        browser.click("Find hanging ones")
        browser.see("None: every transaction")
        browser.click("payments-7")
        browser.heading("payments-7")
        browser.see("It waits for its producer to commit or abort.", "written-0")
        browser.fill("To abort it, type payments-7", "payments")
        browser.click("Abort the transaction")
        browser.see("Nothing was done")
        browser.open("/transaction?id=payments-7", "payments-7")
        browser.fill("To abort it, type payments-7", "payments-7")
        browser.click("Abort the transaction")
        browser.see("What was open under payments-7 is aborted")
        with pytest.raises(Exception, match="newer producer"):
            producer.commit_transaction()


def hang(cluster: Cluster, where: TopicPartition) -> None:
    """Writes a record of a transaction under a producer id that no coordinator has given out."""
    batch = encode_batch(
        [(0, None, b"hangs", ())], producer_id=900_001, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    data = TopicProduceData(
        name=where.topic, partition_data=[PartitionProduceData(index=where.partition, records=batch)]
    )

    def conversation() -> Conversation[Any]:
        view = yield Learn([where.topic])
        request = ProduceRequest(transactional_id="nobody's", acks=-1, timeout_ms=10_000, topic_data=[data])
        return (yield Ask(request, to=view.leader(where), at_most=9))

    with Line(cluster.bootstrap_servers) as line:
        answer = line.run(conversation())
    assert answer.responses[0].partition_responses[0].error_code == 0


def test_a_hanging_transaction_is_found_and_aborted(browser: Browser, cluster: Cluster) -> None:
    hang(cluster, TopicPartition("written", 0))
    time.sleep(1.1)
    browser.open("/transactions?hanging=1&longer=1s", "Transactions")
    browser.see("no coordinator knows the producer")
    browser.click("Abort …")
    browser.fill("To abort it, type written-0", "written-0")
    browser.click("Write the marker")
    browser.see("is aborted.")
    browser.open("/transactions?hanging=1&longer=1s", "Transactions")
    browser.see("None: every transaction")


def test_what_is_stuck_anywhere(browser: Browser) -> None:
    browser.open("/explain", "Explain")
    browser.see("The quorum", "Groups that nobody is in", "left-behind")
