"""What a test wants to know of its cluster: who leads. Asked as any client asks, of whichever node answers."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

from moldau.errors import MoldauError
from moldau.supervision.process import NodeFailed

if TYPE_CHECKING:
    from moldau.client.cluster import Cluster

_PATIENCE: Final = 30.0
_ANSWER: Final = 3.0
_LOOK_AGAIN: Final = 0.02


class Questions:
    """Connects with the first question: most tests have none."""

    def __init__(self, bootstrap: Callable[[], str]) -> None:
        self._bootstrap = bootstrap
        self._asking: Cluster | None = None

    def leader_of(self, topic: str, partition: int) -> int:
        from moldau.client.admin.topics import describe_topics

        def ask(cluster: Cluster) -> int | None:
            (found,) = cluster.run(describe_topics([topic]))
            if partition not in found.partitions:
                raise NodeFailed(f"Topic {topic!r} has no partition {partition}.")
            leader = found.partitions[partition].leader
            return leader if leader >= 0 else None

        return self._until_known(ask, f"{topic}-{partition} has no leader")

    def controller(self) -> int:
        from moldau.client.admin.quorum import describe_quorum

        def ask(cluster: Cluster) -> int | None:
            leader = cluster.run(describe_quorum()).leader_id
            return leader if leader >= 0 else None

        return self._until_known(ask, "the quorum has no leader")

    def close(self) -> None:
        asking, self._asking = self._asking, None
        if asking is not None:
            asking.close()

    def _until_known(self, ask: Callable[[Cluster], int | None], otherwise: str) -> int:
        from moldau.client.cluster import Cluster

        deadline = monotonic() + _PATIENCE
        while True:
            if self._asking is None:
                self._asking = Cluster(self._bootstrap(), client_id="moldau-testing", timeout=_ANSWER)
            try:
                known = ask(self._asking)
            except NodeFailed:
                raise
            except MoldauError as error:
                # Whom we were talking to may be halted or cut off: the next try talks to another.
                known, otherwise = None, str(error)
                self.close()
            if known is not None:
                return known
            if monotonic() > deadline:
                raise NodeFailed(f"After {_PATIENCE:g} s: {otherwise}")
            sleep(_LOOK_AGAIN)
