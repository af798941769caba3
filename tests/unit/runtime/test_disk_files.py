"""Real files behind the disk port."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from moldau.runtime import disk as disk_module
from moldau.runtime.disk import RealDisk


def test_positioned_reads_and_writes(tmp_path: Path) -> None:
    disk = RealDisk()
    path = str(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        disk.open(path)
    file = disk.open(path, create=True)
    file.write(b"world", 6)
    file.write(memoryview(bytearray(b"hello ")), 0)
    assert file.size() == 11
    assert file.read(0, 100) == b"hello world"
    assert file.read(6, 3) == b"wor"
    assert file.read(11, 1) == b""
    file.truncate(5)
    assert file.read(0, 100) == b"hello"
    file.sync()
    assert os.fstat(file.fileno()).st_size == 5
    file.close()
    file.close()
    assert file.fileno() == -1
    assert disk.read_file(path) == b"hello"


def test_partial_reads_and_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system may do less than asked; a full disk shows as an error, not as success."""
    disk = RealDisk()
    file = disk.open(str(tmp_path / "file"), create=True)
    real_write, real_read = os.pwrite, os.pread
    monkeypatch.setattr(disk_module.os, "pwrite", lambda fd, data, at: real_write(fd, data[:7], at))
    monkeypatch.setattr(disk_module.os, "pread", lambda fd, length, at: real_read(fd, min(length, 5), at))
    content = os.urandom(100)
    file.write(content, 3)
    assert file.read(3, 100) == content
    assert file.read(53, 100) == content[50:]
    monkeypatch.setattr(disk_module.os, "pwrite", lambda fd, data, at: 0)
    with pytest.raises(OSError, match="no more") as full:
        file.write(content, 0)
    assert full.value.errno == errno.ENOSPC
    file.close()


def test_a_mapped_file_is_the_file(tmp_path: Path) -> None:
    disk = RealDisk()
    path = str(tmp_path / "index")
    mapped = disk.map(path, 4096)
    mapped.view[0:5] = b"entry"
    mapped.sync()
    assert disk.read_file(path)[:5] == b"entry"
    assert disk.size(path) == 4096
    mapped.resize(8)
    assert bytes(mapped.view) == b"entry\0\0\0"
    mapped.resize(0)
    assert len(mapped.view) == 0
    mapped.sync()
    mapped.resize(16)
    assert bytes(mapped.view) == bytes(16)
    mapped.close()
    mapped.close()
    assert disk.size(path) == 16


def test_a_mapping_becomes_longer_where_the_system_cannot_move_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS has no mremap."""
    monkeypatch.setattr(disk_module, "_MAPS_RESIZE", False)
    path = str(tmp_path / "index")
    mapped = RealDisk().map(path, 4096)
    mapped.view[:4] = b"word"
    mapped.resize(8192)
    assert bytes(mapped.view[:4]) == b"word"
    mapped.view[8188:] = b"last"
    mapped.sync()
    assert Path(path).read_bytes()[8188:] == b"last"
    mapped.resize(4096)
    mapped.close()
    assert os.stat(path).st_size == 4096


def test_what_is_forced_goes_through_the_cache_of_the_drive_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F_FULLFSYNC of macOS, by a number that this system does not know; then by one that every file knows."""
    asked: list[str] = []
    monkeypatch.setattr(disk_module.os, "fdatasync", lambda fd: asked.append("fdatasync"))
    disk = RealDisk()
    file = disk.open(str(tmp_path / "file"), create=True)
    monkeypatch.setattr(disk_module, "_FULL_SYNC", 999_999)
    file.sync()
    assert asked == ["fdatasync"]
    monkeypatch.setattr(disk_module, "_FULL_SYNC", fcntl.F_GETFD)
    file.sync()
    assert asked == ["fdatasync"]
    file.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.sync()


def test_directories(tmp_path: Path) -> None:
    disk = RealDisk()
    root = str(tmp_path / "a" / "b")
    disk.make_directories(root)
    disk.make_directories(root)
    assert disk.is_directory(root)
    for name in ("z", "m", "a"):
        disk.open(f"{root}/{name}", create=True).close()
    assert disk.list(root) == ["a", "m", "z"]
    assert not disk.is_directory(f"{root}/a")
    disk.rename(f"{root}/a", f"{root}/z")
    disk.sync_directory(root)
    assert disk.list(root) == ["m", "z"]
    disk.remove(f"{root}/m")
    assert not disk.exists(f"{root}/m")
    assert disk.modified_ms(f"{root}/z") > 1_600_000_000_000
    assert 0 < disk.free_bytes(root) <= disk.total_bytes(root)
    disk.remove_tree(root)
    assert not disk.exists(root)


def test_a_lock_keeps_other_processes_out(tmp_path: Path) -> None:
    disk = RealDisk()
    path = str(tmp_path / ".lock")
    program = f"from moldau.runtime.disk import RealDisk; print(RealDisk().lock({path!r}))"

    def other() -> str:
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    lock = disk.lock(path)
    assert lock is not None
    assert other() == "None\n"
    lock.release()
    lock.release()
    assert other() != "None\n"
