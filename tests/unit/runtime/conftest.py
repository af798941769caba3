from __future__ import annotations

from collections.abc import Iterator

import pytest
from network_harness import Running

from moldau.runtime.readiness import available


@pytest.fixture(params=available())
def readiness_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way to ask who is ready that this system has, for the loops made in the test."""
    kind: str = request.param
    monkeypatch.setenv("MOLDAU_READINESS", kind)
    return kind


@pytest.fixture
def running(readiness_kind: str) -> Iterator[Running]:
    instance = Running()
    yield instance
    instance.close()
