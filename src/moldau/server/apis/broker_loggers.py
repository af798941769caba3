"""The levels of this process's loggers, shown and changed as Kafka's BROKER_LOGGER resource.

Not metadata: a level belongs to a running process and is gone with it. Names of levels are Kafka's; TRACE is what
comes below DEBUG, which Python has no word for.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.server.authorization import audit

_TRACE: Final = 5
_LEVELS: Final[Mapping[str, int]] = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": _TRACE,
}
_OURS: Final = "moldau"
# Off unless it is asked for: what is told of it does not depend on the level of the others.
_AUDIT: Final = audit.name
_ROOT: Final = "root"


def logger_levels() -> dict[str, str]:
    """Every logger of ours with the level that holds for it; `root` is Kafka's name for the one above all others."""
    names = [name for name in logging.Logger.manager.loggerDict if name.split(".")[0] == _OURS]
    names = [_ROOT, *sorted({_OURS, *names}), _AUDIT]
    return {name: _level_name(_logger(name).getEffectiveLevel()) for name in names}


def check_logger(name: str, level: str | None) -> None:
    """KafkaError if the logger does not exist or the level is not known; None takes the level back."""
    if name not in logger_levels():
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"There is no logger {name!r}.")
    if level is None:
        if _logger(name).name == _OURS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"The level of {name} cannot be removed, only set.")
    elif level.upper() not in _LEVELS:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"A logger's level is one of {', '.join(_LEVELS)}, not {level!r}.")


def set_logger(name: str, level: str | None) -> None:
    unset = logging.WARNING if name == _AUDIT else logging.NOTSET
    _logger(name).setLevel(unset if level is None else _LEVELS[level.upper()])


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(_OURS if name == _ROOT else name)


def _level_name(level: int) -> str:
    return next((name for name, least in _LEVELS.items() if level >= least), "TRACE")
