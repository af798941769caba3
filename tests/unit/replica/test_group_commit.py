"""Commits of durable partitions: begun some in a turn, told when done, and a fault is nobody's disk."""

from __future__ import annotations

import pytest
from storage_kit import StoppedClock

from moldau.replica.group_commit import GroupCommit
from moldau.storage.forcing import Forcing


class Steps:
    def __init__(self):
        self.ready = []

    def call_soon(self, callback):
        self.ready.append(callback)

    def turn(self):
        ready, self.ready = self.ready, []
        for callback in ready:
            callback()


class Workers:
    def __init__(self):
        self.jobs = []

    def submit(self, job, done):
        self.jobs.append((job, done))


class Directory:
    def __init__(self):
        self.failures = []

    def failed(self, doing, error, *, lost):
        self.failures.append((doing, str(error), lost))


class Part:
    """A partition and its log, as far as a commit sees them."""

    is_released = False

    def __init__(self):
        self.log = self
        self.directory = Directory()
        self.forced = 0

    def commit(self):
        return self

    def run(self):
        """Off the loop."""

    def done(self):
        self.forced += 1

    def advance_high_watermark(self):
        return True


@pytest.fixture
def steps():
    return Steps()


@pytest.fixture
def workers():
    return Workers()


def test_very_many_begin_some_in_a_turn_and_all_in_the_end(steps, workers):
    commits = GroupCommit(steps, workers, lambda partition: None, Forcing(StoppedClock()))
    parts = [Part() for _ in range(150)]
    for part in parts:
        commits.request(part)
    idle = commits.idle()
    counts = []
    while steps.ready:
        steps.turn()
        counts.append(len(workers.jobs))
    assert (counts[0] < 150, counts[-1], idle.settled) == (True, 150, False)
    for _, done in workers.jobs[:-1]:
        done(None, None)
    assert not idle.settled, "one is still running"
    workers.jobs[-1][1](None, None)
    assert (idle.settled, {part.forced for part in parts}, steps.ready) == (True, {1}, [])
    assert commits.idle().settled


def test_who_asks_while_a_commit_runs_is_covered_by_the_next(steps, workers):
    commits = GroupCommit(steps, workers, lambda partition: None, Forcing(StoppedClock()))
    part = Part()
    commits.request(part)
    steps.turn()
    commits.request(part)
    idle = commits.idle()
    assert (steps.ready, len(workers.jobs)) == ([], 1)
    workers.jobs.pop()[1](None, None)
    assert (part.forced, len(workers.jobs), idle.settled) == (1, 1, False)
    workers.jobs.pop()[1](None, None)
    assert (part.forced, idle.settled) == (2, True)


def test_a_failed_disk_is_told_and_a_fault_is_raised(steps, workers):
    commits = GroupCommit(steps, workers, lambda partition: None, Forcing(StoppedClock()))
    part = Part()
    commits.request(part)
    steps.turn()
    workers.jobs.pop()[1](None, OSError(5, "gone"))
    assert part.directory.failures == [("Committing", "[Errno 5] gone", True)]
    commits.request(part)
    steps.turn()
    with pytest.raises(ZeroDivisionError):
        workers.jobs.pop()[1](None, ZeroDivisionError())
    assert (len(part.directory.failures), part.forced) == (1, 0)


def test_what_is_on_disk_already_counts_at_once(steps, workers):
    told = []
    commits = GroupCommit(steps, workers, told.append, Forcing(StoppedClock()))
    part = Part()
    part.commit = lambda: None
    commits.request(part)
    steps.turn()
    assert told == [part]
    assert not workers.jobs
