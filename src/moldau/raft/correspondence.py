"""Requests to other members and their answers, between the machine's words and the wire."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from moldau.deferred import settle
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.links.errors import ConnectionFailed
from moldau.links.peers import PeerPort
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.raft.effects import Send
from moldau.raft.incoming_forms import response_message
from moldau.raft.membership import Membership
from moldau.raft.messages import Answer, Standing, VoteAnswer, VoteRequest
from moldau.raft.outgoing_forms import answer_from, request_message

logger = logging.getLogger("moldau.raft")

# A fetch waits at the leader for something new, and must not hold back what is urgent.
_SLOW: Final = (ApiKey.FETCH, ApiKey.FETCH_SNAPSHOT)


class Correspondence:
    def __init__(self, peers: PeerPort | None, membership: Membership) -> None:
        self._peers = peers
        self._membership = membership
        # Why nothing can come of it, if somebody said so since the last proper answer.
        self.refusal: str | None = None

    def ask(self, send: Send, answered: Callable[[Answer | None, bool], None]) -> None:
        """`answered` hears None if there is no answer, and whether that is because the connection ended or could not
        be made. The machine itself knows how long it waits for one."""
        if self._peers is None:
            return
        request = request_message(send.request, self._membership.cluster_id)
        line = "raft-fetch" if request.API_KEY in _SLOW else "raft"
        asked = self._peers.ask(send.address, request, timeout=self._membership.patience, line=line)
        asked.then(
            lambda response, error: answered(
                self._understood(send, response, error), isinstance(error, ConnectionFailed)
            )
        )

    def _understood(self, send: Send, response: Message | None, error: BaseException | None) -> Answer | None:
        try:
            if response is not None:
                answer = answer_from(response)
                self.refusal = None
                return answer
        except (MoldauError, ValueError) as failure:
            error = failure
        code = error.code if isinstance(error, KafkaError) else None
        if code is ErrorCode.UNSUPPORTED_VERSION and isinstance(send.request, VoteRequest):
            return VoteAnswer(code, Standing(send.request.epoch), False)
        if code is ErrorCode.INCONSISTENT_CLUSTER_ID:
            cluster_id = self._membership.cluster_id
            self._refused(f"{send.address} is not of cluster {cluster_id}, for which this node is formatted")
        if code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            self._refused(
                f"{send.address} does not let this node in ({code.name}): there it must be one of super.users, or be "
                "allowed CLUSTER_ACTION"
            )
        logger.debug("node %d at %s gave no answer: %s", send.node_id, send.address, error)
        return None

    def _refused(self, refusal: str) -> None:
        if self.refusal != refusal:
            logger.warning("%s", refusal)
        self.refusal = refusal

    def reply(self, token: Any, answer: Any) -> None:
        deferred, request, version = token
        try:
            settle(deferred, lambda: response_message(request, answer, version))
        except Exception:
            logger.exception("an answer of the quorum was not taken")
