from __future__ import annotations

import pytest
from bench.clusters import threads_of_kafka
from bench.interruption import Interruption


class Message:
    def __init__(self, partition: int) -> None:
        self._partition = partition

    def partition(self) -> int:
        return self._partition


def test_kafkas_nodes_have_the_threads_its_own_settings_file_gives_them():
    found = threads_of_kafka()
    assert (found["num.network.threads"], found["num.io.threads"]) == ("3", "8")
    assert "log.dirs" not in found
    assert not any(name.startswith(("offsets.", "transaction.")) for name in found), "a cluster has three replicas"


def interruption(partitions: int) -> Interruption:
    """One that writes nothing: there is nobody to write to."""
    made = Interruption("127.0.0.1:1", "t", partitions)
    made.close()
    return made


def test_the_longest_wait_counts_from_the_fault_and_the_end_of_it_is_seen_in_every_partition():
    made = interruption(2)
    made.watch()
    since = made._since
    made.acknowledged(since - 5.0, None, Message(0))
    assert made.longest < 1.0, "it waited before the fault, not because of it"
    assert not made.resumed, "sent before"
    made.acknowledged(since, None, Message(0))
    assert not made.resumed
    made.acknowledged(since, None, Message(1))
    assert made.resumed
    made.watch()
    assert not made.resumed
    assert made.longest == 0.0


def test_a_record_that_is_not_taken_fails_the_measurement():
    made = interruption(1)
    made.acknowledged(0.0, "NOT_ENOUGH_REPLICAS", Message(0))
    with pytest.raises(RuntimeError, match="NOT_ENOUGH_REPLICAS"):
        made.wait_resumed()
