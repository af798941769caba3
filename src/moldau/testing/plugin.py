"""The pytest plugin: fixture `moldau`, a cluster for every test that names it.

One cluster serves the whole run, because tests that use topics of their own do not disturb each other. A test that
kills or pauses nodes takes `moldau_cluster` instead: a function that starts clusters only this test knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from moldau.testing.cluster import Cluster


@pytest.fixture(scope="session")
def moldau() -> Iterator[Cluster]:
    """A running cluster; `moldau.bootstrap_servers` is its address."""
    with Cluster() as cluster:
        yield cluster


@pytest.fixture
def moldau_cluster() -> Iterator[Callable[..., Cluster]]:
    """Starts clusters that end with the test: `moldau_cluster(proxied=True)`. Arguments as for `Cluster`."""
    started: list[Cluster] = []

    def start(*arguments: Any, **options: Any) -> Cluster:
        cluster = Cluster(*arguments, **options)
        started.append(cluster)
        return cluster

    yield start
    for cluster in started:
        cluster.close()
