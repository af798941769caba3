"""Tables for people."""

from __future__ import annotations

import pytest

from moldau.cli.table import print_table


def test_columns_are_aligned_numbers_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["NAME", "COUNT", "OPEN"], [["a", 5, True], ["longer", None, False], ["multi\nline", 1234, True]])
    assert capsys.readouterr().out.splitlines() == [
        "NAME        COUNT  OPEN",
        "a               5  yes",
        "longer          -  no",
        "multi line   1234  yes",
    ]


def test_lists_and_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["IDS"], [[[1, 2]], [()]], indent="  ")
    assert capsys.readouterr().out == "  IDS\n  1,2\n  -\n"
    print_table(["EMPTY"], [])
    assert capsys.readouterr().out == "EMPTY\n"
