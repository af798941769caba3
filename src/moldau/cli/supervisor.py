"""Several nodes on this machine under one process: `moldau cluster start`, and `moldau start --nodes`.

The supervisor starts the nodes side by side, says `ready` once all of them are, says so when one dies, and ends them
in order. It restarts nothing: a node that died has a reason, and somebody should read it. If it is killed itself, its
guard takes the nodes along.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

from moldau.cli.failure import DONE, FAILED, Failure
from moldau.cli.table import note
from moldau.runtime.service_manager import ALIVE, READY, STOPPING, ServiceManager
from moldau.supervision.guard import Guard
from moldau.supervision.layout import Layout
from moldau.supervision.process import STOP_SECONDS, NodeFailed, NodeProcess

_READY_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.25
_TURN_SECONDS: Final = 0.01
_LAST_LINES: Final = 5


class Supervisor:
    def __init__(
        self,
        directory: Path,
        claim: int,
        nodes: Sequence[NodeProcess],
        *,
        voters: int,
        ready_seconds: float = _READY_SECONDS,
    ) -> None:
        """`voters` of the nodes, the first ones, decide who leads."""
        # Before anything is started that would take itself for what is asked after.
        self._service_manager = ServiceManager(os.environ)
        self._told_at = 0.0
        self._guard = Guard(directory, keep=True, claim=claim)
        self._nodes = nodes
        self._voters = voters
        self._ready_seconds = ready_seconds
        # Those whose end was told.
        self._mourned: set[int] = set()

    @classmethod
    def of_layout(
        cls,
        directory: Path,
        claim: int,
        layout: Layout,
        settings: Mapping[str, str],
        *,
        log_level: str | None = None,
        files: Mapping[int, Path] = {},
    ) -> Supervisor:
        """`files` are what nodes read before their settings, by their ids."""
        nodes = [
            NodeProcess(
                place.id,
                directory / f"node-{place.id}",
                {**layout.settings(place), **settings},
                cluster_id=layout.cluster_id,
                log_level=log_level,
                properties=files.get(place.id),
            )
            for place in layout.places
        ]
        voters = sum(place.controller_port is not None for place in layout.places)
        return cls(directory, claim, nodes, voters=voters)

    def run(self, ready: Callable[[], None]) -> int:
        """Until a signal, or until no node is left. The exit status."""
        with _signals() as asked:
            try:
                if self._start(asked):
                    ready()
                    self._service_manager.tell(READY)
                    while not asked.within(_LOOK_SECONDS):
                        self._look()
                        self._say_alive()
                        if not any(node.running for node in self._nodes):
                            note("moldau: No node is left.")
                            return FAILED
                return self._stop(asked)
            finally:
                for node in self._nodes:
                    node.kill()
                self._guard.close()

    def _start(self, asked: Asked) -> bool:
        """Whether all are ready; NodeFailed if one of them cannot."""
        for node in self._nodes:
            node.begin()
        deadline = monotonic() + self._ready_seconds
        waiting = list(self._nodes)
        while waiting:
            # In turns: the first that cannot start tells what is wrong, while the others may still wait for it.
            waiting = [node for node in waiting if not self._is_ready(node)]
            if asked.within(0.0):
                return False
            if waiting and monotonic() > deadline:
                names = ", ".join(str(node.id) for node in waiting)
                raise Failure(f"Not ready after {self._ready_seconds:g} s: node {names}. Its log is {waiting[0].log}.")
        return True

    @staticmethod
    def _is_ready(node: NodeProcess) -> bool:
        try:
            return node.is_ready(_TURN_SECONDS)
        except NodeFailed:
            said = node.log_tail(1).removeprefix("moldau: ").rstrip(".") or "it said nothing"
            raise Failure(f"Node {node.id} cannot start: {said} (its log is {node.log}).") from None

    def _look(self) -> None:
        for node in self._nodes:
            status = node.status
            if status is None or node.id in self._mourned:
                continue
            self._mourned.add(node.id)
            how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            said = node.log_tail(_LAST_LINES)
            note(f"moldau: Node {node.id} {how}; the others go on. Its log is {node.log}" + (":" if said else "."))
            for line in said.splitlines():
                note(f"  {line}")

    def _say_alive(self) -> None:
        interval, now = self._service_manager.interval, monotonic()
        if interval is not None and now - self._told_at >= interval:
            self._told_at = now
            self._service_manager.tell(ALIVE)

    def _stop(self, asked: Asked) -> int:
        """Brokers leave one after the other, each when its partitions have found other leaders. The last ones, without
        whom the controllers could decide nothing, leave together."""
        self._service_manager.tell(STOPPING)
        running = [node for node in reversed(self._nodes) if node.running]
        together = min(len(running), self._voters // 2 + 1)
        alone = running[: len(running) - together]
        status = DONE
        for group in [*([node] for node in alone), running[len(alone) :]]:
            for node in group:
                node.signal(signal.SIGTERM)
            for node in group:
                if not self._ended_in_time(node, asked):
                    note(f"moldau: Node {node.id} did not stop, and is killed. Its log is {node.log}.")
                    status = FAILED
                node.kill()
        return status

    @staticmethod
    def _ended_in_time(node: NodeProcess, asked: Asked) -> bool:
        """A second signal means at once."""
        deadline = monotonic() + STOP_SECONDS
        while node.running and monotonic() < deadline:
            if asked.within(0.02) and asked.times > 1:
                return False
        return not node.running


class Asked:
    """How often a signal asked us to end."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self.times = 0

    def within(self, seconds: float) -> bool:
        """Whether we were asked to end, now or before; waits that long for the first time."""
        readable, _, _ = select.select([self._pipe], [], [], seconds)
        if readable:
            self.times += len(os.read(self._pipe, 64))
        return self.times > 0


@contextmanager
def _signals() -> Iterator[Asked]:
    """SIGTERM, SIGHUP and Ctrl-C write into a pipe: no handler runs in the middle of anything."""
    from moldau.cli.start import stopping_signals

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = {number: signal.signal(number, lambda *_: None) for number in stopping_signals()}
    waking = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield Asked(reading)
    finally:
        signal.set_wakeup_fd(waking)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reading)
        os.close(writing)


def say_ready(addresses: Sequence[str]) -> None:
    print(f"ready {','.join(addresses)}", flush=True)
