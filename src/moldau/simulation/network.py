"""The network between simulated processes: addresses, listeners, connections with latency, cuts and sudden ends.

One fabric joins all hosts of a world; each process has its own view of it, which is the Network port. Bytes of one
connection arrive in order and after some time; between hosts that are cut off from each other they wait until the cut
heals, as TCP's retransmission would have it.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from moldau.runtime.ports import KerberosAcceptor, KerberosInitiator, Receiver, Runs, SocketOptions, Tls, Transport
from moldau.simulation.chance import SeededRandom
from moldau.simulation.loop import SimulatedLoop
from moldau.simulation.transport import SimulatedTransport

_FIRST_FREE_PORT: Final = 40_000
_USUAL_US: Final = (30, 400)
_SLOW_US: Final = (1_000, 30_000)


class SimulatedListener:
    def __init__(
        self,
        fabric: Fabric,
        loop: SimulatedLoop,
        address: tuple[str, int],
        accept: Callable[[Transport], Receiver | None],
        max_frame: int,
    ) -> None:
        self._fabric = fabric
        self._waiting: list[SimulatedTransport] = []
        self._paused = False
        self.loop = loop
        self.address = address
        self.accept = accept
        self.max_frame = max_frame

    def knock(self, caller: SimulatedTransport) -> None:
        """Somebody wants to connect."""
        if self._paused:
            self._waiting.append(caller)
        elif caller.is_open:
            self._fabric.establish(self, caller)

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        waiting, self._waiting = self._waiting, []
        for caller in waiting:
            self.loop.call_soon(lambda caller=caller: self.knock(caller))  # type: ignore[misc]

    def close(self) -> None:
        self._fabric.forget(self)
        for caller in self._waiting:
            self._fabric.refuse(caller)


class Fabric:
    """All hosts. `drop_chance` is the probability that a delivery takes its connection with it."""

    def __init__(self, chance: SeededRandom) -> None:
        self._chance = chance
        self._listeners: dict[tuple[str, int], SimulatedListener] = {}
        # From a host to another, each way by itself; to one port of either, or (0) to all.
        self._cuts: set[tuple[str, str, int]] = set()
        self._held: list[tuple[SimulatedTransport, bytes | None]] = []
        self._open: dict[SimulatedTransport, None] = {}
        self._next_port = _FIRST_FREE_PORT
        self.drop_chance = 0.0
        self.slow_chance = 0.02

    # ------------------------------------------------------------------------------------------------ bad days

    def cut(self, one: str, other: str, *, one_way: bool = False, port: int = 0) -> None:
        """Nothing passes between two hosts until `mend`; one way: nothing from the first to the second. With a port:
        nothing of the connections to it."""
        self._cuts.add((one, other, port))
        if not one_way:
            self._cuts.add((other, one, port))

    def mend(self) -> None:
        self._cuts.clear()
        held, self._held = self._held, []
        for end, data in held:
            self.carry(end, data)

    def reset(self, end: SimulatedTransport, reason: str = "the connection was reset") -> None:
        """Both ends lose the connection, the far one a little later."""
        other = end.other
        end.broken(reason)
        if other is not None:
            other.loop.call_after_us(self._latency(), lambda: other.broken("the connection was reset"))

    def drop_one(self) -> None:
        """Some connection ends."""
        if self._open:
            self.reset(self._chance.choice(list(self._open)))

    def process_died(self, loop: SimulatedLoop) -> None:
        """Its listeners and connections go with it; what it had sent may still arrive."""
        for address in [address for address, listener in self._listeners.items() if listener.loop is loop]:
            del self._listeners[address]
        for end in [end for end in self._open if end.loop is loop]:
            del self._open[end]
            if end.other is not None:
                self.reset_after_arrivals(end.other)

    def reset_after_arrivals(self, end: SimulatedTransport) -> None:
        delay = max(self._latency(), end.last_arrival_us - end.loop.now_us + 1)
        end.loop.call_after_us(delay, lambda: end.broken("the connection was reset"))

    # --------------------------------------------------------------------------------------- for the other parts

    def listen(self, listener: SimulatedListener) -> None:
        self._listeners[listener.address] = listener

    def forget(self, listener: SimulatedListener) -> None:
        if self._listeners.get(listener.address) is listener:
            del self._listeners[listener.address]

    def free_port(self) -> int:
        self._next_port += 1
        return self._next_port

    def taken(self, address: tuple[str, int]) -> bool:
        return address in self._listeners

    def connect(self, caller: SimulatedTransport) -> None:
        """Finds who listens, after a moment."""
        self._open[caller] = None
        caller.on_closed = lambda: self._gone(caller)
        caller.loop.call_after_us(self._latency(), lambda: self._find(caller))

    def establish(self, listener: SimulatedListener, caller: SimulatedTransport) -> None:
        end = SimulatedTransport(self, listener.loop, caller.peer, caller.local, listener.max_frame)
        end.other = caller
        end.on_closed = lambda: self._gone(end)
        self._open[end] = None
        receiver = listener.accept(end)
        if receiver is None:
            self.reset(end, "refused")
            self.refuse(caller)
            return
        end.attach(receiver)
        caller.connected(end)

    def refuse(self, caller: SimulatedTransport) -> None:
        caller.loop.call_after_us(self._latency(), lambda: caller.broken("the connection was refused"))

    def carry(self, end: SimulatedTransport, data: bytes | None) -> None:
        """Brings bytes, or the news that there will be no more, to `end`."""
        if self._cuts and self._is_cut(end.peer, end.local):
            self._held.append((end, data))
            return
        if self.drop_chance and self._chance.happens(self.drop_chance):
            self.reset(end)
            if end.other is not None:
                end.other.broken("the connection was reset")
            return
        arrival = max(end.loop.now_us + self._latency(), end.last_arrival_us + 1)
        end.last_arrival_us = arrival
        end.loop.call_after_us(arrival - end.loop.now_us, lambda: end.arrive(data))

    def _find(self, caller: SimulatedTransport) -> None:
        if not caller.is_open:
            return
        if self._is_cut(caller.local, caller.peer) or self._is_cut(caller.peer, caller.local):
            caller.loop.call_later(1.0, lambda: self._find(caller))
            return
        listener = self._listeners.get(caller.peer)
        if listener is None:
            caller.broken(f"nobody listens at {caller.peer[0]}:{caller.peer[1]}")
        else:
            listener.loop.call_soon(lambda: listener.knock(caller))

    def _is_cut(self, sender: tuple[str, int], receiver: tuple[str, int]) -> bool:
        hosts = sender[0], receiver[0]
        # Whoever connects does it from a port above those that are listened at.
        return (*hosts, 0) in self._cuts or (*hosts, min(sender[1], receiver[1])) in self._cuts

    def _gone(self, end: SimulatedTransport) -> None:
        self._open.pop(end, None)

    def _latency(self) -> int:
        return self._chance.between(*(_SLOW_US if self._chance.happens(self.slow_chance) else _USUAL_US))


class SimulatedNetwork:
    """The Network port of one process on one host."""

    def __init__(self, fabric: Fabric, loop: SimulatedLoop, host: str) -> None:
        self._fabric = fabric
        self._loop = loop
        self.host = host

    def listen(
        self,
        host: str,
        port: int,
        accept: Callable[[Transport], Receiver | None],
        *,
        max_frame: int,
        options: SocketOptions = SocketOptions(),  # noqa: B008  frozen
        runs: Runs | None = None,
        tls: object | None = None,
        heads: bool = False,
    ) -> SimulatedListener:
        if tls is not None:
            raise OSError(errno.EOPNOTSUPP, "bytes are not what is simulated here, so there is nothing to encrypt")
        if heads:
            raise OSError(errno.EOPNOTSUPP, "nobody asks by HTTP here")
        address = (host or self.host, port or self._fabric.free_port())
        if self._fabric.taken(address):
            raise OSError(errno.EADDRINUSE, "somebody listens there already")
        listener = SimulatedListener(self._fabric, self._loop, address, accept, max_frame)
        self._fabric.listen(listener)
        return listener

    def connect(
        self,
        host: str,
        port: int,
        receiver: Callable[[Transport], Receiver],
        *,
        max_frame: int,
        tls: Tls | None = None,
    ) -> SimulatedTransport:
        """Bytes are not what is simulated here, so there is nothing to encrypt."""
        local = (self.host, self._fabric.free_port())
        transport = SimulatedTransport(self._fabric, self._loop, local, (host, port), max_frame)
        transport.attach(receiver(transport))
        self._fabric.connect(transport)
        return transport

    def secure(self, rules: object, *, accepting: bool) -> NoReturn:
        raise ValueError("there is no TLS in the simulator")

    def shake_hands(self, accepting: object, calling: object) -> NoReturn:
        raise ValueError("there is no TLS in the simulator")

    def fetch(
        self,
        url: str,
        *,
        seconds: float,
        most_bytes: int,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
    ) -> bytes:
        raise OSError(errno.EHOSTUNREACH, "there is no web here")

    def aside(self, job: Callable[[], object], done: object) -> NoReturn:
        raise OSError(errno.EHOSTUNREACH, "there is nobody elsewhere to wait for")

    def kerberos(self, principal: str, key_table: str) -> KerberosAcceptor:
        raise OSError(errno.EHOSTUNREACH, "there is no Kerberos here")

    def kerberos_login(self, service: str, principal: str, key_table: str) -> KerberosInitiator:
        raise OSError(errno.EHOSTUNREACH, "there is no Kerberos here")

    def limit_receive_memory(self, limit: int | None) -> None:
        """Memory is not what is simulated here."""
