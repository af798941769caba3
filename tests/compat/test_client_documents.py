"""Every page of docs/clients, read from its first block to the last, against a node as its reader starts one or, in
`make compat-kafka`, against Apache Kafka."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from conftest import ELSEWHERE, ON_KAFKA
from documents.fences import ROOT, Block, blocks
from documents.reader import Reader
from moldau import KafkaConsumer, KafkaProducer

DOCUMENTS = ROOT / "docs" / "clients"
PAGES = sorted(DOCUMENTS.glob("*.md"))


def starts_nodes(found: list[Block]) -> bool:
    return any("runs on" in block.flags for block in found)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(block.is_run for block in blocks(page))], ids=lambda page: page.stem
)
def test_a_reader_finds_what_the_page_says(request: pytest.FixtureRequest, page: Path, tmp_path: Path) -> None:
    found = blocks(page)
    elsewhere = None
    if page.stem == "share-consumer":
        elsewhere = request.getfixturevalue("share_bootstrap")
    elif ON_KAFKA or ELSEWHERE:
        if starts_nodes(found):
            pytest.skip("the page is about a cluster of ours")
        elsewhere = request.getfixturevalue("bootstrap")
    reader = Reader(tmp_path, *(block.text for block in found), bootstrap=elsewhere)
    try:
        for block in found:
            reader.read(block)
        reader.finish()
    finally:
        reader.close()


def test_clients_of_other_brokers_are_made_with_settings_there_are() -> None:
    """Examples that need what a test has not are not run."""
    made = 0
    for block in (block for page in PAGES for block in blocks(page) if block.language == "python" and block.reason):
        for call in (node for node in ast.walk(ast.parse(block.text)) if isinstance(node, ast.Call)):
            kinds = {"KafkaProducer": KafkaProducer, "KafkaConsumer": KafkaConsumer}
            if isinstance(call.func, ast.Name) and call.func.id in kinds:
                named = {each.arg for each in call.keywords}
                assert named <= kinds[call.func.id].DEFAULT_CONFIG.keys(), block
                made += 1
    assert made >= 2


def test_every_page_is_named_on_the_first() -> None:
    first = (DOCUMENTS / "README.md").read_text()
    assert [page.name for page in PAGES if f"({page.name})" not in first] == ["README.md"]
