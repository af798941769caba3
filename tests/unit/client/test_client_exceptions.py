"""Errors by name: kafka-python's names, our codes, one root."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

import moldau
from moldau import errors
from moldau.client.errors import NoBrokerAnswers
from moldau.client.exceptions import named
from moldau.errors.named import BY_CODE, for_code
from moldau.links.errors import ConnectionFailed, RequestTimedOut

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import kafka.errors


def test_every_error_a_broker_can_answer_with_has_the_name_it_has_in_kafka_python() -> None:
    for number, theirs in kafka.errors.kafka_errors.items():
        if number in {int(code) for code in errors.ErrorCode}:
            ours = for_code(number)
            assert ours.__name__ == theirs.__name__
            assert ours.errno == number


def test_errors_are_caught_by_name_by_kind_and_by_root() -> None:
    error = errors.NotLeaderForPartitionError("moved")
    assert isinstance(error, errors.KafkaError)
    assert isinstance(error, errors.RetriableError)
    assert isinstance(error, errors.BrokerResponseError)
    assert str(error) == "moved"
    with pytest.raises(AttributeError):
        errors.NoSuchError  # noqa: B018


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (errors.KafkaError(errors.ErrorCode.TOPIC_ALREADY_EXISTS), "TopicAlreadyExistsError"),
        (ConnectionFailed("gone"), "KafkaConnectionError"),
        (RequestTimedOut("late"), "KafkaTimeoutError"),
        (NoBrokerAnswers(["a:1"]), "NoBrokersAvailable"),
        (ValueError("not ours"), "ValueError"),
    ],
)
def test_the_core_s_errors_get_their_names(error: BaseException, name: str) -> None:
    assert type(named(error)).__name__ == name
    assert str(named(error)) == str(error)


def test_one_class_per_code() -> None:
    assert set(BY_CODE) == set(errors.ErrorCode)


def test_everything_promised_can_be_imported() -> None:
    for name in moldau.__all__:
        assert getattr(moldau, name) is not None
    with pytest.raises(AttributeError):
        moldau.KafkaNothing  # noqa: B018


def test_importing_moldau_loads_no_client() -> None:
    code = "import sys, moldau; print(sorted(name for name in sys.modules if name.startswith('moldau.')))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
