"""Connections to the brokers, made from the `kafka.*` options, and what else a process keeps from task to task.

A Python worker of Spark serves many tasks one after another. Connecting, agreeing on versions and asking for metadata
costs more than a small task itself, so a worker keeps what it opened. And what it imported: Spark has it collect
garbage after every task, which would look through all of that each time, 12 ms beside 3 ms for a task of few records.
"""

from __future__ import annotations

import gc
import sys

from moldau.client.backoff import Backoff
from moldau.client.cluster import Cluster
from moldau.links.addresses import AddressError, parse_bootstrap
from moldau.spark.options import OptionError, Options
from moldau.spark.security import security_options

_kept: dict[tuple[object, ...], Cluster] = {}
# So many modules there were when their objects were last taken out of the collector's sight.
_imported = 0


def open_cluster(options: Options) -> Cluster:
    """A blocking connection of its own; the caller closes it."""
    backoff = Backoff(
        options.setting("retry.backoff.ms", 100) / 1000, options.setting("retry.backoff.max.ms", 1000) / 1000
    )
    try:
        bootstrap = parse_bootstrap(options.kafka["bootstrap.servers"])
    except AddressError as error:
        raise OptionError(f"The option kafka.bootstrap.servers cannot be read: {error}") from error
    return Cluster(
        bootstrap,
        client_id=options.kafka.get("client.id", "moldau-spark"),
        timeout=options.setting("default.api.timeout.ms", 60_000, 1) / 1000,
        connect_timeout=options.setting("socket.connection.setup.timeout.ms", 10_000, 1) / 1000,
        backoff=backoff,
        security=security_options(options.kafka).open(),
    )


def kept_cluster(options: Options) -> Cluster:
    """The connection that this process keeps for these settings. For one thread; stays open after a task."""
    key = tuple(sorted(options.kafka.items()))
    cluster = _kept.get(key)
    if cluster is None:
        cluster = _kept[key] = open_cluster(options)
    return cluster


def forget_cluster(cluster: Cluster) -> None:
    """Closes a kept connection: somebody stopped in the middle of an answer, and the next one would read its rest."""
    for key in [key for key, kept in _kept.items() if kept is cluster]:
        del _kept[key]
    cluster.close()


def keep_imports() -> None:
    """At the end of a task, when all that it needs is there: with the first one, and when others have brought more."""
    from pyspark import TaskContext

    global _imported
    if TaskContext.get() is not None and len(sys.modules) > _imported:
        gc.collect()
        gc.freeze()
        _imported = len(sys.modules)
