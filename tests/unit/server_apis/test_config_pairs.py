"""Every two settings that are checked together: whatever is stored, a node starts, says what it leaves out, and keeps
what counted before.

Which settings those are is not written down here but seen: each rule is run on a configuration that notes what the rule
reads of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from inspect import signature
from itertools import product
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from in_process_node import InProcessNode

from moldau.config import consistency
from moldau.config.alteration import update_mode
from moldau.config.broker import BROKER_SETTINGS, BrokerConfig
from moldau.config.definition import READ_ONLY, ConfigError, UpdateMode
from moldau.config.topic import TOPIC_SETTINGS, LogConfig, check_together, stored_topic_config, topic_config
from moldau.dataclass import replace
from moldau.errors import ErrorCode
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

TOPIC, BROKER = 2, 4
# What is tried of each setting, as far as it can be its value at all: the ends of ranges, and words of enumerations.
WORDS = ("9223372036854775807", "2147483647", "2000000", "100", "2", "1", "0", "-1", "compact", "classic", "/not/here")
# Those whose text has parts.
LISTENERS = {
    "listeners": ("PLAINTEXT://127.0.0.1:0", "SSL://127.0.0.1:0"),
    "advertised.listeners": ("PLAINTEXT://127.0.0.1:1", "SSL://127.0.0.1:1"),
    "listener.security.protocol.map": ("PLAINTEXT:PLAINTEXT,SSL:SSL", "A:PLAINTEXT"),
}
SETTINGS = {setting.attribute: setting.name for setting in BROKER_SETTINGS.values()}


class Noting:
    """A configuration, or a topic's, that remembers which settings were asked for."""

    def __init__(self, config: Any) -> None:
        self._config = config
        self.names: set[str] = set()

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return Fields(self)

    def __getattr__(self, name: str) -> Any:
        found = getattr(type(self._config), name, None)
        if isinstance(found, FunctionType):
            return partial(found, self)
        if isinstance(found, property):
            return found.__get__(self)
        self.names.add(name)
        return getattr(self._config, name)


class Fields:
    def __init__(self, noting: Noting) -> None:
        self._noting = noting

    def __getitem__(self, name: str) -> Any:
        return getattr(self._noting, name)


def settings_of(rule: Callable[[Any], object]) -> list[str]:
    noting = Noting(BrokerConfig.parse({}))
    rule(noting)
    return sorted(SETTINGS[name] for name in noting.names if name in SETTINGS)


def rules() -> dict[str, list[str]]:
    found = {
        name: settings_of(rule)
        for name, rule in vars(consistency).items()
        if name.startswith("_check_") and len(signature(rule).parameters) == 1  # others are parts of these
    }
    # What a rule makes of several settings before it looks at them, and those of listeners, which stand in one text.
    found["topics"] = settings_of(lambda config: check_together(config.log_defaults()))
    found["listeners"] = list(LISTENERS)
    return found


@cache
def values_of(name: str) -> tuple[str, ...]:
    if name in LISTENERS:
        return LISTENERS[name]
    accepted = [text for text in WORDS if fits(name, text)]
    # The largest, some that lie between, and the smallest: rules compare.
    return tuple(dict.fromkeys([*accepted[:1], *accepted[2:4], *accepted[-2:]]))


def fits(name: str, text: str) -> bool:
    try:
        BROKER_SETTINGS[name].parse(text)
    except ConfigError:
        return False
    return True


def is_dynamic(name: str) -> bool:
    return update_mode(name) is not READ_ONLY


@cache
def file_with(name: str, text: str) -> BrokerConfig | None:
    """What a node has that was started with this; None if it does not start."""
    try:
        return BrokerConfig.parse({name: text})
    except ConfigError:
        return None


@cache
def is_wrong_alone(name: str, text: str) -> bool:
    return file_with(name, text) is None


def pairs() -> Iterator[tuple[str, str, str, str]]:
    """File and stored setting, each with a value that is right where it stands alone."""
    seen = set()
    for names in rules().values():
        for file, stored in product(names, filter(is_dynamic, names)):
            if file != stored and (file, stored) not in seen:
                seen.add((file, stored))
                for old, new in product(values_of(file), values_of(stored)):
                    if not is_wrong_alone(file, old) and not is_wrong_alone(stored, new):
                        yield file, old, stored, new


def together(file: str, old: str, stored: str, new: str) -> bool:
    static = file_with(file, old)
    assert static is not None
    try:
        static.with_dynamic({stored: new}, {})
    except ConfigError:
        return False
    return True


ALL = list(pairs())
# Of each two names the first values that contradict each other.
WRONG = {(file, stored): (old, new) for file, old, stored, new in reversed(ALL) if not together(file, old, stored, new)}
WRONG_ALONE = {
    stored: new
    for _, names in rules().items()
    for stored in names
    if is_dynamic(stored)
    for new in values_of(stored)
    if is_wrong_alone(stored, new)
}


def test_the_rules_are_seen() -> None:
    """Those that are known to be there: else nothing below would look at anything."""
    threads, buffer = "log.cleaner.threads", "log.cleaner.dedupe.buffer.size"
    low, high = "log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"
    assert {(threads, buffer), (buffer, threads), (low, high), (high, low)} <= WRONG.keys()
    assert {"log.roll.ms", "log.retention.ms", "cordoned.log.dirs", "max.connections.per.ip"} <= WRONG_ALONE.keys()
    assert len(ALL) > 1000


def test_whatever_is_stored_beside_whatever_file_counts_or_is_left_out() -> None:
    for file, old, stored, new in ALL:
        static = file_with(file, old)
        assert static is not None
        attribute = BROKER_SETTINGS[stored].attribute
        for layers in (({stored: new}, {}), ({}, {stored: new})):
            config, remarks = static.with_stored(*layers)
            if together(file, old, stored, new):
                assert not remarks
                assert getattr(config, attribute) == BROKER_SETTINGS[stored].parse(new)
            else:
                assert [remark.partition("=")[0] for remark in remarks] == [stored]
                assert getattr(config, attribute) == getattr(static, attribute)


@pytest.mark.parametrize("name", WRONG_ALONE)
def test_what_is_wrong_alone_is_left_out_too(name: str) -> None:
    static, attribute = BrokerConfig.parse({}), BROKER_SETTINGS[name].attribute
    config, remarks = static.with_stored({name: WRONG_ALONE[name]}, {"log.segment.bytes": "2000000"})
    assert len(remarks) == 1
    assert getattr(config, attribute) == getattr(static, attribute)
    assert config.log_segment_bytes == 2_000_000


# ------------------------------------------------------------------------------------------------------- of topics


def topic_pairs() -> list[tuple[str, str]]:
    noting = Noting(LogConfig())
    check_together(noting)  # type: ignore[arg-type]
    names = [name for name, setting in TOPIC_SETTINGS.items() if setting.attribute in noting.names]
    return [(own, inherited) for own, inherited in product(names, names) if own != inherited]


@pytest.mark.parametrize(("own", "inherited"), topic_pairs())
def test_a_topic_s_own_setting_stands_beside_whatever_it_inherits(own: str, inherited: str) -> None:
    wrong = 0
    for mine, default in product(("1", "100", "9223372036854775807"), repeat=2):
        defaults = replace(LogConfig(), **{TOPIC_SETTINGS[inherited].attribute: int(default)})
        config, remarks = stored_topic_config(defaults, {own: mine})
        check_together(config)
        assert getattr(config, TOPIC_SETTINGS[own].attribute) == int(mine)
        try:
            topic_config(defaults, {own: mine})
        except ConfigError:
            wrong += 1
            assert remarks
        else:
            assert not remarks
    assert wrong


# -------------------------------------------------------------------------------------------------- nodes that start


def alter(node: InProcessNode, kind: int, name: str, setting: str, value: str) -> int:
    configs = [AlterableConfig(name=setting, config_operation=0, value=value)]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    answer = node.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1, IncrementalAlterConfigsResponse)
    error: int = answer.responses[0].error_code
    return error


@pytest.mark.parametrize(("file", "stored"), WRONG)
def test_a_node_starts_with_a_file_that_contradicts_what_is_stored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, file: str, stored: str
) -> None:
    if file in LISTENERS or stored in LISTENERS:
        pytest.skip("the node of this test listens where it does")
    old, new = WRONG[file, stored]
    name = "1" if update_mode(stored) is UpdateMode.PER_BROKER else ""
    node = InProcessNode(tmp_path, compiled=True)
    assert alter(node, BROKER, name, stored, new) == 0
    node.close()
    again = InProcessNode(tmp_path, compiled=True, settings={file: old})
    attribute = BROKER_SETTINGS[stored].attribute
    assert getattr(again.node.services.config, attribute) == getattr(BrokerConfig.parse({file: old}), attribute)
    assert f"{stored}={new} is not taken over" in caplog.text
    again.create_topic("orders")
    # And it is not let in a second time.
    assert alter(again, BROKER, name, stored, new) == ErrorCode.INVALID_REQUEST
    again.close()


@pytest.mark.parametrize(("own", "inherited"), topic_pairs())
def test_a_topic_that_contradicts_what_is_set_for_all_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, own: str, inherited: str
) -> None:
    mine, default = ("2000", "1000") if "min" in own else ("1000", "2000")
    node = InProcessNode(tmp_path, compiled=True)
    node.create_topic("orders", **{own: mine})
    assert alter(node, BROKER, "", f"log.cleaner.{inherited}", default) == 0
    node.close()
    caplog.clear()
    again = InProcessNode(tmp_path, compiled=True)
    config = again.node.replicas.get("orders", 0).log.config
    assert getattr(config, TOPIC_SETTINGS[own].attribute) == int(mine)
    assert "a stored setting of the topic orders" in caplog.text
    again.create_topic("others")
    others = again.node.replicas.get("others", 0).log.config
    assert getattr(others, TOPIC_SETTINGS[inherited].attribute) == int(default)
    again.close()
