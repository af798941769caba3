"""The templates, and how figures read in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from time import time
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from moldau import __version__
from moldau.console.charts import bar, curve, sparkline
from moldau.console.views import hidden, visible
from moldau.quantities import counted, format_size, format_time

PLACE: Final = Path(__file__).parent

# Stands where a figure is not known.
UNKNOWN: Final = "\N{EN DASH}"

# A field of many lines as a whole, or the words between two tags: in them, and within tags, < and > are escaped.
_WORDS: Final = re.compile(r"<textarea[^>]*>[^<]*|>[^<]+")


class Templates:
    def __init__(self) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(PLACE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters.update(
            count=count, size=size, rate=rate, moment=moment, ago=ago, duration=duration, query=query, visible=visible
        )
        self._environment.globals.update(
            sparkline=sparkline, curve=curve, bar=bar, counted=counted, static=_statics(), version=__version__
        )

    def render(self, name: str, context: Mapping[str, Any]) -> str:
        return _readable(self._environment.get_template(name).render(context))


def _readable(page: str) -> str:
    """The same with pictures for letters that deceive, wherever a person reads: names of groups, clients and users are
    chosen by anybody. What fields hold, and addresses, stay exact."""
    pictures = {ord(letter): visible(letter) for letter in set(page) if hidden(letter)}
    if not pictures:
        return page
    return _WORDS.sub(lambda found: found[0].translate(pictures) if found[0].startswith(">") else found[0], page)


def _statics() -> dict[str, str]:
    """Addresses of what is sent once: they change with the content, so a browser may keep it."""
    return {
        path.name: f"/static/{path.name}?{sha256(path.read_bytes()).hexdigest()[:12]}"
        for path in sorted((PLACE / "static").iterdir())
        if path.is_file()
    }


def count(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}"


def size(value: int | None) -> str:
    return UNKNOWN if value is None or value < 0 else format_size(value)


def rate(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}/s" if value >= 10 or value == 0 else f"{value:.1f}/s"


def moment(milliseconds: float) -> str:
    return format_time(round(milliseconds))


def ago(seconds_since_1970: float) -> str:
    return duration(max(0.0, time() - seconds_since_1970))


def duration(seconds: float) -> str:
    for limit, unit, name in ((172_800, 86_400, "d"), (7200, 3600, "h"), (120, 60, "min")):
        if seconds >= limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"


def query(parameters: Mapping[str, object]) -> str:
    return urlencode({name: str(value) for name, value in parameters.items()})
