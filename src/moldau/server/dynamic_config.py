"""Broker settings that change while the broker runs: from the metadata log into the parts that use them."""

from __future__ import annotations

import logging

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage, ResourceType
from moldau.server.context import Services

logger = logging.getLogger("moldau.server")


class DynamicConfig:
    """A publisher: the file's settings, above them those of the cluster, above both those of this broker."""

    def __init__(self, static: BrokerConfig, services: Services) -> None:
        self._static = static
        self._services = services
        self._told = set(static.remarks)

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        names = ("", str(self._static.node_id))
        if not any(delta.config_changed(ResourceType.BROKER, name) for name in names):
            return
        try:
            config = self._static.with_dynamic(image.configs.broker(None), image.configs.broker(self._static.node_id))
        except ConfigError as error:
            # The controller has checked them, but perhaps with another version of the rules.
            logger.error("the dynamic settings of the broker are not taken over: %s", error)
            return
        for remark in config.remarks:
            if remark not in self._told:
                logger.warning("%s", remark)
        self._told.update(config.remarks)
        self._services.config = config
        self._services.replicas.defaults_changed(config.log_defaults())
