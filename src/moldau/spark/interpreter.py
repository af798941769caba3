"""The Python that Spark runs beside its JVM, and how long one takes to start.

Spark puts `pyspark.zip` of its own installation in front of the path of every process it starts. Nothing in it is
compiled, so each process compiles the whole of PySpark before its first line runs: three quarters of a second of CPU,
where the same package in site-packages takes a fifth. A process is started with every streaming query (and one per
worker, and several with a session), the query waits for it, and Spark gives it ten seconds to call back, which no
setting changes; a busy machine does not always do it in that time ("Python worker failed to connect back").

Where both are the same installation, `pip install pyspark`, the processes of a local session are therefore started by a
script that takes the archives off the path again.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Final

_SCRIPT: Final = """#!/bin/sh
# Spark's archives hold nothing compiled; the same package is installed.
set -f
IFS=:
rest=
for each in $PYTHONPATH; do
    case $each in
        {archives}/*.zip) ;;
        *) rest=$rest:$each ;;
    esac
done
PYTHONPATH=${{rest#:}}
export PYTHONPATH
exec {python} "$@"
"""


def use_this_python() -> None:
    """Has Spark run this interpreter where it would run another: its processes must find this package.

    Spark runs the first `python3` on the PATH, which is another one in a program that was started with the Python of an
    environment that is not activated: format("moldau") would not be found. A choice that was made already stands.
    """
    if "PYSPARK_PYTHON" in os.environ or not sys.executable:
        return
    usual = shutil.which("python3")
    if usual is None or os.path.dirname(os.path.abspath(usual)) != os.path.dirname(os.path.abspath(sys.executable)):
        os.environ["PYSPARK_PYTHON"] = sys.executable


def start_quickly() -> None:
    """Has Spark start this interpreter without its archives, on this machine; a choice that was made already stands."""
    if os.environ.setdefault("PYSPARK_PYTHON", sys.executable) != sys.executable:
        return
    import pyspark
    from pyspark.find_spark_home import _find_spark_home

    home, installed = _find_spark_home(), os.path.dirname(os.path.abspath(pyspark.__file__))
    if os.name != "posix" or os.path.realpath(installed) != os.path.realpath(home):
        return
    try:
        os.environ["PYSPARK_PYTHON"] = _script(os.path.join(home, "python", "lib"))
    except OSError:
        return  # no place to write it to: everything works, slower


def _script(archives: str) -> str:
    wanted = _SCRIPT.format(archives=shlex.quote(archives), python=shlex.quote(sys.executable))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "moldau"
    script = cache / f"python-{sha256(wanted.encode()).hexdigest()[:12]}" / "python3"
    if not script.exists():
        script.parent.mkdir(parents=True, exist_ok=True)
        # Moved into place as a whole: another process may be starting it at this moment.
        with tempfile.NamedTemporaryFile("w", dir=script.parent, delete=False) as file:
            file.write(wanted)
        os.chmod(file.name, 0o755)
        os.replace(file.name, script)
    return str(script)
