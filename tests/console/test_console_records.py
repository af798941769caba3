"""Records in the browser: found by place, time, key and text, as they come, one whole; schemas; and writing one."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from chromium import Browser
from console_process import ConsoleProcess
from program import Program
from selenium.webdriver.common.by import By
from test_console_views import ORDER, avro

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from moldau.admin import NewTopic
from moldau.testing import Cluster


@pytest.fixture(scope="module", autouse=True)
def towns(admin: KafkaAdminClient, producer: KafkaProducer) -> None:
    """200 records over two partitions, one a second from the year 2026 on."""
    admin.create_topics([NewTopic("towns", 2, 3), NewTopic("drafts", 1, 3), NewTopic("shop-orders", 1, 3)])
    for number in range(200):
        producer.send(
            "towns",
            json.dumps({"number": number, "town": "Mělník"}, ensure_ascii=False).encode(),
            key=b"even" if number % 2 == 0 else f"odd-{number}".encode(),
            headers=[("source", b"test")],
            partition=number % 2,
            timestamp_ms=1_767_225_600_000 + number * 1000,
        )
    producer.flush()


def offsets(text: str, partition: int) -> list[int]:
    return [int(each) for each in re.findall(rf'href="/topics/towns/records/{partition}/(\d+)["?]', text)]


def further(text: str) -> str:
    found = re.search(r'rel="next" href="(\?[^"]+)"', text)
    assert found is not None
    return found[1].replace("&amp;", "&")


def test_newest_first_and_back_to_the_beginning(program: Program) -> None:
    seen: list[int] = []
    text = program.get("/topics/towns/records").text
    for _ in range(4):
        assert len(offsets(text, 0)) == len(offsets(text, 1)) == 25
        seen += offsets(text, 1)
        if len(seen) < 100:
            text = program.get(f"/topics/towns/records{further(text)}").text
    assert seen == list(range(99, -1, -1))
    assert 'rel="next"' not in text


def test_from_an_offset_and_a_time_on(program: Program) -> None:
    text = program.get("/topics/towns/records?mode=from&from=90&partition=1").text
    assert offsets(text, 1) == list(range(90, 100))
    text = program.get("/topics/towns/records?mode=from&from=2026-01-01T00:03:10Z").text
    assert (offsets(text, 0), offsets(text, 1)) == (list(range(95, 100)), list(range(95, 100)))
    text = program.get("/topics/towns/records?from=2026-01-01T00:00:04Z").text
    assert (offsets(text, 0), offsets(text, 1)) == ([1, 0], [1, 0])
    assert "is neither earliest" in program.get("/topics/towns/records?from=yesterday").text


def test_by_key_and_by_text(program: Program) -> None:
    text = program.get("/topics/towns/records?key=odd-77").text
    assert (offsets(text, 0), offsets(text, 1)) == ([], [38])
    text = program.get("/topics/towns/records?mode=from&key=odd-77").text
    assert offsets(text, 1) == [38]
    text = program.get("/topics/towns/records?q=%22number%22%3A+123%2C").text
    assert offsets(text, 1) == [61]
    text = program.get("/topics/towns/records?q=source&partition=0").text
    assert offsets(text, 0) == list(range(99, 49, -1))
    rest = program.get(f"/topics/towns/records{further(text)}").text
    assert offsets(rest, 0) == list(range(49, -1, -1))
    assert "Nothing fits" in program.get("/topics/towns/records?q=nowhere").text


@pytest.mark.parametrize(
    "query",
    ["at=x", "at=0.1~9.9", "at=0.99999999999999999999", "at=-1.5", "at=" + "~".join(f"{n}.1" for n in range(80))],
)
def test_places_that_are_none_are_refused(program: Program, query: str) -> None:
    assert program.get(f"/topics/towns/records?{query}").status == 400
    assert program.get(f"/topics/towns/records/live?{query}").status == 400


def test_partitions_and_records_that_are_not_there(program: Program) -> None:
    assert program.get("/topics/towns/records?partition=7").status == 404
    assert program.get("/topics/towns/records/7/0").status == 404
    assert program.get("/topics/towns/records/0/100").status == 404
    assert program.get("/topics/no-such/records").status == 404
    assert program.get("/topics/towns/records?at=0.4000000000~1.5").status == 200


def test_what_a_record_holds_is_never_the_pages_own(program: Program, producer: KafkaProducer) -> None:
    evil = b"<script>alert(1)</script><img src=x onerror=alert(1)>"
    producer.send("drafts", evil, key=evil, headers=[("<b>", evil)]).get(10)
    for path in ("/topics/drafts/records", "/topics/drafts/records/0/0", "/topics/drafts/records/live?at=0.0"):
        text = program.get(path).text
        assert "&lt;script&gt;alert" in text
        assert "<script>alert" not in text
        assert "<img src=x" not in text
    raw = program.get("/topics/drafts/records/0/0/value")
    assert raw.text.encode() == evil
    assert raw.headers["content-disposition"].startswith("attachment")
    assert raw.headers["content-type"] == "application/octet-stream"


def test_what_comes_too_fast_is_passed_over(program: Program, admin: KafkaAdminClient, producer: KafkaProducer) -> None:
    admin.create_topics([NewTopic("flood", 2, 1)])
    for number in range(5000):
        producer.send("flood", b"%d" % number, partition=number % 2)
    producer.flush()
    answer = program.get("/topics/flood/records/live?at=0.0~1.0")
    assert answer.text.count("<tr>") == 100
    assert 'data-passed-over="4900"' in answer.text
    assert 'data-at="0.2500~1.2500"' in answer.text


def test_ten_who_search_a_long_topic_get_an_answer(program: Program) -> None:
    """Nothing fits, so every record is looked at: by ten at once, and each answer comes in time."""
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: program.get("/topics/flood/records?q=nowhere"), range(10)))
    assert {answer.status for answer in answers} == {200}
    assert all("None of 5,000 records" in answer.text for answer in answers)


def test_a_page_of_records_in_the_browser(browser: Browser) -> None:
    browser.open("/topics/towns/records", "towns")
    browser.see('{ "number": 199, "town": "Mělník" }', "even", "source", "50 records")
    browser.fill("Key", "odd-9")
    browser.click("Show")
    browser.see('"number": 9', "1 record of 200 looked at")
    browser.click("4")
    browser.heading("Partition 1, offset 4")
    browser.see('"number": 9,', "odd-9", "source", "Written 2026-01-01T00:00:09.000Z")
    browser.click("hex")
    browser.see("7b 22 6e 75", '{"number": 9')
    browser.click("Next")
    browser.heading("Partition 1, offset 5")
    browser.click("Before")
    browser.heading("Partition 1, offset 4")
    browser.click("All records with this key")
    browser.see("1 record of 200 looked at")


def test_records_as_they_come(browser: Browser, producer: KafkaProducer) -> None:
    browser.open("/topics/towns/records", "towns")
    browser.fill("Order", "As they come")
    browser.see("waiting for records")
    for number in range(3):
        producer.send("towns", b"fresh-%d" % number)
    producer.flush()
    browser.see("fresh-2", "3 shown")
    first = browser.driver.find_element(By.CSS_SELECTOR, "main tbody tr td:last-child").text
    assert first.startswith("fresh-")
    browser.click("Pause")
    producer.send("towns", b"while-paused").get(10)
    browser.click("Go on")
    browser.see("while-paused", "4 shown")


def test_writing_a_record_and_writing_it_again(browser: Browser, cluster: Cluster) -> None:
    browser.open("/topics/drafts/produce", "drafts")
    browser.fill("Value is written as", "JSON")
    browser.fill("Value", "{not json")
    browser.click("Write it")
    browser.see("The value is not JSON")
    browser.fill("Value", '{"town": "Děčín"}')
    browser.fill("Key", "cz")
    browser.fill("Headers", "from=console")
    browser.fill("Time", "2026-01-31T12:00:00Z")
    browser.click("Write it")
    browser.see("Written to partition 0 at offset")
    browser.click("Look at it")
    browser.see('"town": "Děčín"', "from", "2026-01-31T12:00:00.000Z")
    browser.click("Write again …")
    browser.fill("Value", "second")
    browser.click("Write it")
    browser.see("Written to partition 0 at offset")
    with KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        where = TopicPartition("drafts", 0)
        consumer.assign([where])
        consumer.seek_to_end(where)
        consumer.seek(where, consumer.position(where) - 2)
        records = consumer.poll(timeout_ms=10_000)[where]
    assert [(each.key, each.value, each.headers) for each in records] == [
        (b"cz", '{"town": "Děčín"}'.encode(), [("from", b"console")]),
        (b"cz", b"second", [("from", b"console")]),
    ]
    assert records[0].timestamp == 1_769_860_800_000


def test_bytes_that_are_no_text_are_written_as_they_are(program: Program) -> None:
    mark = program.mark("/topics/drafts/produce")
    fields = {"mark": mark, "key_format": "hex", "key": "00ff", "value_format": "base64", "value": "AAEC"}
    text = program.post("/topics/drafts/produce", fields).text
    found = re.search(r'href="(/topics/drafts/records/0/\d+)"', text)
    assert found is not None
    assert program.ask("GET", f"{found[1]}/value").text == "\0\1\2"
    again = program.get(f"{found[1]}/again").text
    assert "AAEC" in again
    for wrong in ({"value": "AAE"}, {"headers": "nothing"}, {"partition": "9"}, {"partition": "x"},
                  {"timestamp": "later"}):  # fmt: skip
        assert program.post("/topics/drafts/produce", {**fields, **wrong}).status == 409


def test_nothing_is_written_in_read_only_mode(cluster: Cluster) -> None:
    with ConsoleProcess(cluster.bootstrap_servers, "--read-only") as console:
        program = Program(console.address)
        mark = program.mark("/topics/drafts/schemas")
        assert program.post("/topics/drafts/produce", {"mark": mark, "value": "x"}).status == 403
        assert "Write again" not in program.get("/topics/towns/records/0/0").text
        assert program.post("/topics/drafts/schemas", {"mark": mark, "value": '"string"'}).status == 303


def test_avro_by_a_schema(browser: Browser, producer: KafkaProducer) -> None:
    order = {"id": 7, "town": "Brno", "at": 0, "day": 0, "price": b"\x04\xd2", "state": "NEW", "tags": [], "sizes": {},
             "again": None, "mark": b"ab", "whole": True, "part": 0.0}  # fmt: skip
    schema = {
        **ORDER,
        "fields": [{**each, "type": "bytes"} if each["name"] == "price" else each for each in ORDER["fields"]],
    }
    producer.send("shop-orders", b"\0\0\0\0\x2a" + avro(schema, order)).get(10)
    browser.open("/topics/shop-orders/records", "shop-orders")
    browser.click("Schemas")
    browser.fill("Schema of the value", '{"type": "recor"}')
    browser.click("Use them")
    browser.see("The schema of the value cannot be used")
    browser.fill("Schema of the value", json.dumps(ORDER))
    browser.click("Use them")
    browser.see("Records are read by these schemas", '"town": "Brno"')
    browser.click("0")
    browser.see('"price": "12.34"', "number 42 of a schema in a registry")
