"""Options: what is known, what is refused, and the sentence that says what to do instead."""

from __future__ import annotations

import pytest

from moldau.spark.options import OPTIONS, OptionError, Options, Use
from moldau.spark.source.bounds import AtOffsets, AtTimes, Everywhere
from moldau.spark.source.settings import batch_settings, stream_settings
from moldau.types import TopicPartition

BASE = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "rivers"}


def refusal(use: Use, **given: str) -> str:
    with pytest.raises(OptionError) as caught:
        Options(
            {"kafka.bootstrap.servers": "x:1", **{name.replace("__", "."): text for name, text in given.items()}}, use
        )
    return str(caught.value)


def test_names_have_no_case() -> None:
    options = Options({"KAFKA.Bootstrap.Servers": "x:1", "SubScribe": "a"}, Use.STREAM_READ)
    assert options.text("subscribe") == options.text("SUBSCRIBE") == "a"
    assert "Subscribe" in options
    assert options.kafka == {"bootstrap.servers": "x:1"}


def test_brokers_must_be_named() -> None:
    with pytest.raises(OptionError, match=r"kafka\.bootstrap\.servers is missing"):
        Options({"subscribe": "rivers"}, Use.BATCH_READ)


@pytest.mark.parametrize(
    ("use", "name", "instead"),
    [
        (Use.STREAM_READ, "endingOffsets", "availableNow"),
        (Use.STREAM_READ, "endingTimestamp", "availableNow"),
        (Use.BATCH_READ, "maxOffsetsPerTrigger", "endingOffsets"),
        (Use.BATCH_READ, "maxTriggerDelay", "endingOffsets"),
        (Use.BATCH_READ, "topic", "subscribe"),
        (Use.STREAM_READ, "delivery", "read_committed"),
        (Use.BATCH_WRITE, "subscribe", "topic"),
        (Use.BATCH_WRITE, "startingOffsets", "topic"),
        (Use.STREAM_WRITE, "txnAppId", "checkpoint"),
        (Use.STREAM_READ, "checkpointLocation", "writeStream"),
        (Use.BATCH_READ, "path", "subscribe"),
        (Use.STREAM_READ, "subscrbe", "is subscribe meant?"),
        (Use.STREAM_READ, "bootstrap.servers", "is kafka.bootstrap.servers meant?"),
        (Use.STREAM_READ, "zzz", "kafka. before"),
        (Use.STREAM_READ, "kafka.auto.offset.reset", "startingOffsets"),
        (Use.STREAM_READ, "kafka.enable.auto.commit", "checkpoint"),
        (Use.STREAM_READ, "kafka.value.deserializer", "CAST"),
        (Use.STREAM_WRITE, "kafka.transactional.id", "delivery=exactly-once"),
        (Use.STREAM_READ, "kafka.ssl.truststore.locatio", "is kafka.ssl.truststore.location meant?"),
        (Use.STREAM_WRITE, "kafka.ssl.engine.factory.class", "kafka.ssl.truststore.location"),
        (Use.STREAM_READ, "kafka.linger.ms", "writing"),
        (Use.STREAM_WRITE, "kafka.isolation.level", "reading"),
        (Use.STREAM_READ, "kafka.isolation.levl", "is kafka.isolation.level meant?"),
    ],
)
def test_what_cannot_work_is_refused_with_an_alternative(use: Use, name: str, instead: str) -> None:
    sentence = refusal(use, **{name: "1"})
    assert instead in sentence
    assert sentence.endswith((".", "?"))


def test_every_option_has_a_place_where_it_is_taken_and_refusals_where_it_is_not() -> None:
    for name, where in OPTIONS.items():
        for use in (Use.BATCH_READ, Use.STREAM_READ, Use.BATCH_WRITE, Use.STREAM_WRITE):
            if where & use:
                assert name in Options({"kafka.bootstrap.servers": "x:1", name: "1"}, use)
            else:
                assert name in refusal(use, **{name: "1"})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"subscribe": "a", "assign": "{}"}, "Exactly one of"),
        ({}, "none is given"),
        ({"subscribe": " , "}, "names no topic"),
        ({"subscribePattern": "("}, "which is no pattern"),
        ({"assign": '{"a": 1}'}, "it must be JSON"),
        ({"assign": '{"a": [-1]}'}, "it must be JSON"),
        ({"subscribe": "a", "failOnDataLoss": "perhaps"}, "must be true or false"),
        ({"subscribe": "a", "includeHeaders": "perhaps"}, "must be true or false"),
        ({"subscribe": "a", "minPartitions": "0"}, "at least 1"),
        ({"subscribe": "a", "maxRecordsPerPartition": "x"}, "at least 1"),
        ({"subscribe": "a", "startingOffsets": "soon"}, "earliest, latest or JSON"),
        ({"subscribe": "a", "startingOffsets": '{"a": {"0": -3}}'}, "-3 for a-0"),
        ({"subscribe": "a", "startingOffsetsByTimestamp": '{"a": {"0": -1}}'}, "-1 for a-0"),
        ({"subscribe": "a", "startingTimestamp": "now"}, "at least 0"),
        ({"subscribe": "a", "startingOffsetsByTimestampStrategy": "no"}, "error or latest"),
        ({"subscribe": "a", "kafka.isolation.level": "none"}, "read_uncommitted or read_committed"),
        ({"subscribe": "a", "kafka.fetch.max.bytes": "many"}, "kafka.fetch.max.bytes"),
        ({"subscribe": "a", "kafkaConsumer.pollTimeoutMs": "0"}, "at least 1"),
        ({"subscribe": "a", "fetchOffset.numRetries": "-1"}, "at least 0"),
    ],
)
def test_values_are_checked(given: dict[str, str], sentence: str) -> None:
    for settings in (batch_settings, stream_settings):
        with pytest.raises(OptionError, match=sentence):
            settings({"kafka.bootstrap.servers": "x:1", **given})


def test_values_of_streams() -> None:
    for name in ("maxOffsetsPerTrigger", "minOffsetsPerTrigger"):
        with pytest.raises(OptionError, match="at least 1"):
            stream_settings({**BASE, name: "0"})
    with pytest.raises(OptionError, match="higher than"):
        stream_settings({**BASE, "maxOffsetsPerTrigger": "5", "minOffsetsPerTrigger": "6"})
    for text, milliseconds in (("15m", 900_000), ("2s", 2000), ("70", 70), ("1h", 3_600_000), ("5min", 300_000)):
        assert stream_settings({**BASE, "maxTriggerDelay": text}).max_delay_ms == milliseconds
    with pytest.raises(OptionError, match="a time such as"):
        stream_settings({**BASE, "maxTriggerDelay": "soon"})


def test_defaults_are_those_of_spark_s_connector() -> None:
    stream, batch = stream_settings(BASE), batch_settings(BASE)
    assert (stream.start, batch.start, batch.end) == (Everywhere(-1), Everywhere(-2), Everywhere(-1))
    assert stream.fail_on_data_loss
    assert stream.isolation == 0
    assert stream.max_delay_ms == 900_000
    assert (stream.poll_timeout, stream.retries, stream.unmatched) == (120.0, 3, "error")


def test_the_most_specific_bound_wins() -> None:
    given = {**BASE, "startingOffsets": '{"rivers": {"0": 7, "1": -2}}'}
    rivers = TopicPartition("rivers", 0)
    assert batch_settings(given).start == AtOffsets("startingOffsets", {rivers: 7, TopicPartition("rivers", 1): -2})
    given["startingOffsetsByTimestamp"] = '{"rivers": {"0": 1000}}'
    assert batch_settings(given).start == AtTimes("startingOffsetsByTimestamp", {rivers: 1000})
    given["startingTimestamp"] = "2000"
    assert batch_settings(given).start == AtTimes("startingTimestamp", 2000)


def test_a_batch_neither_starts_at_its_end_nor_ends_at_its_start() -> None:
    for text in ("latest", '{"rivers": {"0": -1}}'):
        with pytest.raises(OptionError, match="cannot start at the latest"):
            batch_settings({**BASE, "startingOffsets": text})
        stream_settings({**BASE, "startingOffsets": text})
    for text in ("earliest", '{"rivers": {"0": -2}}'):
        with pytest.raises(OptionError, match="cannot end at the earliest"):
            batch_settings({**BASE, "endingOffsets": text})


def test_the_group_has_the_same_name_in_every_run() -> None:
    assert stream_settings(BASE).group.id("5f0c") == "moldau-spark-rivers-5f0c"
    assert stream_settings(BASE).group.id("") == ""  # not before the query has a name that stays
    assert stream_settings({**BASE, "groupIdPrefix": "mine"}).group.id("5f0c") == "mine-rivers-5f0c"
    given = stream_settings({**BASE, "groupIdPrefix": "mine", "kafka.group.id": "this"}).group
    assert given.id("5f0c") == given.id("") == "this"
    long = stream_settings({**BASE, "subscribe": ",".join(f"topic-{number}" for number in range(100))})
    assert len(long.group.id("5f0c")) < 60
