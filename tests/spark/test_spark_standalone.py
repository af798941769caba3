"""The demonstration's pipeline on a standalone cluster of two workers, whose Python does not have our package.

So what the workers run is what `--master` shipped to them. The result is proved by the demonstration itself: it
compares everything that was written with a batch computation and ends with 1 if something differs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from standalone import StandaloneCluster

_ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.parametrize("arguments", [["--peaceful"], []], ids=["in peace", "killed once"])
def test_the_demonstration_runs_on_two_workers(tmp_path: Path, arguments: list[str]) -> None:
    with StandaloneCluster(tmp_path / "cluster", workers=2) as cluster:
        command = [sys.executable, "-m", "demo", "--master", cluster.url, "--work", str(tmp_path / "work")]
        command += ["--orders", "6000", "--seconds", "10", *arguments]
        done = subprocess.run(
            command, cwd=_ROOT, env=_environment(tmp_path), capture_output=True, text=True, timeout=900
        )
        log = tmp_path / "work" / "pipeline.log"
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{log.read_text()[-3000:] if log.exists() else ''}"
        shipped = list((tmp_path / "cluster").glob("work-*/app-*/*/moldau_package/moldau/__init__.py"))
        workers = {path.relative_to(tmp_path / "cluster").parts[0] for path in shipped}
        assert workers == {"work-0", "work-1"}
    status = json.loads((tmp_path / "work" / "checkpoint.status.json").read_text())
    assert status["master"] == cluster.url
    assert status["state"] == "stopped"


def _environment(tmp_path: Path) -> dict[str, str]:
    """For the driver. Python is the same everywhere, but its workers do not see what is installed for development."""
    python = tmp_path / "python"
    # -S: installed packages are on the path, but the links that lead to a source tree are not followed.
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{sysconfig.get_path("purelib")}" exec "{sys.executable}" -S "$@"\n'
    )
    python.chmod(0o755)
    return {
        **os.environ,
        "PYSPARK_PYTHON": str(python),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": str(_ROOT / "src"),  # for what runs beside the driver
    }
