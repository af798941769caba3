"""What many groups have committed, in as few requests as there are coordinators and a bound allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from moldau.client.conversation import Ask, AskAll, Conversation, Learn
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages import offset_fetch as fetches
from moldau.types import TopicPartition

# Several groups fit into one request from this version on; from the last on, topics are named by id.
_SEVERAL_GROUPS_SINCE: Final = 8
_LAST_WITH_NAMES: Final = 9
_AT_ONCE: Final = 100

Committed = dict[TopicPartition, int]


def committed_of_groups(groups: Mapping[str, int]) -> Conversation[dict[str, Committed]]:
    """By group, which are given with their coordinators as a listing names them. What is not told just now (the
    coordinator moved, is away, is too old for several groups at once) is left out: it is asked again the next time."""
    yield Learn(())
    asks: list[Ask] = []
    for node, names in _by_coordinator(groups).items():
        asks += [_ask(node, names[begin : begin + _AT_ONCE]) for begin in range(0, len(names), _AT_ONCE)]
    found: dict[str, Committed] = {}
    for response in (yield AskAll(asks)):
        if isinstance(response, KafkaError):
            continue
        for group in response.groups:
            if error_code(group.error_code) is ErrorCode.NONE:
                found[group.group_id] = {
                    TopicPartition(topic.name, row.partition_index): row.committed_offset
                    for topic in group.topics
                    for row in topic.partitions
                    if row.committed_offset >= 0
                }
    return found


def _by_coordinator(groups: Mapping[str, int]) -> dict[int, list[str]]:
    named: dict[int, list[str]] = {}
    for group, node in groups.items():
        named.setdefault(node, []).append(group)
    return named


def _ask(node: int, names: Sequence[str]) -> Ask:
    request = fetches.OffsetFetchRequest(
        groups=[fetches.OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
    )
    return Ask(request, to=node, at_most=_LAST_WITH_NAMES)
