"""Kafka's client on the simulated network: the same driver as everywhere, on ports of this world.

`start` begins a conversation and answers through a Deferred; several may run side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from moldau.client.backoff import Backoff
from moldau.client.conversation import Conversation
from moldau.client.network import ClientNetwork
from moldau.client.settings import find_cluster
from moldau.deferred import Deferred
from moldau.links.addresses import Address
from moldau.simulation.runtime import SimulatedRuntime

T = TypeVar("T")

_REQUEST_SECONDS: Final = 15.0
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0


class SimulatedClient:
    def __init__(
        self,
        runtime: SimulatedRuntime,
        bootstrap: Sequence[tuple[str, int]],
        client_id: str,
        request_seconds: float = _REQUEST_SECONDS,
    ) -> None:
        self._runtime = runtime
        chance = runtime.random.fork(client_id)
        pause = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE, jitter=0.5, chance=chance.fraction)
        self._network = ClientNetwork(
            [Address(*address) for address in bootstrap],
            runtime.loop,
            runtime.network,
            runtime.clock,
            client_id=client_id,
            request_timeout=request_seconds,
            backoff=pause,
            reconnect=pause,
            shuffled=chance.shuffle,
        )

    def close(self) -> None:
        self._network.close()

    def start(self, conversation: Conversation[T], seconds: float = 300.0) -> Deferred[T]:
        """Performs a conversation; it is over within `seconds` of virtual time."""
        outcome: Deferred[T] = Deferred()

        def settle(value: T | None, error: BaseException | None) -> None:
            if error is not None:
                outcome.fail(error)
            else:
                outcome.resolve(value)  # type: ignore[arg-type]

        self._runtime.loop.call_soon(lambda: self._network.perform(self._found(conversation), seconds).then(settle))
        return outcome

    def _found(self, conversation: Conversation[T]) -> Conversation[T]:
        """A machine without power may come back, so the cluster is looked for as long as there is time."""
        if not self._network.view.brokers:
            yield from find_cluster()
        return (yield from conversation)

    def run(self, conversation: Conversation[T], seconds: float = 300.0) -> T:
        """Performs a conversation while the world goes on; the value it comes to, or the error."""
        outcome = self.start(conversation, seconds)
        self._runtime.schedule.run_until(lambda: outcome.settled, seconds + 60)
        ended: list[Any] = []
        outcome.then(lambda value, error: ended.extend((value, error)))
        value, error = ended
        if error is not None:
            raise error
        result: T = value
        return result
