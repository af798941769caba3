"""The log of a node on standard error: lines for people, or a line of JSON for each entry.

What clients choose (their ids, names of groups and topics, what is wrong with their requests) stands in it as they
chose it. So nothing in an entry can end a line or move a cursor: control characters are shown as escapes, and what
follows the first line of an entry, a traceback, is set in.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig

FORMS: Final = ("text", "json")

logger = logging.getLogger("moldau")

_TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_SET_IN: Final = "    "
# What is known of an entry beside its sentence, where it is about a request: see `server.connection`.
_ABOUT: Final = ("connection", "listener", "client_id", "principal", "api", "correlation_id", "took_ms")


def begin(level: str, form: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else Lines(_TEXT))
    logging.basicConfig(handlers=[handler], level=level.upper())


def escaped(text: str) -> str:
    """On one line, whatever it holds."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)


class Lines(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:
        return escaped(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return _set_in(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _set_in(super().formatStack(stack_info))


def _set_in(text: str) -> str:
    # Only what Python itself takes for the end of a line stays one.
    return "\n".join(_SET_IN + escaped(line) for line in text.split("\n"))


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        entry: dict[str, Any] = {
            "time": f"{at}.{int(record.msecs):03}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {name: getattr(record, name) for name in _ABOUT if getattr(record, name, None) is not None}
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        # In ASCII: no letter of it can end a line, anywhere.
        return json.dumps(entry, default=str)


# -------------------------------------------------------------------------------------------------------- at the start


def tell_start(config: BrokerConfig) -> None:
    """What somebody who reads the log of a night wants to know first."""
    from moldau import __version__, _speed

    kernels = "compiled kernels" if _speed.COMPILED else "no compiled kernels"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    logger.info("moldau %s on %s (%s), node %d, process %d", __version__, python, kernels, config.node_id, os.getpid())
    for path in config.log_directories:
        logger.info("data directory %s: %s", path, _last_stop(path))
    for setting in _settings(config):
        logger.info("setting %s", setting)


def _last_stop(path: str) -> str:
    from moldau.storage.log_dirs import CLEAN_SHUTDOWN, META_PROPERTIES

    if not os.path.exists(os.path.join(path, META_PROPERTIES)):
        return "new"
    if os.path.exists(os.path.join(path, CLEAN_SHUTDOWN)):
        return "the last stop was in order"
    return "the last stop was not in order"


def _settings(config: BrokerConfig) -> Iterator[str]:
    """Those that are not what they would be by themselves; secrets by their names."""
    from moldau.config.broker import BROKER_SETTINGS
    from moldau.config.description import describe_broker

    for each in describe_broker(config, names=set(config.originals)):
        known = BROKER_SETTINGS.get(each.name)
        if each.sensitive or each.value is None:
            yield f"{each.name} is set, and not shown"
        elif known is None or each.value != known.text(known.default):
            yield f"{each.name}={each.value}"
