"""Every block of every page is run, read by the program it is for, or says why not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from documents.comparison import compare
from documents.fences import ROOT, Block, blocks, pages, prose
from moldau.config.broker import BrokerConfig
from moldau.config.properties import parse_properties

PAGES = [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages()]
# What other programs read is at least well-formed, and settings of a node are those of a node that would start.
READ = ("properties", "yaml", "json")


def is_shown_by_a_run(block: Block, before: Block | None) -> bool:
    return block.language == "text" and block.follows and before is not None and before.is_run


def decoration(found: list[Block]) -> list[str]:
    return [
        str(block)
        for block, before in zip(found, [None, *found], strict=False)
        if not (
            block.is_run
            or block.reason
            or block.values.get("from")
            or block.language in READ
            or is_shown_by_a_run(block, before)
        )
    ]


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_mere_decoration(page: Path) -> None:
    """Neither run nor compared with what the block above prints; <!-- not run: REASON --> says why."""
    assert decoration(blocks(page)) == []


def test_decoration_is_noticed() -> None:
    page = ROOT / "README.md"
    assert decoration(blocks(page, "```sh\ntrue\n```\n\n```text\n```\n\n```python\n```\n")) == []
    assert decoration(blocks(page, "```sh\ntrue\n```\n\nprints\n\n```text\n```\n")) == ["README.md:7"]
    assert decoration(blocks(page, "```\ntrue\n```\n")) == ["README.md:1"]
    assert decoration(blocks(page, "<!-- not run: costs -->\n```sh\ntrue\n```\n```text\n```\n")) == ["README.md:5"]
    with pytest.raises(ValueError, match="nobody knows"):
        blocks(page, "<!-- not ran: costs -->\n```sh\ntrue\n```\n")


@pytest.mark.parametrize("page", PAGES)
def test_no_code_hides_in_an_indented_paragraph(page: Path) -> None:
    """Where nobody would find it to run it."""
    before = ""
    for number, line in enumerate(prose(page).splitlines(), 1):
        assert before.strip() or not line.startswith("    ") or not line.strip(), f"{page.name}:{number}: {line}"
        before = line


@pytest.mark.parametrize("block", [each for page in pages() for each in blocks(page) if each.language in READ], ids=str)
def test_what_other_programs_read_can_be_read(block: Block) -> None:
    if block.language == "json":
        json.loads(block.text)
    elif block.language == "yaml":
        yaml = pytest.importorskip("yaml", reason="the extra moldau[spark] brings it, which these tests can do without")
        found = yaml.safe_load(block.text)
        if "pipeline" in found:
            from moldau.spark.pipeline.document import parse_yaml
            from moldau.spark.pipeline.reading import read_tree

            read_tree(parse_yaml(block.text, "pipeline.yaml", {}), "pipeline.yaml")
    elif block.reason is None:
        BrokerConfig.parse({"log.dirs": "data", **parse_properties(block.text)})


def is_quoted_from(text: str, quoted: str) -> bool:
    """Whether the pieces between `...` stand in the text, in their order."""
    pieces = [re.escape(piece) for piece in re.split(r"^ *\.\.\.\n", quoted, flags=re.MULTILINE)]
    return re.search(r"(?:.*\n)*".join(pieces), text) is not None


@pytest.mark.parametrize("block", [each for page in pages() for each in blocks(page) if "from" in each.values], ids=str)
def test_what_is_quoted_stands_in_its_file(block: Block) -> None:
    assert is_quoted_from((ROOT / block.values["from"]).read_text(encoding="utf-8"), block.text)


def test_a_wrong_quotation_is_noticed() -> None:
    assert is_quoted_from("a\nb\nc\n", "a\n...\nc\n")
    assert not is_quoted_from("a\nb\nc\n", "c\n...\na\n")
    assert not is_quoted_from("a\nb\nc\n", "a\nc\n")


def test_blocks_that_are_not_run_are_few_and_listed() -> None:
    """`pytest -s` shows them."""
    found = [block for page in pages() for block in blocks(page)]
    left = [block for block in found if block.reason]
    print(f"{len(left)} of {len(found)} blocks of the pages are not run here:")
    for block in left:
        print(f"  {block}: {block.reason}")
    assert len(left) < len(found) / 4


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a\nb\n", "a\n"),
        ("a\n", "a\nb\n"),
        ("a\n...\n", "b\na\n"),
        ("b\na\n", "a\nb\n"),
        ("offset 17\n", "offset 18\n"),
    ],
)
def test_what_differs_is_noticed(shown: str, printed: str) -> None:
    with pytest.raises(AssertionError):
        compare(shown, printed)


def test_what_is_drawn_anew_does_not_count() -> None:
    compare(
        "id j06Ehbj9tajAFyn7gSsAyg at 2026-11-16T23:16:33.054Z\n...\nz\n",
        "id AAAAAAAAAAAAAAAAAAAAAA at 2031-01-01T00:00:00Z\nx\ny\nz\n",
    )
    compare("b\na ...\n", "a 12\nb\n", any_order=True)
