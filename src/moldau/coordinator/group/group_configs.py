"""The settings of each group as they count now: its own, else the broker's, which may change while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from moldau.config.broker import BrokerConfig
from moldau.config.group import GroupConfig, effective_group_config
from moldau.metadata.image import ConfigsImage, MetadataImage

# Groups whose settings are kept worked out; those that have none of their own need not be.
_MOST_KEPT = 1000


class GroupConfigs:
    def __init__(self, broker: Callable[[], BrokerConfig], image: Callable[[], MetadataImage]) -> None:
        self._broker = broker
        self._image = image
        self._known_broker = broker()
        self._defaults = effective_group_config(self._known_broker, {})
        self._known: dict[str, tuple[Mapping[str, str], GroupConfig]] = {}
        # What was found last, as long as nobody has set anything.
        self._configs: ConfigsImage | None = None
        self._last: tuple[str, GroupConfig] = ("", self._defaults)

    def of(self, group_id: str) -> GroupConfig:
        broker, configs = self._broker(), self._image().configs
        if configs is not self._configs or broker is not self._known_broker or self._last[0] != group_id:
            self._last = group_id, self._find(group_id, broker, configs)
            self._configs = configs
        return self._last[1]

    def _find(self, group_id: str, broker: BrokerConfig, configs: ConfigsImage) -> GroupConfig:
        if broker is not self._known_broker:
            self._known_broker, self._defaults = broker, effective_group_config(broker, {})
            self._known.clear()
        overrides = configs.group(group_id)
        if not overrides:
            return self._defaults
        known = self._known.get(group_id)
        if known is None or known[0] is not overrides:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[group_id] = known = overrides, effective_group_config(broker, overrides)
        return known[1]
