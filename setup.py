"""Builds the compiled kernels. Without a C compiler the package installs all the same, slower."""

from __future__ import annotations

import platform
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

FLAGS = ["-O3"]
if platform.machine() in ("x86_64", "AMD64"):
    FLAGS.append("-msse4.2")  # the CRC-32C instruction; every x86-64 CPU since 2009 has it

KERNELS = sorted(Path("src/moldau/_speed").glob("*.pyx"))

setup(
    ext_modules=cythonize(
        [
            Extension(f"moldau._speed.{path.stem}", [str(path)], extra_compile_args=FLAGS, optional=True)
            for path in KERNELS
        ],
        build_dir="build/cython",
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
        },
    )
)
