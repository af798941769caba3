"""Ending transactions that others began: many at once, over again if need be, and what became of those that refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from moldau.client.admin.transactions import describe_transaction
from moldau.client.conversation import Ask, AskAll, Conversation, Learn, Pause
from moldau.client.coordinators import MOVED, CoordinatorType
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.links.versions import ByVersion
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.spark.sink.ledger import Opened

_SEVERAL_KEYS: Final = 4
_LAST_END_OF_VERSION_1: Final = 4

_ABORTED: Final = frozenset({"CompleteAbort", "PrepareAbort", "PrepareEpochFence"})


def end_transactions(opened: Mapping[str, Opened], *, commit: bool) -> Conversation[dict[str, KafkaError]]:
    """Ends transactions, by transactional id; returns those that could not be, with the reason.

    Ending one that has been ended the same way before is a success, so this may be repeated by anybody at any time.
    """
    refused: dict[str, KafkaError] = {}
    waiting = dict(opened)
    failures = 0
    while waiting:
        failure: KafkaError | None = None
        try:
            nodes = yield from coordinators(sorted(waiting))
            names = sorted(waiting)
            answers = yield AskAll([_end(name, waiting[name], commit, nodes[name]) for name in names])
        except KafkaError as error:
            if not _may_pass(error):
                raise
            names, answers, failure = [], [], error
        for name, answer in zip(names, answers, strict=True):
            problem = answer if isinstance(answer, KafkaError) else _problem(answer.error_code)
            if problem is None:
                del waiting[name]
            elif _may_pass(problem):
                failure = problem
            else:
                del waiting[name]
                refused[name] = problem
        if failure is not None:
            try:
                yield Pause(failures, failure)
            except KafkaError:
                return refused | dict.fromkeys(waiting, failure)
            failures += 1
    return refused


def was_aborted(transactional_id: str) -> Conversation[bool]:
    """Whether the last transaction of an id was aborted for certain."""
    try:
        described = yield from describe_transaction(transactional_id)
    except KafkaError:
        return False
    return described.state in _ABORTED


def _end(name: str, opened: Opened, commit: bool, node: int) -> Ask:
    request = EndTxnRequest(
        transactional_id=name,
        producer_id=opened.producer_id,
        producer_epoch=opened.producer_epoch,
        committed=commit,
    )
    return Ask(request, to=node, at_most=None if opened.implicit else _LAST_END_OF_VERSION_1)


def coordinators(names: Sequence[str]) -> Conversation[dict[str, int]]:
    """Who coordinates each; one question for all where brokers take several at once."""
    yield Learn((), anew=True)
    found: dict[str, int] = {}
    left = list(names)
    while left:

        def build(version: int, keys: Sequence[str] = tuple(left)) -> FindCoordinatorRequest:
            if version >= _SEVERAL_KEYS:
                return FindCoordinatorRequest(key_type=CoordinatorType.TRANSACTION, coordinator_keys=list(keys))
            return FindCoordinatorRequest(key=keys[0], key_type=CoordinatorType.TRANSACTION)

        response: FindCoordinatorResponse = yield Ask(ByVersion(FindCoordinatorRequest, build))
        if not response.coordinators:
            _check(response.error_code)
            found[left[0]] = response.node_id
        for one in response.coordinators:
            _check(one.error_code)
            found[one.key] = one.node_id
        left = [name for name in left if name not in found]
    return found


def _may_pass(error: KafkaError) -> bool:
    return error.retriable or error.code in MOVED


def _problem(number: int) -> KafkaError | None:
    code = error_code(number)
    return None if code is ErrorCode.NONE else KafkaError(code)


def _check(number: int) -> None:
    problem = _problem(number)
    if problem is not None:
        raise problem
