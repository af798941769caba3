"""A disk under a process that dies before its n-th system call."""

from __future__ import annotations

from typing import Any

from moldau.runtime.disk import RealDisk

MUTATING = {
    "write",
    "truncate",
    "resize",
    "sync",
    "sync_directory",
    "rename",
    "remove",
    "remove_tree",
    "make_directories",
    "map",
}


class Died(BaseException):
    """Not an Exception: nothing in the log may catch it and carry on."""


class MortalDisk:
    """The real disk until its `life` is used up; then nothing reaches it any more. A last write may arrive in part."""

    def __init__(self, life: int) -> None:
        self._disk = RealDisk()
        self.life = life
        self._handles: list[Any] = []

    def bury(self) -> None:
        """What the operating system does for a dead process: its descriptors are closed."""
        for handle in self._handles:
            handle.close()

    def spend(self) -> None:
        if self.life <= 0:
            raise Died
        self.life -= 1

    def __getattr__(self, name: str) -> Any:
        return self._mortal(self._disk, name)

    def _mortal(self, target: Any, name: str) -> Any:
        attribute = getattr(target, name)
        if name not in MUTATING and name != "open":
            return attribute

        def call(*arguments: Any, **options: Any) -> Any:
            if name == "write" and self.life == 0:
                data, position = arguments
                attribute(bytes(data)[: len(data) // 2], position)
            if name != "open" or options.get("create"):
                self.spend()
            result = attribute(*arguments, **options)
            if name not in ("open", "map"):
                return result
            self._handles.append(result)
            return MortalHandle(result, self)

        return call


class MortalHandle:
    def __init__(self, target: Any, disk: MortalDisk) -> None:
        self._target = target
        self._disk = disk

    def __getattr__(self, name: str) -> Any:
        return self._disk._mortal(self._target, name)
