"""The package on its way to the workers of a cluster, so that they need nothing of ours installed.

An archive and not a zip of Python files: compiled kernels are shared libraries, which Python cannot import out of a
zip. Spark unpacks an archive into the directory a worker starts in, and the path names it from there. A worker with
another Python or processor ignores libraries that are not its own and takes the kernels in plain Python instead.
"""

from __future__ import annotations

import importlib.util
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

UNPACKED: Final = "moldau_package"
# What the client needs to read compressed records; small, and seldom on a worker. Spark's own needs (pyspark, pyarrow,
# pandas) are the cluster's to have.
_PACKAGES: Final = ("moldau", "pyspark_moldau", "pyspark_moldau_log", "lz4", "cramjam")
_LEFT_OUT: Final = ("__pycache__", ".pyx", ".c", ".h", ".pyi", ".pxd")


def write_archive(path: str) -> str:
    """Packs the installed package and its dependencies into a zip; returns the path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in _PACKAGES:
            for file, inside in _files(name):
                archive.write(file, inside)
    return path


def _files(package: str) -> Iterator[tuple[str, str]]:
    found = importlib.util.find_spec(package)
    if found is None:
        return
    if not found.submodule_search_locations:
        if found.origin and os.path.exists(found.origin):
            yield found.origin, os.path.basename(found.origin)
        return
    for location in found.submodule_search_locations:
        root = Path(location)
        for file in sorted(root.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts and file.suffix not in _LEFT_OUT:
                yield str(file), os.path.join(package, str(file.relative_to(root)))
        # Wheels for Linux keep shared libraries they bring along beside the package.
        libraries = root.parent / f"{package}.libs"
        if libraries.is_dir():
            for file in sorted(libraries.iterdir()):
                yield str(file), f"{libraries.name}/{file.name}"


def shipping_settings(archive: str, given: Mapping[str, str]) -> dict[str, str]:
    """The settings of a session that bring the archive to its workers, added to what the pipeline says itself."""
    archives = f"{archive}#{UNPACKED}"
    if given.get("spark.archives"):
        archives = f"{given['spark.archives']},{archives}"
    path = UNPACKED
    if given.get("spark.executorEnv.PYTHONPATH"):
        path = f"{UNPACKED}:{given['spark.executorEnv.PYTHONPATH']}"
    return {"spark.archives": archives, "spark.executorEnv.PYTHONPATH": path}
