"""Brokers and replicas as the clients of one listener see them."""

from __future__ import annotations

from collections.abc import Iterator

from moldau.metadata.image import BrokerRegistration, Endpoint, MetadataImage, PartitionRegistration
from moldau.server.context import RequestContext


def alive_brokers(
    image: MetadataImage, listener: str, *, include_fenced: bool = False
) -> Iterator[tuple[BrokerRegistration, Endpoint]]:
    """The brokers that can be reached over the listener, and where."""
    for broker in image.cluster.brokers.values():
        endpoint = broker.listeners.get(listener)
        if endpoint is not None and (include_fenced or not broker.fenced):
            yield broker, endpoint


def any_broker(context: RequestContext, image: MetadataImage) -> int:
    """Who clients take for the controller. Under KRaft that is any living broker: it passes requests on to the real
    one, which clients cannot reach."""
    alive = [broker.id for broker in image.cluster.alive()]
    return alive[context.services.runtime.random.below(len(alive))] if alive else -1


def offline_replicas(image: MetadataImage, state: PartitionRegistration, listener: str) -> list[int]:
    """The replicas whose broker cannot be reached, or whose disk is gone."""
    brokers = image.cluster.brokers
    offline = []
    for replica, directory in zip(state.replicas, state.directories, strict=True):
        broker = brokers.get(replica)
        if (
            broker is None
            or broker.fenced
            or listener not in broker.listeners
            or not broker.has_online_directory(directory)
        ):
            offline.append(replica)
    return offline
