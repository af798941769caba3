from __future__ import annotations

from bench.results import Metric, Results
from bench.rows import BY_IMPORTANCE, ROWS, hostile
from bench.standing import NOT_WON, beside_others, main_peer, remarks, standing, table_measurements

RATE = Metric("requests/s", "/s")
P99 = Metric("p99", "us", more_is_better=False)
WAIT = Metric("longest wait", "ms", more_is_better=False)
TOOK = Metric("request", "ms", more_is_better=False)


def both(results: Results, row: str, metric: Metric, ours: float, theirs: float, chapter: str = "C") -> None:
    results.add(chapter, row, metric, "moldau", ours)
    results.add(chapter, row, metric, "Kafka", theirs)


def test_losses_come_first_and_what_matters_more_before_what_matters_less():
    results = Results()
    important, less, least, last = BY_IMPORTANCE[:4]
    both(results, "not of the table", RATE, 1, 2)
    both(results, last, RATE, 3, 2)
    both(results, least, RATE, 1, 100)
    both(results, less, RATE, 9, 10)
    both(results, important, RATE, 20, 10)
    found = standing(results, "Kafka")
    assert [row.title for row in found.behind] == [less, least, "not of the table"], "not by how much was lost"
    assert [row.title for row in found.ahead] == [important, last]
    assert [row.title for row in found.rows] == [less, least, "not of the table", important, last]


def test_a_rate_that_was_bought_with_a_tail_is_a_loss():
    results = Results()
    both(results, "row", RATE, 200, 100)
    both(results, "row", P99, 30, 10)
    found = standing(results, "Kafka")
    (row,) = found.behind
    assert row.worst("Kafka").metric == P99
    assert found.words == "better in every number of 0 of 1 rows, and in 1 of 2 numbers"


def test_equal_is_not_lost_and_a_number_without_a_peer_does_not_count():
    results = Results()
    both(results, "row", RATE, 100, 100)
    results.add("C", "row", P99, "moldau", 5.0)
    found = standing(results, "Kafka")
    assert [row.title for row in found.ahead] == ["row"]
    assert found.ahead[0].worst("Kafka").metric == RATE


def test_hostile_requests_are_one_row_the_worst_of_each_repetition():
    results = Results()
    for row, ours, theirs in (("a", [1.0, 9.0], [5.0, 5.0]), ("b", [4.0, 2.0], [7.0, 3.0])):
        results.add(hostile.CHAPTER, row, WAIT, "moldau", *ours)
        results.add(hostile.CHAPTER, row, WAIT, "Kafka", *theirs)
        results.add(hostile.CHAPTER, row, TOOK, "moldau", 1000.0)
    (summary,) = table_measurements(results)
    assert summary.row == "worst wait beside hostile requests: the worst of 2"
    assert summary.values == {"moldau": [4.0, 9.0], "Kafka": [7.0, 5.0]}
    found = standing(results, "Kafka")
    assert len(found.rows) == 1
    ((chapter, measurements),) = beside_others(results, found)
    assert chapter == hostile.CHAPTER
    assert {each.row for each in measurements} == {"a", "b"}, "each of them is shown further down"


def test_rows_that_kafka_has_no_number_for_are_shown_elsewhere_and_not_lost():
    results = Results()
    both(results, "row", RATE, 2, 1)
    results.add("C", "only ours", RATE, "moldau", 1.0)
    results.reasons["only ours", "Kafka"] = "failed"
    results.add("Python clients", "produce", RATE, "confluent-kafka", 1.0)
    found = standing(results, "Kafka")
    assert [(chapter, [each.row for each in some]) for chapter, some in beside_others(results, found)] == [
        ("C", ["only ours"]),
        ("Python clients", ["produce"]),
    ]


def test_the_table_stands_beside_kafka_else_beside_the_mock_else_beside_nobody():
    results = Results()
    results.add("C", "row", RATE, "moldau", 1.0)
    assert main_peer(results) is None
    results.add("C", "row", RATE, "mock", 1.0)
    assert main_peer(results) == "mock"
    results.add("C", "row", RATE, "Kafka", 1.0)
    assert main_peer(results) == "Kafka"


def test_what_cannot_be_won_has_a_row_and_its_reason_is_told_where_it_is_lost():
    for (row, metric), why in NOT_WON.items():
        results = Results()
        both(results, row, Metric(metric, "MB", more_is_better=False), 4, 1)
        assert remarks(results, {row}) == [f"moldau {why} ({row})"]
        assert remarks(results, {"another row"}) == []
        won = Results()
        both(won, row, Metric(metric, "MB", more_is_better=False), 1, 4)
        assert remarks(won, {row}) == []
    known = {(row.title, metric.name) for row in ROWS for metric in row.metrics}
    assert NOT_WON.keys() <= known
