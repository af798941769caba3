"""What is left behind is cleared away by somebody who outlives the owner: a small process that waits for its end.

Its standard input is a pipe nobody writes to. When the owner's process ends, however it ends, the pipe ends too. Then
the guard kills what still runs, also nodes that are paused and could not do it themselves, and removes the directory
unless it is to be kept.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

# Each node notes its process in the file named here, in a directory of its own. A killed process may still finish one
# last write, so what cannot be removed at once is tried again.
PID_FILE: Final = "pid"
_KILL: Final = f"""
read -r nothing
for noted in "$1"/*/{PID_FILE}; do
    if [ -s "$noted" ]; then kill -9 "$(cat "$noted")"; rm -f "$noted"; fi
done
"""
_REMOVE: Final = """
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
"""


class Guard:
    """Of one directory, from its making to its end."""

    def __init__(self, directory: Path, *, keep: bool = False, claim: int | None = None) -> None:
        # A session of its own: Ctrl-C at the terminal is not for it.
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _KILL if keep else _KILL + _REMOVE, "guard", str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            # The directory is ours until the nodes of whoever claimed it have ended.
            pass_fds=() if claim is None else (claim,),
        )

    def close(self) -> None:
        """Has it clear away what there is now; returns when that is done."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
