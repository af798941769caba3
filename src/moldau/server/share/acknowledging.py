"""What members say of their records, from the words of ShareFetch and ShareAcknowledge to those of share partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from moldau.deferred import Deferred, gather, mapped
from moldau.errors import ErrorCode, KafkaError
from moldau.security.acl import Operation
from moldau.server.authorization import DeniedTopics
from moldau.server.context import RequestContext
from moldau.server.share.share_partition import GAP, RENEW, Acknowledgement
from moldau.server.share.share_sessions import Place, ShareSession
from moldau.slicing import Work
from moldau.types import Uuid

LONGEST_MEMBER_ID: Final = 36
_TYPES: Final = frozenset(range(GAP, RENEW + 1))
_BATCHES_AT_ONCE: Final = 500

# Of each partition something was said of: whether it is written down, else why not.
Outcomes = dict[Place, KafkaError | None]


class SaidBatch(Protocol):
    """As either of the two requests has it."""

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


Said = Sequence[tuple[Place, Sequence[SaidBatch]]]


def check_member(group_id: str | None, member_id: str | None) -> tuple[str, str]:
    """An empty group is one, as for Kafka; that it has no partitions each of them says."""
    if group_id is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The request names no group.")
    if not member_id or len(member_id) > LONGEST_MEMBER_ID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"The id of a member has from 1 to {LONGEST_MEMBER_ID} characters.")
    return group_id, member_id


def require_share_groups(context: RequestContext) -> None:
    if not context.services.groups.shares.enabled:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "Share groups are switched off.")


def why_not(context: RequestContext, denied: DeniedTopics, topic_id: Uuid) -> KafkaError | None:
    """Why a member hears nothing of a topic."""
    if context.services.metadata.image.topics.by_id(topic_id) is None:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    return KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED) if topic_id in denied else None


def denied_topics(context: RequestContext) -> DeniedTopics:
    return DeniedTopics(context, Operation.READ)


def acknowledge(
    context: RequestContext, session: ShareSession, said: Said, denied: DeniedTopics, *, renews: bool
) -> Work[tuple[Outcomes, Deferred[None]]]:
    """Tells the share partitions; the outcomes are true as soon as the second settles, when all of it is written down.
    `renews` says that locks may be renewed in this request."""
    outcomes: Outcomes = {}
    waiting: list[Deferred[None]] = []
    for place, batches in said:
        outcomes[place] = None
        try:
            refused = why_not(context, denied, place[0])
            if refused is not None:
                raise refused
            acknowledgements = yield from _checked(batches, renews=renews)
            led = context.services.share_partitions.known(session.group_id, *place)
            if led is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Nobody has acquired anything here.")
        except KafkaError as error:
            outcomes[place] = error
        else:
            waiting.append(_noted(led.acknowledge(session.member_id, acknowledgements), place, outcomes))
        yield
    return outcomes, mapped(gather(waiting), lambda _: None)


def _checked(batches: Sequence[SaidBatch], *, renews: bool) -> Work[list[Acknowledgement]]:
    said: list[Acknowledgement] = []
    for number, batch in enumerate(batches, 1):
        if not number % _BATCHES_AT_ONCE:
            yield
        first, last, types = batch.first_offset, batch.last_offset, batch.acknowledge_types
        if first > last:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"There are no offsets from {first} to {last}.")
        if said and first <= said[-1].last:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Offset {first} comes behind {said[-1].last}.")
        if len(types) not in (1, last - first + 1):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{len(types)} types for {last - first + 1} offsets.")
        if not _TYPES.issuperset(types):
            raise KafkaError(ErrorCode.INVALID_REQUEST, "There is no such type of acknowledgement.")
        if not renews and RENEW in types:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The request does not say that it renews locks.")
        said.append(Acknowledgement(first, last, types))
    return said


def _noted(told: Deferred[None], place: Place, outcomes: Outcomes) -> Deferred[None]:
    noted: Deferred[None] = Deferred()

    def settled(_: None, error: BaseException | None) -> None:
        if error is not None:
            outcomes[place] = error if isinstance(error, KafkaError) else KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        noted.resolve(None)

    told.then(settled)
    return noted
