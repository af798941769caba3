"""Names and bytes that were chosen to become part of a page, and forms sent by who may not: every page, not some."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urlencode, urljoin

import pytest
from console_process import ConsoleProcess
from program import Program

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer, KafkaShareConsumer, TopicPartition
from moldau.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    NewTopic,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from moldau.console.pages import PAGES
from moldau.testing import Cluster

EVIL = "\"'></td><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}\u202e"
# Filled in for what is part of an address.
PARTS = {"id": "1", "name": "hostile", "partition": "0", "offset": "0"}
# An answer of the whole crawl has so many pages at most.
MOST_PAGES = 220


class Seen(HTMLParser):
    """What a browser would make of a page: where it leads, and whatever in it is not the console's own."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.foreign: list[str] = []
        self._within_a_field = False
        self.feed(text)

    def handle_data(self, data: str) -> None:
        # It would turn the direction of what follows, and make one name look like another.
        if "\u202e" in data and not self._within_a_field:
            self.foreign.append(f"{self.getpos()} {data!r}")

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._within_a_field = tag == "textarea"
        given = {name: value or "" for name, value in attributes}
        for name, value in given.items():
            own = name not in ("src", "href", "action", "formaction") or re.match(r"/(?!/)|\?|#", value)
            if name.startswith("on") or name in ("style", "srcdoc") or not own:
                self.foreign.append(f"<{tag} {name}={value!r}>")
        if tag == "script" and not given.get("src", "").startswith("/static/"):
            self.foreign.append(f"<{tag}> {given}")
        if tag in ("iframe", "object", "embed", "base", "b-evil"):
            self.foreign.append(f"<{tag}>")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


@pytest.fixture(scope="module", autouse=True)
def hostile(cluster: Cluster, admin: KafkaAdminClient) -> Iterator[None]:
    """Whatever in a cluster can be named by somebody has this name, and members that say so are there."""
    admin.create_topics([NewTopic("hostile", 1, 1), NewTopic("hostile-too", 1, 1)])
    brokers = cluster.bootstrap_servers
    with KafkaProducer(bootstrap_servers=brokers, transactional_id=EVIL, client_id=EVIL) as writing:
        writing.init_transactions()
        writing.begin_transaction()
        evil = EVIL.encode()
        writing.send("hostile", evil, key=evil, headers=[(EVIL, evil)]).get(30)
        writing.send("hostile", b'{"<b>": "<i>"}', key=b"\0<script>", headers=[("", b"\xff")]).get(30)
        writing.commit_transaction()
        writing.begin_transaction()
        writing.send("hostile-too", evil).get(30)
        admin.alter_user_scram_credentials(
            [UserScramCredentialUpsertion(EVIL, ScramMechanism.SCRAM_SHA_256, "not to be seen")]
        )
        for kind, name in ((ResourceType.GROUP, EVIL), (ResourceType.TOPIC, "hostile")):
            rule = ACL(f"User:{EVIL}", "*", ACLOperation.READ, ACLPermissionType.ALLOW, ResourcePattern(kind, name))
            admin.create_acls([rule])
        with (
            KafkaConsumer(
                "hostile", bootstrap_servers=brokers, group_id=EVIL, client_id=EVIL, auto_offset_reset="earliest"
            ) as reader,
            KafkaShareConsumer(
                "hostile", bootstrap_servers=brokers, group_id=f"share {EVIL}", client_id=EVIL
            ) as sharer,
        ):
            ended = threading.Event()

            def stay() -> None:
                while not ended.is_set():
                    reader.poll(timeout_ms=100)
                    sharer.poll(timeout_ms=100)

            while not reader.poll(timeout_ms=200):
                pass
            reader.commit()
            staying = threading.Thread(target=stay)
            staying.start()
            yield
            ended.set()
            staying.join()
        writing.abort_transaction()


def addresses() -> list[str]:
    return [re.sub(r"\{(\w+)[^}]*\}", lambda found: PARTS[found[1]], page.path) for page in PAGES]


def test_nothing_anybody_wrote_becomes_part_of_a_page(program: Program) -> None:
    """From every address along every link, with what the address says repeated as badly."""
    bad = urlencode(
        dict.fromkeys(("q", "sort", "state", "name", "id", "from", "key", "longer", "at", "of", "file"), EVIL)
    )
    waiting = [*addresses(), *(f"{address}?{bad}" for address in addresses()), f"/topics/{quote(EVIL, safe='')}"]
    met: set[str] = set()
    foreign: list[tuple[str, str]] = []
    repeated = 0
    while waiting and len(met) < MOST_PAGES:
        address = waiting.pop(0)
        # One place of many that are alike is enough.
        if address in met or address.startswith("/static/"):
            continue
        met.add(address)
        answer = program.get(address)
        assert answer.status < 500 or answer.status == 503, (address, answer.text)
        if not answer.headers.get("content-type", "").startswith("text/html"):
            continue
        seen = Seen(answer.text)
        foreign += [(address, each) for each in seen.foreign]
        repeated += "&lt;script&gt;alert(1)" in answer.text
        waiting += [urljoin(address, link) for link in seen.links]
    assert foreign == []
    # It was there to be escaped: in the lists, on the pages of each thing, in what was asked for.
    assert repeated > 20
    assert "not to be seen" not in program.get("/users").text


def test_read_only_refuses_the_form_of_every_page(cluster: Cluster) -> None:
    with ConsoleProcess(cluster.bootstrap_servers, "--read-only") as console:
        program = Program(console.address)
        taken = set()
        for page, address in zip(PAGES, addresses(), strict=True):
            mark = program.mark("/topics/hostile/schemas")
            answer = program.post(address, {"mark": mark, "step": "apply", "confirm": "hostile"})
            if answer.status != 403:
                taken.add(page.path)
            else:
                assert "(--read-only)" in answer.text, address
    # A login, and a schema to read by, which the console alone keeps.
    assert taken == {page.path for page in PAGES if page.harmless}
    assert taken == {"/login", "/logout", "/topics/{name}/schemas"}


def test_no_page_is_shown_and_no_form_taken_before_the_login(cluster: Cluster, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("vltava at night\n")
    with ConsoleProcess(cluster.bootstrap_servers, "--login-file", str(secret)) as console:
        program = Program(console.address)
        mark = program.mark("/login")
        for page, address in zip(PAGES, addresses(), strict=True):
            if page.outside:
                continue
            for answer in (program.get(address), program.post(address, {"mark": mark, "confirm": "hostile"})):
                assert (answer.status, answer.headers["location"].partition("?")[0]) == (303, "/login"), address
                assert "hostile" not in answer.text


def test_forms_of_all_pages_want_the_mark(program: Program, admin: KafkaAdminClient) -> None:
    program.mark()
    for address in addresses():
        assert program.post(address, {"confirm": "hostile", "step": "apply"}).status == 403, address
    assert "hostile" in admin.list_topics()
    assert TopicPartition("hostile", 0) in admin.list_group_offsets({EVIL: None})[EVIL]
