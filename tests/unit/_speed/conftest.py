"""Both twins of the kernels, under the same names."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from moldau._speed import reference


def _compiled() -> Any:
    try:
        modules = [
            import_module(f"moldau._speed.{name}")
            for name in ("codec", "records", "writer", "columns", "compaction", "lookup", "counts")
        ]
    except ImportError:
        pytest.skip("the kernels are not compiled")
    found = {name: vars(module)[name] for module in modules for name in reference.__all__ if name in vars(module)}
    return SimpleNamespace(**found)


@pytest.fixture(scope="session")
def compiled() -> Any:
    return _compiled()


@pytest.fixture(scope="session", params=["compiled", "reference"])
def speed(request: pytest.FixtureRequest) -> Any:
    return reference if request.param == "reference" else _compiled()
