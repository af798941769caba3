"""Settings from the environment, under the names that Apache Kafka's image gives them: KAFKA_NUM_PARTITIONS is
num.partitions. Two underscores stand for one, three for a hyphen. CLUSTER_ID is the cluster's id there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from moldau.cli.failure import USAGE, Failure

_CLUSTER_ID: Final = "CLUSTER_ID"
_PREFIX: Final = "KAFKA_"
_STANDS_FOR: Final = {1: ".", 2: "_", 3: "-"}
# They are for Java and for its logging, and mean nothing here. Files that were written for the other image keep them.
_FOR_JAVA: Final = frozenset(
    f"{_PREFIX}{name}"
    for name in (
        "GC_LOG_OPTS", "HEAP_OPTS", "JMX_HOSTNAME", "JMX_OPTS", "JMX_PORT", "JVM_PERFORMANCE_OPTS", "LOG4J_LOGGERS",
        "LOG4J_OPTS", "LOG4J_ROOT_LOGLEVEL", "OPTS", "TOOLS_LOG4J_LOGLEVEL", "VERSION",
    )
)  # fmt: skip


def environment_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Failure if one of them is not text."""
    return {
        _setting(name): _text(name, value)
        for name, value in environment.items()
        if name.startswith(_PREFIX) and name not in _FOR_JAVA and name != _PREFIX
    }


def cluster_id(environment: Mapping[str, str]) -> str | None:
    return _text(_CLUSTER_ID, environment.get(_CLUSTER_ID, "")).strip() or None


def _text(name: str, value: str) -> str:
    # Python keeps bytes that are not UTF-8 as halves of surrogate pairs.
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Failure(f"The value of {name} is not text in UTF-8.", USAGE) from None
    return value


def _setting(variable: str) -> str:
    name = variable.removeprefix(_PREFIX).lower()
    return re.sub("_+", lambda found: _STANDS_FOR.get(len(found[0]), found[0]), name)
