"""The pages name what is there: headings, files, commands with their options, settings, variables. (That
metrics have the names of docs/operating/metrics.md is asked of a node: `tests/compat/test_metrics_documents.py`.)"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from documents.fences import ROOT, blocks, pages, prose
from moldau import KafkaConsumer, KafkaProducer
from moldau.cli.main import COMMANDS, build_parser
from moldau.client.properties import SECURITY_PROPERTIES
from moldau.config.broker import BROKER_SETTINGS
from moldau.config.group import GROUP_SETTINGS
from moldau.config.topic import TOPIC_SETTINGS
from moldau.metadata.features import FEATURES
from moldau.spark.options import OPTIONS

SOURCE = ROOT / "src" / "moldau"
PAGES = [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages()]
QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def quoted(page: Path) -> list[str]:
    return QUOTED.findall(prose(page))


# ------------------------------------------------------------------------------------------------------------ headings


@cache
def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_headings_that_are_there(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", prose(page)):
        if "://" not in target:
            assert anchor in anchors((page.parent / target).resolve() if target else page), f"{target}#{anchor}"


# --------------------------------------------------------------------------------------------------------------- files

TOP = ("src", "tests", "docs", "bench", "tools", "demo", "deploy", "requirements", "moldau")
ROOMS = tuple(sorted(path.name for path in SOURCE.iterdir() if path.is_dir()))
IN_A_ROOM = re.compile(rf"(?:{'|'.join((*TOP, *ROOMS))})/[\w./*-]*\w[/*]?")


def exists(name: str) -> bool:
    name = name.removeprefix("src/").rstrip("/")
    places = [ROOT, ROOT / "src", SOURCE]
    return any(any(place.glob(name)) or any(place.glob(f"{name}.py")) for place in places)


@pytest.mark.parametrize("page", PAGES)
def test_files_are_there(page: Path) -> None:
    named = [word for word in quoted(page) if IN_A_ROOM.fullmatch(word)]
    assert [name for name in named if not exists(name)] == []


# ------------------------------------------------------------------------------------------------------------ commands


@cache
def command(name: str) -> argparse.ArgumentParser:
    return subcommands(build_parser(name, alone=True))[name]


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def flags(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings}


def is_known(words: list[str]) -> bool:
    """Whether `moldau WORDS` is a command there is, with options that it has, as far as it is written out."""
    if not words or words[0].startswith("-") or words[0].isupper():
        return True
    if words[0] not in COMMANDS:
        return False
    parser, left = command(words[0]), words[1:]
    below = subcommands(parser)
    if below and left and not left[0].startswith("-"):
        names = left[0].split("|")
        if not set(names) <= below.keys():
            return False
        parser, left = below[names[0]], left[1:]
    known = flags(parser)
    return all(word.partition("=")[0] in known for word in left if word.startswith("-") and word.strip("-"))


def commands(text: str) -> Iterator[list[str]]:
    """What follows `moldau` in each command of a shell's text."""
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        words = list(shlex.shlex(line, posix=True, punctuation_chars=True)) if "moldau" in line else []
        for number, word in enumerate(words):
            if word == "moldau" and (number == 0 or words[number - 1] in ("|", "&&", ";", "$", "exec")):
                yield upto_operator(words[number + 1 :])


def upto_operator(words: list[str]) -> list[str]:
    ends = [number for number, word in enumerate(words) if set(word) <= set("|&;<>()") and word]
    return words[: ends[0]] if ends else words


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_there_and_have_their_options(page: Path) -> None:
    found = [words for block in blocks(page) if block.language == "sh" for words in commands(block.text)]
    found += [re.split(r"\s+", word)[1:] for word in quoted(page) if re.match(r"moldau [a-z]", word)]
    assert [" ".join(words) for words in found if not is_known(words)] == []


@pytest.mark.parametrize("words", ["rivers list", "topics lists", "topics list --bootstraps", "start --liste"])
def test_commands_that_are_not_there_are_noticed(words: str) -> None:
    assert not is_known(words.split())
    assert is_known(["topics", "create", "NAME", "--partitions", "3"])


# ------------------------------------------------------------------------------------------------------------ settings

SETTINGS = {
    *BROKER_SETTINGS, *TOPIC_SETTINGS, *GROUP_SETTINGS, *SECURITY_PROPERTIES, *FEATURES, *OPTIONS,
    *(name.replace("_", ".") for name in (KafkaConsumer.DEFAULT_CONFIG | KafkaProducer.DEFAULT_CONFIG)),
}  # fmt: skip
FAMILIES = {name.split(".")[0] for name in SETTINGS if name.count(".") > 1}
SETTING = re.compile(r"[a-z]+(?:\.[a-z0-9-]+){2,}")
OF_OTHERS = {
    "kafka.authorizer.logger": "a logger",
    "kafka.partitioner.murmur2": "a function of kafka-python",
    "kafka.interceptor.classes": "refused, as the page says",
    "log.message.timestamp.difference.max.ms": "gone from Kafka, as the page says",
    "socket.timeout.ms": "librdkafka's",
    "kafka.default.api.timeout.ms": "of Kafka's consumer; our source in Spark knows it",
}


@pytest.mark.parametrize("page", PAGES)
def test_settings_are_there(page: Path) -> None:
    named = {name for word in quoted(page) if SETTING.fullmatch(name := word.partition("=")[0])} - OF_OTHERS.keys()
    plain = {re.sub(r"^(listener\.name\.[^.]+|kafka)\.", "", name) for name in named - SETTINGS}
    assert sorted(name for name in plain - SETTINGS if name.split(".")[0] in FAMILIES) == []


# ----------------------------------------------------------------------------------------------------------- variables


@cache
def source(*rooms: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for room in rooms for path in sorted((ROOT / room).rglob("*.py")))


@pytest.mark.parametrize("page", PAGES)
def test_variables_are_looked_at(page: Path) -> None:
    named = re.findall(r"\bMOLDAU_[A-Z_]+", page.read_text(encoding="utf-8"))
    here = source("src", "tests", "tools") + (ROOT / "Makefile").read_text(encoding="utf-8")
    assert sorted({name for name in named if f'"{name}"' not in here and f"{name}=" not in here}) == []
