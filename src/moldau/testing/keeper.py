"""The process of one node under test: `moldau start`, tied to the life of whoever started it.

Standard input is a pipe nobody writes to. When the test's process ends, however it ends, the pipe ends too; then the
node goes at once and takes its data with it. So a test run that was killed leaves neither processes nor files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """`keeper.py DIRECTORY start ...`: the directory to remove when the starter dies, then the command."""
    directory, *command = arguments
    lifeline = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    # The thread spends its life inside one system call, without the interpreter's lock.
    threading.Thread(target=_leave_with, args=(lifeline, directory), name="keeper", daemon=True).start()
    from moldau.cli.main import main as moldau

    return moldau(command)


def _leave_with(lifeline: int, directory: str) -> None:
    while os.read(lifeline, 1):
        pass
    shutil.rmtree(directory, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(directory))  # the cluster's; the last of its nodes finds it empty
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
