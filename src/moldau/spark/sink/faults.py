"""Places where a test can end the process, to see what becomes of a write that was interrupted exactly there.

The environment variable MOLDAU_SPARK_FAULTS names a file with one or more points. The first process that reaches the
first of them strikes it out and ends at once, as if it had been killed; then the next one counts. Without the variable
nothing is looked at. A file, because the processes of a Spark session inherit their environment when the session starts
and live through many tests.
"""

from __future__ import annotations

import os
from typing import Final

VARIABLE: Final = "MOLDAU_SPARK_FAULTS"

# In the order in which a write comes by. Those of tasks first, then those of the driver's commit.
POINTS: Final = (
    "task-claimed",
    "task-initialized",
    "task-half-written",
    "task-written",
    "commit-began",
    "fenced",
    "decision-sent",
    "decided",
    "half-ended",
    "ended",
    "cleaned",
    "finished",
)


def reached(point: str) -> None:
    path = os.environ.get(VARIABLE)
    if path is None:
        return
    try:
        with open(path) as file:
            if file.read().split()[:1] != [point]:
                return
        # Whoever moves it has it: several tasks come by at the same time.
        mine = f"{path}.{os.getpid()}"
        os.rename(path, mine)
        with open(mine) as file:
            rest = file.read().split()[1:]
        if rest:
            with open(mine, "w") as file:
                file.write(" ".join(rest))
            os.rename(mine, path)
        else:
            os.unlink(mine)
    except FileNotFoundError:
        return
    os._exit(70)
