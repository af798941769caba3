"""The package works without compiled kernels, and when told to do without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from moldau import _speed

PROGRAM = """
from moldau import _speed
from moldau.protocol.records import Compression, decode_batch, encode_batch, to_columns
assert _speed.COMPILED is False
assert _speed.BatchHeader is _speed.reference.BatchHeader
assert _speed.Record is _speed.reference.Record
data = encode_batch([(1, b"k", b"v", [("h", None)])], compression=Compression.ZSTD)
assert decode_batch(data)[0].value == b"v"
assert to_columns(data).rows == 1
"""


# What stands beside the package's own face and takes a kernel by itself.
USERS = """
from moldau.server.apis import fetch, produce
from moldau.runtime import framing
from moldau.client.consumer import fetched
from moldau.client.producer import delivery
assert produce.PRODUCE.raw is None
assert fetch.FETCH.raw is None
"""


def run(program: str, **environment: str) -> str:
    """What it wrote to the terminal."""
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_pure_on_demand() -> None:
    assert run(PROGRAM + USERS, MOLDAU_PURE="1") == ""


@pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: none is left to be used")
@pytest.mark.parametrize("name", _speed.KERNELS)
def test_one_kernel_that_is_missing_and_none_is_used(name: str) -> None:
    said = run(f"import sys; sys.modules['moldau._speed.{name}'] = None\n{PROGRAM}{USERS}")
    assert said.count("none is used") == 1


def test_where_there_is_none_nothing_is_said() -> None:
    """`moldau version` tells who asks."""
    gone = "".join(f"sys.modules['moldau._speed.{name}'] = None\n" for name in _speed.KERNELS)
    assert run(f"import sys\n{gone}{PROGRAM}{USERS}") == ""


def test_every_kernel_stands_behind_the_gate() -> None:
    sources = Path(_speed.__file__).parent.glob("*.pyx")
    assert sorted(path.stem for path in sources) == sorted(_speed.KERNELS)
