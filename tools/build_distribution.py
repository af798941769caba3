"""Builds what is published: a source distribution, and a wheel for each Python there is, on x86-64 and aarch64.

    python tools/build_distribution.py [--python python3.12 ...] [--no-smoke]

Wheels are compiled by zig's C compiler, which makes binaries for a C library of 2014 wherever it runs, so they install
on nearly every Linux (manylinux). Those for the other kind of processor are built in the same way; auditwheel looks
into each for what it needs of the system. Each wheel that this machine can run is then installed in a fresh
environment, with what it depends on from PyPI, and must start a node that a client talks to, with its kernels compiled.
Wheels for macOS are built on macOS, by cibuildwheel: its settings stand in pyproject.toml.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
WORK = ROOT / "build" / "dist"
TOOLS = WORK / "tools"

# The oldest C library that wheels may ask for, and what pip calls it.
LIBRARY = "2.17"
PLATFORM = "manylinux_2_17"
PROCESSORS = ("x86_64", "aarch64")
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")


class Failure(Exception):
    """Told in one sentence."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--python", action="append", metavar="NAME", help="build for these; all that are found by default"
    )
    parser.add_argument("--no-smoke", action="store_true", help="do not install and try the wheels")
    options = parser.parse_args()
    try:
        build(interpreters(options.python or PYTHONS, must=bool(options.python)), smoke=not options.no_smoke)
    except Failure as failure:
        print(f"moldau: {failure}", file=sys.stderr)
        return 1
    return 0


def build(pythons: list[str], *, smoke: bool) -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    make_tools()
    source = build_source()
    say(f"{source.name}")
    for python in pythons:
        version = tag_of(python)
        for processor in PROCESSORS:
            wheel = build_wheel(python, version, processor, source)
            own = processor == platform.machine()
            if own and smoke:
                try_out(python, version, wheel)
            say(f"{wheel.name}{'' if own and smoke else ' (not tried here)'}")
    run([TOOLS / "bin" / "twine", "check", "--strict", *sorted(DIST.iterdir())], "what PyPI would refuse")


def interpreters(names: tuple[str, ...] | list[str], *, must: bool) -> list[str]:
    """Those of the names that run and have the headers to compile against."""
    found = []
    for name in names:
        for path in candidates(name):
            if has_headers(path):
                found.append(path)
                break
        else:
            if must:
                raise Failure(f"{name} is not here, or has no headers")
            say(f"no wheels for {name}, which is not here")
    if not found:
        raise Failure("there is no Python to build for; on Debian: apt-get install python3-dev python3-venv")
    return found


def candidates(name: str) -> list[str]:
    """On the PATH, and where pyenv keeps what is not on it."""
    version = name.removeprefix("python")
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return [
        *filter(None, [shutil.which(name)]),
        *(str(each / "bin" / name) for each in sorted(kept.glob(f"{version}.*"), reverse=True)),
    ]


def has_headers(python: str) -> bool:
    code = "import os, sysconfig, venv; assert os.path.exists(sysconfig.get_path('include') + '/Python.h')"
    return subprocess.run([python, "-c", code], capture_output=True).returncode == 0


def tag_of(python: str) -> str:
    """As wheels call it: cp312, or cp313t where it has no GIL."""
    free = "bool(sysconfig.get_config_var('Py_GIL_DISABLED'))"
    code = f"import sys, sysconfig; print('cp%d%d' % sys.version_info[:2] + 't' * {free})"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def make_tools() -> None:
    if not (TOOLS / "bin" / "auditwheel").exists():
        shutil.rmtree(TOOLS, ignore_errors=True)
        venv.create(TOOLS, with_pip=True)
        locked = ["--require-hashes", "-r", str(ROOT / "requirements" / "dist.lock")]
        run([TOOLS / "bin" / "pip", "install", "--quiet", *locked], "the packages in requirements/dist.lock")


def build_source() -> Path:
    """From what git has, so that nothing lying around gets in."""
    tree = WORK / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    with subprocess.Popen(["git", "-C", str(ROOT), "archive", "HEAD"], stdout=subprocess.PIPE) as archive:
        assert archive.stdout is not None
        with tarfile.open(fileobj=archive.stdout, mode="r|") as files:
            files.extractall(tree, filter="data")
    code = f"from setuptools.build_meta import build_sdist; build_sdist({str(DIST)!r})"
    run([TOOLS / "bin" / "python", "-c", code], "the source distribution", cwd=tree)
    return next(DIST.glob("*.tar.gz"))


def build_wheel(python: str, version: str, processor: str, source: Path) -> Path:
    """One for one Python and one kind of processor, in an environment of that Python."""
    place = WORK / f"{version}-{processor}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    environment = WORK / f"{version}-environment"
    if not (environment / "bin" / "cython").exists():
        run([python, "-m", "venv", "--clear", environment], f"an environment of {python}")
        run(
            [environment / "bin" / "pip", "install", "--quiet", *pinned("setuptools", "cython", "wheel")],
            "setuptools and Cython",
        )
    compiler = place / "cc"
    write_headers(python, processor, place / "include")
    write_compiler(compiler, processor, place / "include")
    suffix = f".{soabi(python)}-{processor}-linux-gnu.so"
    variables = {
        "CC": str(compiler),
        "LDSHARED": f"{compiler} -shared",
        "CFLAGS": "-O3 -g0",
        "MOLDAU_KERNELS": "required",
        "_PYTHON_HOST_PLATFORM": f"linux-{processor}",
        "SETUPTOOLS_EXT_SUFFIX": suffix,
    }
    run(
        [environment / "bin" / "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", place, source],
        f"the wheel of {version} for {processor}",
        variables,
    )
    built = next(place.glob("*.whl"))
    run(
        [TOOLS / "bin" / "auditwheel", "repair", "--only-plat", "--plat", "auto", "-w", DIST, built],
        f"{built.name}, looked at by auditwheel",
    )
    # It is told no name, because it knows those of its own processor only. What it found must be what was wanted.
    for wheel in DIST.glob(f"*-{version}-{version}-*{PLATFORM}_{processor}.whl"):
        return wheel
    raise Failure(f"{built.name} needs more of the system than {PLATFORM}.")


def soabi(python: str) -> str:
    code = "import sysconfig; print(sysconfig.get_config_var('SOABI'))"
    name = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    return re.sub(r"-[^-]+-linux-gnu$", "", name)


def write_headers(python: str, processor: str, place: Path) -> None:
    """Debian keeps the one header that depends on the processor where only its own compiler looks. What differs between
    the two kinds of processors is nothing that the kernels ask for."""
    code = "import sysconfig; print(sysconfig.get_config_var('MULTIARCH'), 'python' + sysconfig.get_python_version())"
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    multiarch, name = said.split()
    kept = Path("/usr/include") / multiarch / name
    there = place / f"{processor}-linux-gnu"
    there.mkdir(parents=True)
    if kept.is_dir():
        (there / name).symlink_to(kept)


def write_compiler(path: Path, processor: str, headers: Path) -> None:
    """Options of the Python it is built for that zig does not know are left out; they save a little time or space."""
    path.write_text(
        "#!/bin/sh\n"
        "for argument; do\n"
        "    shift\n"
        '    case "$argument" in\n'
        "    -Wl,-Bsymbolic-functions | -Wl,-z,* | -fcf-protection* | -ffat-lto-objects | -flto*) ;;\n"
        '    *) set -- "$@" "$argument" ;; esac\n'
        "done\n"
        f'exec "{TOOLS}/bin/python" -m ziglang cc -target {processor}-linux-gnu.{LIBRARY} -I"{headers}" "$@"\n'
    )
    path.chmod(0o755)


def pinned(*names: str) -> list[str]:
    """As requirements/dist.lock has them."""
    locked = (ROOT / "requirements" / "dist.lock").read_text()
    return [re.search(rf"^({name}==\S+)", locked, re.MULTILINE)[1] for name in names]  # type: ignore[index]


def try_out(python: str, version: str, wheel: Path) -> None:
    place = WORK / f"{version}-smoke"
    run([python, "-m", "venv", "--clear", place], f"a fresh environment of {python}")
    run([place / "bin" / "pip", "install", "--quiet", "--only-binary", ":all:", wheel], f"{wheel.name}, installed")
    run([place / "bin" / "moldau", "version"], f"{wheel.name}: moldau version", cwd=place)
    shutil.copy(ROOT / "tools" / "smoke.py", place)
    run([place / "bin" / "python", "smoke.py"], f"{wheel.name}, tried out", cwd=place)


def run(command: list[object], what: str, variables: dict[str, str] | None = None, cwd: Path | None = None) -> None:
    words = [str(word) for word in command]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **(variables or {})}
    environment["PATH"] = f"{TOOLS}/bin:{environment['PATH']}"
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=cwd)
    if done.returncode:
        print("\n".join((done.stdout + done.stderr).splitlines()[-20:]), file=sys.stderr)
        raise Failure(f"{what}: that did not work ({Path(words[0]).name}, status {done.returncode}).")


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
