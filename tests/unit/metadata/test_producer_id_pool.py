"""Producer ids: each once, and the next block before the last id is gone."""

from __future__ import annotations

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.producer_id_pool import ProducerIdBlock, ProducerIdPool


class Blocks:
    """Hands out blocks when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[Deferred[ProducerIdBlock]] = []
        self.requests = 0

    def __call__(self) -> Deferred[ProducerIdBlock]:
        self.requests += 1
        answer: Deferred[ProducerIdBlock] = Deferred()
        self.waiting.append(answer)
        return answer

    def give(self, first: int, length: int = 1000) -> None:
        self.waiting.pop(0).resolve(ProducerIdBlock(first, length))


def _take(pool: ProducerIdPool, seen: list[object]) -> None:
    pool.next_id().then(lambda value, error: seen.append(value if error is None else error))


def test_ids_wait_for_the_first_block_and_keep_their_order() -> None:
    blocks, seen = Blocks(), []
    pool = ProducerIdPool(blocks)
    for _ in range(3):
        _take(pool, seen)
    assert seen == []
    assert blocks.requests == 1
    blocks.give(5000)
    assert seen == [5000, 5001, 5002]


def test_the_next_block_is_fetched_early() -> None:
    blocks, seen = Blocks(), []
    pool = ProducerIdPool(blocks)
    _take(pool, seen)
    blocks.give(0)
    for _ in range(898):
        _take(pool, seen)
    assert blocks.requests == 1
    _take(pool, seen)
    assert blocks.requests == 2
    blocks.give(7000)
    for _ in range(102):
        _take(pool, seen)
    assert seen == [*range(1000), 7000, 7001]
    assert blocks.requests == 2


def test_a_controller_that_cannot_answer_is_asked_again() -> None:
    blocks, seen = Blocks(), []
    pool = ProducerIdPool(blocks)
    _take(pool, seen)
    blocks.waiting.pop(0).fail(KafkaError(ErrorCode.NOT_CONTROLLER))
    assert isinstance(seen[0], KafkaError)
    _take(pool, seen)
    blocks.give(10)
    assert seen[1] == 10
