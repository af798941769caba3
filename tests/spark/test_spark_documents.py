"""Every page of docs/spark, read from its first block to the last.

Python runs on the session that all tests here share, with the names `spark` and, for pages that write one, `frame`; so
do commands that would start a session for a moment.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest

from documents.fences import ROOT, blocks
from documents.reader import Reader
from moldau.cli.main import main

DOCUMENTS = ROOT / "docs" / "spark"
PAGES = sorted(DOCUMENTS.glob("*.md"))
ON_SPARK = ("moldau history", "moldau pipeline run")
# Places of a server, which a page may name, and where they are here.
PLACES = {"/checkpoints/": "checkpoints/", "/var/lib/moldau/data": "data"}


class SparkReader(Reader):
    def __init__(self, spark: Any, directory: Path, *texts: str) -> None:
        super().__init__(directory, *texts)
        self._names = {"spark": spark, "frame": spark.createDataFrame([("cz", "vltava")], "key string, value string")}

    def _here(self, text: str) -> str:
        for place, name in PLACES.items():
            text = text.replace(place, f"{self.directory / name}{'/' if place.endswith('/') else ''}")
        return super()._here(text)

    def _program(self, text: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(text, self._names)
        for query in self._names["spark"].streams.active:
            query.processAllAvailable()
            query.stop()
        return printed.getvalue()

    def _command(self, text: str, *, fails: bool = False) -> str:
        """Line by line where there is one that would start a session of its own: it takes the one there is."""
        if not any(line.startswith(ON_SPARK) for line in text.splitlines()):
            return super()._command(text, fails=fails)
        return "".join(
            self._in_process(line, fails=fails)
            if line.startswith(ON_SPARK)
            else super(SparkReader, self)._command(line)
            for line in text.splitlines()
        )

    def _in_process(self, line: str, *, fails: bool) -> str:
        printed, complained = io.StringIO(), io.StringIO()
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complained):
                status = main(shlex.split(self._here(line))[1:])
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        said = printed.getvalue() + complained.getvalue()
        assert (status != 0) == fails, f"status {status} of\n{line}\n{said}"
        return said if fails else printed.getvalue()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(block.is_run for block in blocks(page))], ids=lambda page: page.stem
)
def test_a_reader_finds_what_the_page_says(
    spark: Any, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(type(spark), "stop", lambda session: None)  # the commands' own is everybody's here
    found = blocks(page)
    reader = SparkReader(spark, tmp_path, *(block.text for block in found))
    try:
        reader.start_node()
        for name in ("MOLDAU_BOOTSTRAP", "BOOTSTRAP"):
            monkeypatch.setenv(name, reader.environment()[name])
        for block in found:
            reader.read(block)
        reader.finish()
    finally:
        reader.close()


def test_every_option_is_in_the_table() -> None:
    from moldau.spark.options import OPTIONS

    text = (DOCUMENTS / "options.md").read_text()
    spark_s_own = {"checkpointLocation", "queryName"}
    assert [name for name in OPTIONS if f"`{name}`" not in text and name not in spark_s_own] == []


def test_places_of_a_server_are_not_those_of_this_machine() -> None:
    assert not any(os.path.exists(place) for place in PLACES)
