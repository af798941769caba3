"""A conversation under way on a loop: performs one step after the other, all of them within one deadline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from moldau.client.conversation import Ask, AskAll, Conversation, Learn, Pause, Step
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.links.errors import ConnectionFailed, RequestTimedOut

if TYPE_CHECKING:
    from moldau.client.network import ClientNetwork

T = TypeVar("T")

# Errors that say the view is out of date.
_STALE: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)


class ConversationDriver:
    """Drives one conversation; `go_on` begins it. Steps that are answered at once do not pile up on the stack."""

    def __init__(self, network: ClientNetwork, conversation: Conversation[T], timeout: float) -> None:
        self.result: Deferred[Any] = Deferred()
        self._network = network
        self._conversation = conversation
        self._deadline = network.clock.monotonic() + timeout
        self._paused_because: KafkaError | None = None

    def go_on(self, value: Any, error: BaseException | None) -> None:
        while True:
            try:
                step = self._conversation.send(value) if error is None else self._conversation.throw(error)
            except StopIteration as end:
                self.result.resolve(end.value)
                return
            except BaseException as failure:
                self.result.fail(failure)
                return
            pending = self._perform(step)
            if not pending.settled:
                pending.then(self.go_on)
                return
            outcome: list[tuple[Any, BaseException | None]] = []
            pending.then(_keep_in(outcome))
            value, error = outcome[0]

    def _perform(self, step: Step) -> Deferred[Any]:
        remaining = self._deadline - self._network.clock.monotonic()
        match step:
            case Ask():
                return self._in_time(self._network.ask(step, step.timeout or self._network.request_timeout), remaining)
            case AskAll():
                return self._ask_all(step.asks, remaining)
            case Learn():
                # Nothing hangs on an answer to this, so that what failed before says more than that time is over.
                return self._in_time(self._network.learn(step), remaining, self._paused_because)
            case Pause():
                return self._pause(step, remaining)

    def _ask_all(self, asks: Sequence[Ask], remaining: float) -> Deferred[Any]:
        together: Deferred[Any] = Deferred()
        results: list[Any] = [None] * len(asks)
        missing = len(asks)

        def one(index: int) -> Callable[[Any, BaseException | None], None]:
            def arrived(value: Any, error: BaseException | None) -> None:
                nonlocal missing
                missing -= 1
                if together.settled:
                    return
                if error is not None and not isinstance(error, KafkaError):
                    # No node's answer: there is no cluster, or it is a fault of ours.
                    together.fail(error)
                    return
                results[index] = value if error is None else error
                if not missing:
                    together.resolve(results)

            return arrived

        if not asks:
            together.resolve(results)
        for index, ask in enumerate(asks):
            self._in_time(self._network.ask(ask, self._network.request_timeout), remaining).then(one(index))
        return together

    def _in_time(self, answer: Deferred[Any], remaining: float, failure: BaseException | None = None) -> Deferred[Any]:
        if answer.settled:
            return answer
        bounded: Deferred[Any] = Deferred()

        def late() -> None:
            if not bounded.settled:
                bounded.fail(failure or RequestTimedOut("There was no answer in the time allowed."))

        timer = self._network.loop.call_later(max(remaining, 0.0), late)

        def arrived(value: Any, error: BaseException | None) -> None:
            timer.cancel()
            if not bounded.settled:
                into(bounded)(value, error)

        answer.then(arrived)
        return bounded

    def _pause(self, step: Pause, remaining: float) -> Deferred[Any]:
        over: Deferred[Any] = Deferred()
        delay = self._network.backoff.delay(step.attempt)
        if delay >= remaining:
            over.fail(step.because)
            return over
        self._paused_because = step.because
        if step.because.code in _STALE or isinstance(step.because, ConnectionFailed):
            self._network.doubt()
        self._network.loop.call_later(delay, lambda: over.resolve(None))
        return over


def into(target: Deferred[Any]) -> Callable[[Any, BaseException | None], None]:
    def settle(value: Any, error: BaseException | None) -> None:
        if error is not None:
            target.fail(error)
        else:
            target.resolve(value)

    return settle


def _keep_in(outcome: list[tuple[Any, BaseException | None]]) -> Callable[[Any, BaseException | None], None]:
    return lambda value, error: outcome.append((value, error))
