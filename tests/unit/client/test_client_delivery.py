"""The fate of batches, as the futures of their records tell it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from moldau.client.future import Future
from moldau.client.producer.delivery import Delivery, FutureRecordMetadata, refused
from moldau.errors import MessageSizeTooLargeError
from moldau.errors.named import KafkaTimeoutError


def future_of(delivery: Delivery, index: int) -> FutureRecordMetadata:
    future = FutureRecordMetadata.__new__(FutureRecordMetadata)
    future.delivery, future.index, future.stamp = delivery, index, 77
    future.serialized_key_size = future.serialized_value_size = future.serialized_header_size = -1
    return future


def test_a_batch_settles_all_its_records() -> None:
    delivery = Delivery("rivers", 2)
    futures = [future_of(delivery, index) for index in range(3)]
    seen: list[Any] = []
    futures[1].add_callback(seen.append)
    with pytest.raises(KafkaTimeoutError):
        futures[0].get(0)
    delivery.complete(100, 5)
    assert [future.get(0).offset for future in futures] == [100, 101, 102]
    assert futures[2].get(0).timestamp == 5
    assert seen == [futures[1].get(0)]


def test_one_bad_record_has_its_own_error() -> None:
    delivery = Delivery("rivers", 0)
    futures = [future_of(delivery, index) for index in range(2)]
    all_of_them, this_one = ValueError("the batch"), ValueError("this record")
    errors: list[BaseException] = []
    futures[1].add_errback(errors.append)
    delivery.complete(error=all_of_them, record_errors={1: this_one})
    assert [future.exception for future in futures] == [all_of_them, this_one]
    assert errors == [this_one]
    assert futures[0].value is None


def test_records_follow_their_batch_when_it_is_split() -> None:
    whole, left, right = Delivery("rivers", 0), Delivery("rivers", 0), Delivery("rivers", 0)
    futures = [future_of(whole, index) for index in range(4)]
    seen: list[Any] = []
    futures[3].add_callback(seen.append)
    found: list[int] = []
    waiting = threading.Thread(target=lambda: found.append(futures[2].get(10).offset))
    waiting.start()
    whole.split([(0, left), (2, right)])
    left.complete(10)
    assert [futures[0].get(0).offset, futures[1].get(0).offset] == [10, 11]
    assert not futures[2].is_done
    right.complete(50)
    waiting.join()
    assert found == [50]
    assert seen == [futures[3].get(0)]
    assert futures[3].get(0).offset == 51
    assert whole.wait_to_the_end(None)


def test_a_callback_that_fails_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    delivery = Delivery("rivers", 0)
    seen: list[Any] = []
    future_of(delivery, 0).add_callback(lambda _value: 1 / 0).add_callback(seen.append)
    delivery.complete(1)
    assert len(seen) == 1
    assert "a callback of a future failed" in caplog.text


def test_refused_at_once() -> None:
    future = refused("rivers", None, MessageSizeTooLargeError("no"))
    assert future.failed()
    assert not future.retriable()
    chained = Future()
    future.chain(chained)
    with pytest.raises(MessageSizeTooLargeError):
        chained.get(0)
