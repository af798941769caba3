from __future__ import annotations

from collections.abc import Iterator

import pytest
from network_harness import Running


@pytest.fixture
def running() -> Iterator[Running]:
    instance = Running()
    yield instance
    instance.close()
