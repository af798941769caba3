"""Every case with each library and with ours: what the clients do, for the table and for whoever changes something.

python -m tools.migration.cases [WORD]...      those that differ, with both outcomes
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Callable

from tools.migration import async_consumer_cases, async_producer_cases, async_trial, consumer_cases, producer_cases
from tools.migration.answers import OURS, THEIRS
from tools.migration.trial import Outcome, compare, try_out

from moldau.testing import Cluster


def outcomes(
    bootstrap: str, words: tuple[str, ...] = (), differs: Callable[[str, Outcome], bool] | None = None
) -> dict[str, Outcome]:
    """Of the cases whose names hold one of the words. They run by the dozen, and some wait for what has a limit of
    seconds: what `differs` is tried once more by itself, and is a difference if it is one again."""
    found = _outcomes(bootstrap, lambda name: _named(name, words))
    if differs is not None:
        again = {name for name, outcome in found.items() if differs(name, outcome)}
        if again:
            found |= _outcomes(bootstrap, again.__contains__, alone=True)
    return found


def _outcomes(bootstrap: str, wanted: Callable[[str], bool], *, alone: bool = False) -> dict[str, Outcome]:
    importlib.import_module("moldau.partitioner")  # which theirs imports by itself
    blocking = {**producer_cases.cases(), **consumer_cases.cases()}
    awaited = {**async_producer_cases.cases(), **async_consumer_cases.cases()}
    chosen = [{name: case for name, case in each.items() if wanted(name)} for each in (blocking, awaited)]
    # What is logged belongs to the cases: they are there to go wrong.
    logging.disable(logging.CRITICAL)
    try:
        return {
            **compare(bootstrap, chosen[0], (THEIRS, OURS), try_out, alone),
            **compare(bootstrap, chosen[1], async_trial.LIBRARIES, async_trial.try_out, alone),
        }
    finally:
        logging.disable(logging.NOTSET)


def _named(name: str, words: tuple[str, ...]) -> bool:
    return not words or any(word in name for word in words)


def main() -> None:
    with Cluster() as cluster:
        found = outcomes(cluster.bootstrap_servers, tuple(sys.argv[1:]))
    for name, outcome in found.items():
        if not outcome.alike:
            print(f"{name}\n    theirs {outcome.theirs!r}\n    ours   {outcome.ours!r}")
    print(f"{sum(outcome.alike for outcome in found.values())} of {len(found)} alike")


if __name__ == "__main__":
    main()
