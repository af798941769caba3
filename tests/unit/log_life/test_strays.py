"""Logs of topics that are gone when a node starts: those that were deleted go, the others are kept out of the way."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest
from faulty_disk import FaultyRuntime
from in_process_node import InProcessNode
from storage_kit import append, batch, names_in, values_of

from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.storage.storage_error import StorageError


def delete(node, *topics):
    node.settle(node.node.controller.delete_topics(DeleteTopicsRequest(topic_names=list(topics), timeout_ms=1000), 5))


def written(node, topic, value):
    log = node.node.replicas.get(topic, 0).log
    append(log, batch(value), 0)
    return log


def logs_in(path, topic="orders"):
    """The marks of the directories of a topic; none for a log in use."""
    return sorted(
        name.rpartition("-")[2] if "." in name else "" for name in names_in(Path(path)) if name.startswith(f"{topic}-")
    )


def killed(node, tmp_path):
    """What is on disk at this moment, in another place: as after kill -9."""
    shutil.copytree(tmp_path / "lived", tmp_path / "died")
    node.close()
    return tmp_path / "died"


def turns(node, condition):
    loop = node.runtime.loop
    for _ in range(30_000):
        if condition():
            return
        loop.call_later(0.002, loop.stop)
        loop.run()
    raise AssertionError("it did not happen")


@pytest.mark.parametrize("again", [False, True])
def test_a_crash_between_the_answer_to_delete_topics_and_the_renames(tmp_path, again):
    node = InProcessNode(tmp_path / "lived", compiled=True)
    node.create_topic("orders")
    node.create_topic("kept")
    written(node, "orders", b"old")
    written(node, "kept", b"value")
    node.node.logs.retirement._turn = lambda: None  # the process dies before anything is renamed
    delete(node, "orders")
    if again:
        node.create_topic("orders")
    home = killed(node, tmp_path)
    assert logs_in(home) == [""]
    node = InProcessNode(home, compiled=True)
    if again:
        turns(node, lambda: node.node.replicas.find("orders", 0) is not None)
        assert values_of(node.node.replicas.get("orders", 0).log) == []
    turns(node, lambda: not node.node.logs.retirement._names)
    assert logs_in(home) == [""] * again + ["delete"]
    assert values_of(node.node.replicas.get("kept", 0).log) == [b"value"]
    node.close()
    node = InProcessNode(home, compiled=True, settings={"log.segment.delete.delay.ms": "0"})
    node.node.upkeep.remove_deleted()
    turns(node, lambda: logs_in(home) == [""] * again)
    node.close()


def test_a_log_of_a_topic_that_the_metadata_never_knew_is_kept(tmp_path):
    """As after the metadata was brought back from an old copy: nobody deleted that topic."""
    node = InProcessNode(tmp_path / "lived", compiled=True)
    node.close()
    shutil.copytree(tmp_path / "lived", tmp_path / "died")
    node = InProcessNode(tmp_path / "lived", compiled=True)
    node.create_topic("orders")
    written(node, "orders", b"value")
    node.close()
    shutil.copytree(tmp_path / "lived" / "orders-0", tmp_path / "died" / "orders-0")
    for _ in range(2):
        node = InProcessNode(tmp_path / "died", compiled=True)
        turns(node, lambda: not node.node.logs.retirement._names)  # noqa: B023
        assert logs_in(tmp_path / "died") == ["stray"]
        node.close()
    (stray,) = (tmp_path / "died").glob("orders-0.*-stray")
    assert b"value" in (stray / "00000000000000000000.log").read_bytes()


@pytest.fixture
def dirs(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    return {
        "log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}",
        "metadata.log.dir": str(tmp_path / "m"),
    }


def recreated_while_offline(tmp_path, dirs):
    """A topic whose directory fails, and which is deleted and created again then; where the old and the new one lie."""
    node = InProcessNode(tmp_path, compiled=True, settings=dirs)
    node.create_topic("orders")
    old = written(node, "orders", b"old").directory
    old_home = old.parent
    node.node.replicas.storage_failed(StorageError(old_home, "Reading", OSError(5, "Input/output error")))
    delete(node, "orders")
    node.create_topic("orders")
    new_home = written(node, "orders", b"new").directory.parent
    assert old_home != new_home
    node.close()
    return old_home, new_home


@pytest.mark.parametrize("reverse", [False, True])
def test_a_topic_created_again_while_its_directory_was_offline(tmp_path, dirs, reverse):
    old_home, new_home = recreated_while_offline(tmp_path, dirs)
    if reverse:
        dirs["log.dirs"] = ",".join(reversed(dirs["log.dirs"].split(",")))
    node = InProcessNode(tmp_path, compiled=True, settings=dirs)
    log = node.node.replicas.get("orders", 0).log
    assert (log.directory.parent, values_of(log)) == (new_home, [b"new"])
    turns(node, lambda: not node.node.logs.retirement._names)
    assert (logs_in(old_home), logs_in(new_home)) == (["delete"], [""])
    append(log, batch(b"more"), 0)
    node.close()
    node = InProcessNode(tmp_path, compiled=True, settings=dirs)
    assert values_of(node.node.replicas.get("orders", 0).log) == [b"new", b"more"]
    node.close()


@pytest.mark.parametrize("reverse", [False, True])
def test_two_logs_of_topics_that_are_both_deleted(tmp_path, dirs, reverse):
    """Nobody wants either, so a start need not know which of them is the older one."""
    old_home, new_home = recreated_while_offline(tmp_path, dirs)
    shutil.move(old_home, f"{old_home}.away")
    Path(old_home).touch()  # still offline
    node = InProcessNode(tmp_path, compiled=True, settings=dirs)
    node.node.logs.retirement._turn = node.node.logs.retirement.finish = lambda: None  # dies before anything is renamed
    delete(node, "orders")
    node.close()
    os.remove(old_home)
    shutil.move(f"{old_home}.away", old_home)
    assert (logs_in(old_home), logs_in(new_home)) == ([""], [""])
    if reverse:
        dirs["log.dirs"] = ",".join(reversed(dirs["log.dirs"].split(",")))
    node = InProcessNode(tmp_path, compiled=True, settings=dirs)
    assert node.node.failure is None
    turns(node, lambda: not node.node.logs.retirement._names)
    assert (logs_in(old_home), logs_in(new_home)) == (["delete"], ["delete"])
    node.close()


@pytest.mark.parametrize("reverse", [False, True])
def test_two_logs_of_a_topic_that_is_a_third_one_by_now(tmp_path, dirs, reverse):
    """It was deleted and created twice while directories were away, and nothing tells of the first time any more."""
    homes = recreated_while_offline(tmp_path, dirs)
    for number, home in enumerate(homes):
        (Path(home) / "orders-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {'BC'[number] * 21}A\n")
    if reverse:
        dirs["log.dirs"] = ",".join(reversed(dirs["log.dirs"].split(",")))
    node = InProcessNode(tmp_path, compiled=True, settings=dirs)
    assert node.node.failure is None
    turns(node, lambda: not node.node.logs.retirement._names)
    assert values_of(node.node.replicas.get("orders", 0).log) == []
    assert sorted(mark for home in homes for mark in logs_in(home)) == ["", "stray", "stray"]
    node.close()


def test_the_old_log_does_not_make_room_for_an_empty_one_while_the_new_one_is_offline(tmp_path, dirs):
    _, new_home = recreated_while_offline(tmp_path, dirs)
    shutil.move(new_home, f"{new_home}.away")
    Path(new_home).touch()  # no directory, so it is offline
    node = InProcessNode(tmp_path, compiled=True, settings=dirs)
    assert node.node.replicas.find("orders", 0) is None
    node.close()
    os.remove(new_home)
    shutil.move(f"{new_home}.away", new_home)
    node = InProcessNode(tmp_path, compiled=True, settings=dirs)
    assert values_of(node.node.replicas.get("orders", 0).log) == [b"new"]
    node.close()


def without_its_id(tmp_path, code):
    """A node on a log whose topic id was lost in a power cut, and a disk that does not let it be written again."""
    node = InProcessNode(tmp_path, compiled=True)
    node.create_topic("orders")
    written(node, "orders", b"value")
    node.close()
    (tmp_path / "orders-0" / "partition.metadata").write_bytes(b"")
    runtime = FaultyRuntime()

    def fault(operation, path):
        hit = operation == "create" and path.endswith("orders-0/partition.metadata")
        return OSError(code, os.strerror(code), path) if hit else None

    runtime.disk.fault = fault
    node = InProcessNode(tmp_path, compiled=True, runtime=runtime)
    turns(node, lambda: not node.node.logs.retirement._names)
    assert node.node.replicas.find("orders", 0) is None
    return node


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE])
def test_a_log_that_could_not_be_given_its_id_is_not_taken_for_a_stray(tmp_path, code):
    node = without_its_id(tmp_path, code)
    assert logs_in(tmp_path) == [""]
    node.runtime.disk.fault = lambda operation, path: None
    node.node.replicas.open_refused()
    assert values_of(node.node.replicas.get("orders", 0).log) == [b"value"]
    node.close()
    assert logs_in(tmp_path) == [""]


def test_nor_for_that_of_a_topic_that_is_created_under_its_name(tmp_path):
    node = without_its_id(tmp_path, errno.ENOSPC)
    delete(node, "orders")
    node.runtime.disk.fault = lambda operation, path: None
    node.create_topic("orders")
    turns(node, lambda: node.node.replicas.find("orders", 0) is not None)
    assert values_of(node.node.replicas.get("orders", 0).log) == []
    node.close()
