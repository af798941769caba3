"""The tables of settings as a page for people: `docs/CONFIGURATION.md` is what `render` returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from moldau.config.client_metrics import CLIENT_METRICS_SETTINGS
from moldau.config.definition import Setting, settings_of
from moldau.config.group import GROUP_SETTINGS
from moldau.config.settings.coordinator import CoordinatorSettings
from moldau.config.settings.groups import GroupTypeSettings
from moldau.config.settings.inert import GUARDS, INERT, REFUSED
from moldau.config.settings.log import LogSettings
from moldau.config.settings.network import NetworkSettings
from moldau.config.settings.quorum import QuorumSettings
from moldau.config.settings.replication import ReplicationSettings
from moldau.config.settings.security import SecuritySettings
from moldau.config.settings.share import ShareCoordinatorSettings
from moldau.config.topic import TOPIC_SETTINGS

BROKER_SECTIONS: Final = (
    ("The node and its quorum", QuorumSettings),
    ("Listeners, connections, requests", NetworkSettings),
    ("Logs", LogSettings),
    ("Replication and quotas", ReplicationSettings),
    ("Groups, offsets, transactions", CoordinatorSettings),
    ("Share groups and streams groups", GroupTypeSettings),
    ("States of share groups", ShareCoordinatorSettings),
    ("Security", SecuritySettings),
)

_HEAD: Final = """\
# Settings

Generated from the tables in `src/moldau/config` by `python tools/generate_configuration.py`; change them there.

A node reads `server.properties` in Java's format, with the names, types, defaults and ranges of Apache Kafka 4.3. An
unknown name or a value that is not allowed ends the start with a sentence that names it. Settings for one listener are
written `listener.name.<name>.<setting>`.

"Update" says whether a setting may be changed while the broker runs: *read-only* not, *per-broker* for one broker at a
time, *cluster-wide* for one or for all. What is set at run time counts before the file, and what is set for one broker
before what is set for all.

A node whose file does not contain `process.roles` is standalone: broker and controller in one, a quorum of one that no
other node joins.
"""

_DURABILITY: Final = """\
## When is a record safe?

- By default an acknowledgement means that the record is in the page cache of the leader, and with `acks=all` of all
  in-sync replicas. It survives a killed process, and a machine that stops as long as another replica goes on.
- With `flush.ms`, or `flush.messages` greater than 1, the log is also forced to disk after that time or number of
  records.
- With `flush.messages=1` the record has been forced to disk before it is acknowledged (durable mode). Requests that
  wait share one fsync.
"""


def render() -> str:
    """The whole page."""
    lines = [_HEAD, _DURABILITY, "## Topic settings", ""]
    lines += _topic_table()
    lines += ["", "## Broker settings"]
    for title, table in BROKER_SECTIONS:
        lines += ["", f"### {title}", ""]
        lines += _broker_table(settings_of(table).values())
    lines += ["", "## Group settings", ""]
    lines += _topic_table(GROUP_SETTINGS.values())
    lines += ["", "## Settings of client metrics", ""]
    lines += _topic_table(CLIENT_METRICS_SETTINGS.values())
    lines += ["", "## Accepted, without effect here", ""]
    lines += [
        f"Kafka has these {len(INERT)} settings; a file that contains them is accepted. When one of them is set to",
        "something other than its default, the node says so. The same holds for those above with *No effect here*.",
        "",
    ]
    lines += _inert_table()
    lines += ["", "## Refused", ""]
    lines += ["| name | why |", "|---|---|"]
    lines += ["| `zookeeper.*` | they belong to ZooKeeper mode, and this node runs KRaft |"]
    lines += [f"| `{row.name}` | {row.refused} |" for row in GUARDS]
    lines += [f"| `{name}` | {reason} |" for name, reason in REFUSED.items()]
    return "\n".join(lines) + "\n"


def _topic_table(settings: Iterable[Setting[Any]] = TOPIC_SETTINGS.values()) -> Iterator[str]:
    yield "| name | type | default | allowed | broker setting | meaning |"
    yield "|---|---|---|---|---|---|"
    for row in _visible(settings):
        synonyms = ", ".join(f"`{name}`" for name in row.synonyms)
        yield f"| `{row.name}` | {row.kind.name} | {_default(row)} | {_allowed(row)} | {synonyms} | {row.meaning} |"


def _broker_table(settings: Iterable[Setting[Any]]) -> Iterator[str]:
    yield "| name | type | default | allowed | update | meaning |"
    yield "|---|---|---|---|---|---|"
    for row in _visible(settings):
        mode = row.update_mode.name.lower().replace("_", "-")
        yield f"| `{row.name}` | {row.kind.name} | {_default(row)} | {_allowed(row)} | {mode} | {row.meaning} |"


def _inert_table() -> Iterator[str]:
    yield "| name | type | default | why it has no effect |"
    yield "|---|---|---|---|"
    for row in INERT:
        yield f"| `{row.name}` | {row.kind.name} | {_default(row)} | {row.no_effect} |"


def _visible(settings: Iterable[Setting[Any]]) -> Iterator[Setting[Any]]:
    return (row for row in settings if not row.internal)


def _default(row: Setting[Any]) -> str:
    text = row.text(row.default)
    if row.name == "node.id":
        return ""
    return "" if text is None else "*empty*" if text == "" else f"`{text}`"


def _allowed(row: Setting[Any]) -> str:
    return "" if row.allowed is None else row.allowed.text
