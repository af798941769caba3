"""Broker settings that change while the broker runs: from the metadata log into the parts that use them."""

from __future__ import annotations

import logging
from collections.abc import Callable

from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage, ResourceType
from moldau.server.context import Services
from moldau.server.listener_tls import TlsListeners

logger = logging.getLogger("moldau.server")


class DynamicConfig:
    """A publisher: the file's settings, above them those of the cluster, above both those of this broker.

    No stored setting can keep a node from starting or end it: what does not go with the others is told and left out.
    """

    def __init__(
        self,
        static: BrokerConfig,
        services: Services,
        defaults_changed: Callable[[LogConfig], None] | None,
        tls: TlsListeners | None = None,
    ) -> None:
        self._defaults_changed = defaults_changed
        self._tls = tls
        self._static = static
        self._services = services
        self._told = set(static.remarks)

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        names = ("", str(self._static.node_id))
        if not any(delta.config_changed(ResourceType.BROKER, name) for name in names):
            return
        # The controller has checked them, but perhaps with another file beside it, or another version of the rules.
        stored = image.configs
        config, remarks = self._static.with_stored(stored.broker(None), stored.broker(self._static.node_id))
        for remark in remarks:
            logger.error("a stored setting of the broker: %s", remark)
        for remark in config.remarks:
            if remark not in self._told:
                logger.warning("%s", remark)
        self._told.update(config.remarks)
        self._services.config = config
        if self._tls is not None:
            self._tls.reconfigure(config)
        if self._defaults_changed is not None:
            self._defaults_changed(config.log_defaults())
