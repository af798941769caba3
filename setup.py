"""Builds the compiled kernels. Without a C compiler the package installs all the same, slower."""

from __future__ import annotations

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

# No flags for one kind of CPU: the checksum asks at run time which instructions there are.
FLAGS = ["-O3"]

SOURCES = sorted(Path("src/moldau/_speed").glob("*.pyx"))

kernels = cythonize(
    [Extension(f"moldau._speed.{path.stem}", [str(path)], extra_compile_args=FLAGS) for path in SOURCES],
    build_dir="build/cython",
    compiler_directives={
        "language_level": 3,
        "boundscheck": False,
        "wraparound": False,
        "cdivision": True,
    },
)
for kernel in kernels:
    # Said here because cythonize makes new Extension objects and drops it. Whoever works on the code wants to see
    # why a kernel does not compile, and sets MOLDAU_KERNELS=required.
    kernel.optional = os.environ.get("MOLDAU_KERNELS") != "required"

setup(ext_modules=kernels)
