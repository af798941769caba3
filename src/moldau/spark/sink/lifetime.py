"""How long transactions may stay open, and whether they are: what is asked before a batch is decided.

A broker aborts a transaction that is older than its timeout, whoever still counts on it. Tasks of one batch may run one
after the other, so the first transaction has to outlast the last task, and nothing renews it. So it is given as much
time as the brokers allow, and a batch is decided only while all of them are seen open, with time to spare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from moldau.client.admin.configs import ConfigResource, ResourceType, describe_configs
from moldau.client.conversation import Ask, AskAll, Conversation, Learn, retrying
from moldau.client.coordinators import MOVED
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest, TransactionState
from moldau.spark.sink.ending import coordinators
from moldau.spark.sink.ledger import Opened

# What brokers allow unless they are told otherwise.
USUAL_MS: Final = 15 * 60 * 1000
# Claims in the ledger count for an hour, and no transaction may be older than its claim.
LONGEST_MS: Final = 60 * 60 * 1000

_SETTING: Final = "transaction.max.timeout.ms"
# The part of its time a transaction must have left when it is decided; at most this much.
_SPARE: Final = 10
_MOST_SPARE_MS: Final = 30_000

# Asked once per process and cluster; workers live through many tasks.
_allowed: dict[str, int] = {}


def timeout_to_use(bootstrap: str) -> Conversation[int]:
    """As much as the brokers allow, up to what the ledger can bear; the usual if they do not tell."""
    if bootstrap not in _allowed:
        try:
            view: ClusterView = yield Learn((), anew=False)
            broker = ConfigResource(ResourceType.BROKER, str(min(view.brokers)))
            values = yield from describe_configs(broker, [_SETTING])
            allowed = next((int(value.value or 0) for value in values if value.name == _SETTING), 0)
        except (KafkaError, ValueError):
            allowed = 0  # not for us to know; or gone for a moment, which the next request will find out
        _allowed[bootstrap] = min(allowed, LONGEST_MS) or USUAL_MS
    return _allowed[bootstrap]


class Standing(NamedTuple):
    """`lost` are the transactions that can no longer be decided, with what became of them."""

    lost: Mapping[str, str]
    oldest_ms: int
    timeout_ms: int

    @property
    def half_spent(self) -> bool:
        return 2 * self.oldest_ms > self.timeout_ms


def standing(opened: Mapping[str, Opened], witness: str) -> Conversation[Standing]:
    """Looks at transactions by their ids. `witness` is one that was begun a moment ago: it tells the brokers' time."""
    rows = yield from _described([*opened, witness])
    now = rows[witness].transaction_start_time_ms
    lost: dict[str, str] = {}
    oldest, timeout = 0, 0
    for name, expected in opened.items():
        row = rows[name]
        age = now - row.transaction_start_time_ms
        spare = min(row.transaction_timeout_ms // _SPARE, _MOST_SPARE_MS)
        if row.transaction_state != "Ongoing":
            lost[name] = row.transaction_state or error_code(row.error_code).name
        elif (row.producer_id, row.producer_epoch) != (expected.producer_id, expected.producer_epoch):
            lost[name] = "taken over by another producer"
        elif age + spare > row.transaction_timeout_ms:
            lost[name] = f"open for {age / 1000:.0f} s of {row.transaction_timeout_ms / 1000:.0f} s"
        if row.transaction_state == "Ongoing" and age >= oldest:
            oldest, timeout = age, row.transaction_timeout_ms
    return Standing(lost, oldest, timeout)


def _described(names: list[str]) -> Conversation[dict[str, TransactionState]]:
    def attempt() -> Conversation[dict[str, TransactionState]]:
        nodes = yield from coordinators(names)
        groups: dict[int, list[str]] = {}
        for name in names:
            groups.setdefault(nodes[name], []).append(name)
        asks = [Ask(DescribeTransactionsRequest(transactional_ids=group), to=node) for node, group in groups.items()]
        answers = yield AskAll(asks)
        rows: dict[str, TransactionState] = {}
        for answer in answers:
            if isinstance(answer, KafkaError):
                raise answer
            for row in answer.transaction_states:
                code = error_code(row.error_code)
                if code in MOVED or KafkaError(code).retriable:
                    raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
                if code not in (ErrorCode.NONE, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND):
                    raise KafkaError(code, f"Transactional id {row.transactional_id}: {code.text}")
                rows[row.transactional_id] = row
        return rows

    return retrying(attempt)
