"""The fate of batches, compiled and plain: whatever is asked for and whenever, both tell the same records the same."""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau._speed.reference import delivery as reference

compiled = pytest.importorskip("moldau._speed.delivery")

RECORDS = 8
ERROR, OTHER = ValueError("the batch"), ValueError("this record")


@pytest.fixture(params=["compiled", "reference"])
def kind(request: pytest.FixtureRequest) -> ModuleType:
    return reference if request.param == "reference" else compiled  # type: ignore[no-any-return]


def record_of(kind: ModuleType, delivery: Any, index: int) -> Any:
    record = kind.SentRecord.__new__(kind.SentRecord)
    record.delivery, record.index, record.stamp = delivery, index, 1000 + index
    record.serialized_key_size, record.serialized_value_size, record.serialized_header_size = -1, index * 300, -1
    return record


ADD = st.tuples(st.just("add"), st.integers(0, RECORDS - 1), st.booleans(), st.sampled_from([(), (1,), (1, 2)]))
SPLIT = st.tuples(st.just("split"), st.integers(1, RECORDS - 1))
END = st.tuples(st.just("end"), st.integers(0, 3), st.sampled_from([-1, 0, 7_000_000_000]), st.sampled_from([-1, 55]))
FAIL = st.tuples(st.just("fail"), st.integers(0, 3), st.dictionaries(st.integers(0, RECORDS - 1), st.just(OTHER)))


def told(kind: ModuleType, steps: list[Any]) -> list[Any]:
    """Everything that can be seen of one batch while these steps are taken."""
    deliveries = [kind.Delivery("rivers", 2)]
    records = [record_of(kind, deliveries[0], index) for index in range(RECORDS)]
    seen: list[Any] = []
    for step in steps:
        match step:
            case ("add", index, on_error, arguments):
                add = records[index].add_errback if on_error else records[index].add_callback
                assert add(lambda *given: seen.append(given), *arguments) is records[index]
            case ("split", middle):
                if len(deliveries) == 1 and not deliveries[0].done:
                    deliveries += [kind.Delivery("rivers", 2), kind.Delivery("rivers", 2)]
                    deliveries[0].split([(0, deliveries[1]), (middle, deliveries[2])])
            case ("end", which, offset, time):
                settle(deliveries, which).complete(offset, time)
            case ("fail", which, errors):
                settle(deliveries, which).complete(error=ERROR, record_errors=errors)
        seen.append([(each.is_done, each.value, each.exception, each.succeeded(), each.failed()) for each in records])
        seen.append([(each.done, each.base_offset, len(each.parts), each.wait(0)) for each in deliveries])
        seen.append(deliveries[0].wait_to_the_end(0.0))
    return seen


def settle(deliveries: list[Any], which: int) -> Any:
    """A batch that was split is not answered any more; its parts are."""
    return deliveries[0] if len(deliveries) == 1 else deliveries[1 + which % 2]


@given(st.lists(ADD | SPLIT | END | FAIL, max_size=12))
def test_twins_tell_the_same(steps: list[Any]) -> None:
    assert told(compiled, steps) == told(reference, steps)


def test_who_waits_goes_on_when_everybody_was_told(kind: ModuleType) -> None:
    delivery = kind.Delivery("rivers", 0)
    in_callback, go_on = threading.Event(), threading.Event()
    told: list[int] = []

    def slow(metadata: Any) -> None:
        in_callback.set()
        go_on.wait(20)
        told.append(metadata.offset)

    record_of(kind, delivery, 0).add_callback(slow)
    completing = threading.Thread(target=delivery.complete, args=(5,))
    completing.start()
    assert in_callback.wait(20)
    # Known already, but a flush has not seen the end of it.
    assert delivery.done
    assert not delivery.wait(0)
    go_on.set()
    assert delivery.wait(20)
    assert told == [5]
    completing.join()


def test_a_wait_that_is_over_is_forgotten(kind: ModuleType) -> None:
    delivery = kind.Delivery("rivers", 0)
    assert not delivery.wait(0.001)
    waiting = threading.Thread(target=delivery.wait, args=(None,))
    waiting.start()
    delivery.complete(1)
    waiting.join(20)
    assert not waiting.is_alive()


def test_a_delivery_disowned_tells_nobody(kind: ModuleType) -> None:
    delivery = kind.Delivery("rivers", 0)
    record = record_of(kind, delivery, 0)
    seen: list[Any] = []
    record.add_callback(seen.append).add_errback(seen.append)
    delivery.disown(ERROR)
    assert record.exception is ERROR
    assert not seen
    # Who asks from here on is told.
    record.add_errback(seen.append)
    assert seen == [ERROR]


def test_a_callback_that_ends_the_thread_leaves_nobody_waiting(kind: ModuleType) -> None:
    delivery = kind.Delivery("rivers", 0)

    def end(_metadata: Any) -> None:
        raise SystemExit

    record_of(kind, delivery, 0).add_callback(end)
    with pytest.raises(SystemExit):
        delivery.complete(5)
    assert delivery.wait(0)


def test_callbacks_from_many_threads_are_all_called(kind: ModuleType) -> None:
    delivery = kind.Delivery("rivers", 0)
    seen: list[Any] = []

    def add() -> None:
        for index in range(2000):
            record_of(kind, delivery, index).add_callback(seen.append)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    delivery.complete(0)
    for thread in threads:
        thread.join()
    assert len(seen) == 8000
