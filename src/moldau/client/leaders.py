"""Operations on partitions: each partition's part of the question goes to its leader.

Leaders move. So what comes back as "not me" is asked again, of whoever the cluster names by then, while the answers
that did come are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeGuard, TypeVar

from moldau.client.conversation import NOT_THERE, Ask, AskAll, Conversation, Learn, Pause
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError
from moldau.links.errors import RequestTimedOut
from moldau.types import TopicPartition

Question = TypeVar("Question")
Answer = TypeVar("Answer")


def ask_leaders(
    questions: Mapping[TopicPartition, Question],
    build: Callable[[ClusterView, Mapping[TopicPartition, Question]], Ask],
    read: Callable[[Any], Iterable[tuple[TopicPartition, Answer | KafkaError]]],
    *,
    final: Container[ErrorCode] = NOT_THERE,
) -> Conversation[dict[TopicPartition, Answer | KafkaError]]:
    """One answer per partition: `build` writes the request for one leader, `read` takes its response apart."""
    answers: dict[TopicPartition, Answer | KafkaError] = {}
    open_questions = dict(questions)
    attempt = 0
    paused_because: KafkaError | None = None
    while True:
        try:
            view: ClusterView = yield Learn(sorted({where.topic for where in open_questions}))
        except KafkaError as error:
            if paused_because is None or not (error is paused_because or isinstance(error, RequestTimedOut)):
                raise
            # Time ran out while looking for the leaders again: what is known by now is the answer.
            return {where: answers[where] for where in questions}
        by_leader: dict[int, dict[TopicPartition, Question]] = {}
        for where, question in open_questions.items():
            try:
                by_leader.setdefault(view.leader(where), {})[where] = question
            except KafkaError as error:
                answers[where] = error
        groups = list(by_leader.items())
        responses = yield AskAll([replace(build(view, group), to=leader) for leader, group in groups])
        for (_, group), response in zip(groups, responses, strict=True):
            if isinstance(response, RequestTimedOut):
                # The last try ends like this when time runs out; what went wrong before it says more.
                for where in group:
                    answers.setdefault(where, response)
            elif isinstance(response, KafkaError):
                answers.update(dict.fromkeys(group, response))
            else:
                said = dict(read(response))
                missing = KafkaError(
                    ErrorCode.UNKNOWN_SERVER_ERROR, "The broker left out a partition it was asked about."
                )
                answers.update({where: said.get(where, missing) for where in group})
        passing = {where: error for where, error in answers.items() if _may_pass(error, final)}
        if not passing:
            return {where: answers[where] for where in questions}
        open_questions = {where: questions[where] for where in passing}
        paused_because = next(iter(passing.values()))
        try:
            yield Pause(attempt, paused_because)
        except KafkaError:
            # No time left: what was answered is still worth having, and the rest carries its errors.
            return {where: answers[where] for where in questions}
        attempt += 1


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """Kafka's requests nest partitions in topics."""
    topics: dict[str, list[TopicPartition]] = {}
    for where in partitions:
        topics.setdefault(where.topic, []).append(where)
    return topics


def _may_pass(answer: object, final: Container[ErrorCode]) -> TypeGuard[KafkaError]:
    return isinstance(answer, KafkaError) and answer.retriable and answer.code not in final
