"""Whether this controller is the one that the others reach under its id.

Where the voters stand in the settings, an id is all that tells one from another: two processes with the same node.id
would both vote, and in one epoch each could be elected by another half of the others. Those reach one of the two only:
whoever is at the address that the settings give. So each controller calls that address and listens for its own call.
Who is answered there and has not heard himself is the second one, or has another's address, and must end.

Nothing follows from an address that does not answer: the other one may not run yet, so it is called again until the
call has come home once. Voters that stand in the log are told apart by their directories; and one that is alone has
nobody whose votes it could gain.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from moldau.config.broker import BrokerConfig
from moldau.config.listeners import Endpoint
from moldau.links.addresses import Address, parse_address
from moldau.links.peers import Peers
from moldau.node.identity import NodeError
from moldau.runtime.ports import TimerHandle
from moldau.server.context import Services
from moldau.server.own_call import OwnCall

logger = logging.getLogger("moldau.node")

_LINE: Final = "own address"
_TIMEOUT_SECONDS: Final = 2.0
_AGAIN_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 5.0


class OwnAddress:
    def __init__(
        self, config: BrokerConfig, peers: Peers, services: Services, fail: Callable[[NodeError], None]
    ) -> None:
        self._node_id = config.node_id
        self._address = voter_address(config)
        self._peers = peers
        self._loop = services.runtime.loop
        self._fail = fail
        self._call: OwnCall | None = None
        if self._address is not None:
            self._call = services.own_call = OwnCall(services.runtime.random)
        self._pause = _AGAIN_SECONDS
        self._timer: TimerHandle | None = None
        self._closed = False

    def check(self) -> None:
        self._timer = None
        if self._address is None or self._call is None or self._closed:
            return
        asked = self._peers.ask(self._address, self._call.request(), timeout=_TIMEOUT_SECONDS, line=_LINE)
        asked.then(self._answered)

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _answered(self, answer: Any, error: BaseException | None) -> None:
        assert self._address is not None
        assert self._call is not None
        if self._closed:
            return
        if self._call.is_heard:
            self._peers.forget(self._address, _LINE)
        elif error is None:
            self._fail(
                NodeError(
                    f"controller.quorum.voters says that node {self._node_id} is reached at {self._address}, but "
                    "another process answers there: every node needs a node.id and an address of its own."
                )
            )
        else:
            logger.debug("nobody answers at our own address %s: %s", self._address, error)
            self._timer = self._loop.call_later(self._pause, self.check)
            self._pause = min(2 * self._pause, _LONGEST_SECONDS)


def voter_address(config: BrokerConfig) -> Address | None:
    """Where the settings have this node vote; None if they do not, or it votes alone."""
    voters = dict(item.split("@", 1) for item in config.controller_quorum_voters)
    place = voters.get(str(config.node_id))
    return None if not config.is_controller or len(voters) < 2 or place is None else parse_address(place)


def reachable(advertised: Endpoint, bound: tuple[str, int]) -> Endpoint:
    """A port that was left to the operating system, and a host that was left out, become what was bound."""
    return advertised._replace(host=advertised.host or bound[0], port=advertised.port or bound[1])
