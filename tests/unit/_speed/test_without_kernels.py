"""The package works without compiled kernels, and when told to do without."""

from __future__ import annotations

import subprocess
import sys

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


def run(program: str, **environment: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_pure_on_demand() -> None:
    run(PROGRAM, MOLDAU_PURE="1")


def test_pure_where_one_kernel_is_missing() -> None:
    for name in ("codec", "columns", "records", "writer"):
        run(f"import sys; sys.modules['moldau._speed.{name}'] = None\n{PROGRAM}")
