"""The layout of a batch is written down twice, for Python and for C."""

from __future__ import annotations

import re
from pathlib import Path

from moldau._speed import layout


def test_both_say_the_same() -> None:
    header = Path(layout.__file__).with_name("layout.h").read_text()
    compiled = {name: int(value, 0) for name, value in re.findall(r"^ +([A-Z_]+) = (\w+)", header, re.MULTILINE)}
    assert compiled == {name: value for name, value in vars(layout).items() if name.isupper() and type(value) is int}
