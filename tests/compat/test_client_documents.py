"""Every Python example in docs/clients, run as it stands there, each page against a node as its reader starts one. What
an example prints stands behind it in the page; `...` there is whatever differs from run to run."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from node_process import NodeProcess

from conftest import ELSEWHERE, ON_KAFKA
from moldau import KafkaConsumer, KafkaProducer

DOCUMENTS = Path(__file__).parents[2] / "docs" / "clients"
PAGES = sorted(DOCUMENTS.glob("*.md"))
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.fixture
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """No settings: what the pages promise holds for `moldau start` alone."""
    if ON_KAFKA or ELSEWHERE:
        yield request.getfixturevalue("bootstrap")
        return
    started = NodeProcess(tmp_path / "data")
    yield started.bootstrap
    started.kill()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if EXAMPLE.search(page.read_text())], ids=lambda page: page.stem
)
def test_examples_do_what_the_page_says(request: pytest.FixtureRequest, page: Path, tmp_path: Path) -> None:
    node = request.getfixturevalue("share_bootstrap" if page.stem == "share-consumer" else "node")
    for number, (example, printed) in enumerate(EXAMPLE.findall(page.read_text()), 1):
        code = example.replace("127.0.0.1:9092", node)
        command = [sys.executable, "-W", "error", "-c", code]
        if "\ndef test_" in code:
            # Tests are run as their reader would run them: by pytest, with the fixtures of the installed package.
            (tmp_path / "test_example.py").write_text(code)
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_example.py"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, cwd=tmp_path)
        where = f"example {number} of {page.name}"
        assert (done.returncode, done.stderr) == (0, ""), f"{where}\n{done.stdout}{done.stderr}"
        if "pytest" not in command:
            expected = re.escape(printed.replace("127.0.0.1:9092", node)).replace(re.escape("..."), ".*")
            assert re.fullmatch(expected, done.stdout), f"{where} prints\n{done.stdout}and the page says\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_printed_belongs_to_an_example(page: Path) -> None:
    """Else nobody would compare it with anything."""
    text = page.read_text()
    assert len(re.findall(r"^ *```text", text, re.MULTILINE)) == sum(
        1 for _, printed in EXAMPLE.findall(text) if printed
    )
    assert len(re.findall(r"^ *```python", text, re.MULTILINE)) == len(EXAMPLE.findall(text))


def test_clients_of_other_brokers_are_made_with_settings_there_are() -> None:
    """Examples that need TLS or a password stand indented, and are not run."""
    made = 0
    for page in PAGES:
        for call in re.findall(r"^    (Kafka\w+\((?:.*\)|\n(?:     .*\n)+    \)))$", page.read_text(), re.MULTILINE):
            parsed = ast.parse(textwrap.dedent(f"    {call}"), mode="eval").body
            assert isinstance(parsed, ast.Call)
            assert isinstance(parsed.func, ast.Name)
            client = {"KafkaProducer": KafkaProducer, "KafkaConsumer": KafkaConsumer}[parsed.func.id]
            assert {each.arg for each in parsed.keywords} <= client.DEFAULT_CONFIG.keys()
            made += 1
    assert made >= 2


def test_every_page_is_named_on_the_first() -> None:
    first = (DOCUMENTS / "README.md").read_text()
    assert [page.name for page in PAGES if f"({page.name})" not in first] == ["README.md"]
