"""`moldau version`: what is installed, and whether its compiled kernels are in use."""

from __future__ import annotations

import platform
from argparse import ArgumentParser, Namespace

from moldau import __version__
from moldau.cli.arguments import add_json
from moldau.cli.table import print_json


def configure(parser: ArgumentParser) -> None:
    parser.description = "Show the version, the Python it runs on and whether the compiled kernels are in use."
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    kernels = _kernels()
    if options.json:
        facts = {
            "version": __version__,
            "python": platform.python_version(),
            "implementation": platform.python_implementation(),
            "system": platform.system(),
            "machine": platform.machine(),
            "compiled_kernels": kernels,
        }
        print_json(facts)
        return
    print(f"moldau {__version__}")
    print(f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()}")
    print("compiled kernels: yes" if kernels else "compiled kernels: no (pure Python: everything works, slower)")


def _kernels() -> bool:
    from moldau import _speed

    return _speed.COMPILED
