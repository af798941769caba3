"""No silent setting: whatever a table does not mark as without effect or refused is read by the code that runs.

Looked up in the source: a setting counts as read where an attribute of its name is taken from something called a config
on the server side. The rules between settings (`consistency`) and what only shows or stores them do not count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from moldau.config.broker import BROKER_SETTINGS
from moldau.config.group import GROUP_SETTINGS
from moldau.config.topic import TOPIC_SETTINGS, LogConfig

SOURCE = Path(__file__).resolve().parents[3] / "src" / "moldau"
ROOMS = (
    "node",
    "server",
    "security",
    "replica",
    "coordinator",
    "controller",
    "raft",
    "storage",
    "metadata",
    "cli/start.py",
)

# What holds settings is called so, whatever it stands on: `config`, `self._config()`, `log.config`, `configs.broker`.
_HOLDER = re.compile(r"(?:.*[._])?(?:config|static|limits|broker)(?:\(\))?|type\(.*config\)|kind")


def attributes_read(path: Path, holder: re.Pattern[str] = _HOLDER) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and holder.fullmatch(ast.unparse(node.value)):
            yield node.attr


def server_side() -> Iterator[Path]:
    for room in ROOMS:
        place = SOURCE / room
        yield from sorted(place.rglob("*.py")) if place.is_dir() else [place]


def read_by_the_server() -> set[str]:
    return {name for path in server_side() for name in attributes_read(path)}


def read_for_groups() -> set[str]:
    """A group's settings fall back to the broker's and lie within its limits, both looked up by name."""
    names = {"group_streams_max_standby_replicas"}
    for row in GROUP_SETTINGS.values():
        kind, _, name = row.attribute.partition("_")
        if row.no_effect is None:
            names |= {f"group_{kind}_{side}{name}" for side in ("", "min_", "max_")}
    return names


def test_every_broker_setting_is_read_or_marked() -> None:
    # What BrokerConfig makes of its own settings (endpoints, directories, defaults of topics) is seen in the next test.
    completed = set(attributes_read(SOURCE / "config" / "broker.py", re.compile("self")))
    read = read_by_the_server() | completed | read_for_groups()
    effective = {row.attribute for row in BROKER_SETTINGS.values() if row.no_effect is None and row.refused is None}
    # The log manager takes this one up together with its first retention pass.
    read.add("log_initial_task_delay_ms")
    assert sorted(effective - read) == [], "nobody reads them: mark them in the table, or read them"
    assert sorted(row.name for row in BROKER_SETTINGS.values() if row.attribute in read - effective) == [], (
        "they are read after all: take the mark from the table"
    )


def test_what_broker_settings_become_is_read() -> None:
    config = ast.parse((SOURCE / "config" / "broker.py").read_text(encoding="utf-8"))
    [table] = [node for node in config.body if isinstance(node, ast.ClassDef) and node.name == "BrokerConfig"]
    derived = {
        node.target.id for node in table.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    # `listener_protocols` is where endpoints take their protocol from; nobody asks a controller for its address yet.
    derived -= {"listener_protocols", "advertised_controller_endpoints"}
    assert sorted(derived - read_by_the_server()) == []


def test_every_topic_setting_is_read_or_marked() -> None:
    by_itself = set(attributes_read(SOURCE / "config" / "topic.py", re.compile("self")))
    read = read_by_the_server() | by_itself
    assert sorted(set(LogConfig.__match_args__) - read) == []
    effective = {row.attribute for row in TOPIC_SETTINGS.values() if row.no_effect is None and not row.internal}
    assert effective - {"cleanup_policy"} <= set(LogConfig.__match_args__)
