from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path

import pytest
from bench import schedule
from bench.__main__ import arguments, chosen_rows, names_in, wants_kafka
from bench.contenders import MOCK, MOLDAU, Contender
from bench.conversation import frame
from bench.results import Metric, Results
from bench.rows import BY_IMPORTANCE, EVERYTHING, FURTHER, ROWS, cluster, hostile, named, secured
from bench.rows.row import Plan, Row, Unanswered
from bench.schedule import Progress, Run, measure_all, minutes

from moldau.protocol.messages.describe_groups import DescribeGroupsRequest

METRIC = Metric("MB/s", "MB/s")


class Recorder:
    """Rows that note who was measured when, instead of measuring."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.fail_for = ""

    def measure(self, contender, plan):
        self.calls.append(contender.name)
        if contender.name == self.fail_for:
            raise RuntimeError("it fell over")
        return {"MB/s": float(len(self.calls))}


def run_of(rows: list[Row], repetitions: int = 3) -> Run:
    contenders = [Contender("moldau", []), Contender("Kafka", [])]
    plan = Plan(0.1, 0.5, 10, Path("nowhere"), [])
    return Run(rows, contenders, repetitions, plan, Results())


def measured(run: Run) -> None:
    measure_all(run, None, Progress(run.estimate(), lambda line: None))


def test_contenders_take_turns():
    recorder = Recorder()
    run = run_of([Row("C", "row", [METRIC], fresh=recorder.measure)])
    measured(run)
    assert recorder.calls == ["moldau", "Kafka"] * 3
    assert run.results.get("row", "MB/s").values == {"moldau": [1.0, 3.0, 5.0], "Kafka": [2.0, 4.0, 6.0]}


def test_who_fails_is_named_and_not_asked_again():
    recorder = Recorder()
    recorder.fail_for = "Kafka"
    run = run_of([Row("C", "row", [METRIC], fresh=recorder.measure)])
    measured(run)
    assert recorder.calls == ["moldau", "Kafka", "moldau", "moldau"]
    assert run.results.reasons == {("row", "Kafka"): "failed: RuntimeError: it fell over"}


def test_who_does_not_answer_is_asked_once_and_begins_anew(monkeypatch):
    asked, stopped = [], []

    class Brokers:
        def broker(self, contender):
            return contender.name

    def measure(contender, broker, plan):
        asked.append(contender.name)
        if contender.name == "Kafka":
            raise Unanswered("the request was not answered within 60 s", {"MB/s": 7.0})
        return {"MB/s": 1.0}

    monkeypatch.setattr(schedule, "stop", stopped.append)
    run = run_of([Row("C", "row", [METRIC], measure=measure, warmed=False)])
    measure_all(run, Brokers(), Progress(run.estimate(), lambda line: None))
    assert asked == ["moldau", "Kafka", "moldau", "moldau"]
    assert stopped == ["Kafka"]
    assert run.results.get("row", "MB/s").values == {"moldau": [1.0] * 3, "Kafka": [7.0]}
    assert run.results.remarks == {("row", "Kafka"): "the request was not answered within 60 s"}


class Mute:
    """Answers every Metadata until it is asked for something else, which is never answered; nor is anything then."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        self.silent = threading.Event()

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_failure):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=[self._listener.accept()[0]], daemon=True).start()

    def _serve(self, client):
        with contextlib.suppress(OSError), client, client.makefile("rb") as incoming:
            while len(head := incoming.read(4)) == 4:
                asked = incoming.read(int.from_bytes(head, "big"))
                if asked.startswith(b"\0\x0f"):
                    self.silent.set()
                elif not self.silent.is_set():
                    client.sendall(b"\0\0\0\4\0\0\0\1")


def test_a_broker_that_never_answers_does_not_hold_up_the_measurement():
    request = frame(DescribeGroupsRequest(groups=["g"]), 5)
    with Mute() as broker, pytest.raises(Unanswered, match="the request was not answered within 2 s") as raised:
        hostile.wait_beside(broker, lambda conversation: conversation.send(request), patience=2.0)
    assert raised.value.numbers["request"] >= 2000
    assert raised.value.numbers["longest wait"] >= 2000


def test_who_cannot_is_not_asked_and_costs_nothing():
    recorder = Recorder()
    row = Row("C", "row", [METRIC], fresh=recorder.measure, unable=lambda c: "no log" if c.name == "Kafka" else "")
    run = run_of([row])
    measured(run)
    assert recorder.calls == ["moldau"] * 3
    assert run.results.reasons == {("row", "Kafka"): "no log"}
    assert run.cost(row) == pytest.approx(run.cost(row._replace(unable=lambda c: "")) / 2)


def test_a_row_that_takes_long_is_repeated_less():
    recorder = Recorder()
    run = run_of([Row("C", "row", [METRIC], fresh=recorder.measure, most=1)])
    measured(run)
    assert recorder.calls == ["moldau", "Kafka"]


def test_titles_are_unique_and_every_row_has_its_work():
    assert len({row.title for row in EVERYTHING}) == len(EVERYTHING)
    assert all([row.measure, row.fresh, row.cluster, row.secured].count(None) == 3 for row in EVERYTHING)
    assert sum(row.chapter == "Produce" for row in EVERYTHING) == 3 * 2 * 2 * 3 * 2


def test_the_table_can_be_read_in_one_sitting_and_nothing_else_is_lost():
    assert 25 <= len(BY_IMPORTANCE) + 1 <= 50  # hostile requests are one line of it
    assert [row.title for row in ROWS] == list(BY_IMPORTANCE)
    assert {row.title for row in named(["worst"])} == {row.title for row in hostile.ROWS}
    assert {row.title for row in [*ROWS, *FURTHER]} == {row.title for row in EVERYTHING}


def test_rows_of_the_table_are_repeated_three_times():
    run = run_of(ROWS)
    # Those in which Java machines start again and again would take the most of an hour.
    assert {run.times(row) for row in ROWS if row.fresh is None or row.chapter != cluster.CHAPTER} <= {2, 3}
    assert {run.times(row) for row in ROWS if row.chapter != cluster.CHAPTER} == {3}


class StageOfNames:
    """Says which brokers a row was given."""

    def broker(self, contender):
        return f"one {contender.name}"

    def cluster(self, contender):
        return f"three {contender.name}"

    def secured(self, contender):
        return f"secured {contender.name}"


def test_a_row_is_given_one_broker_or_a_secured_one_or_three():
    given = []

    def measure(contender, broker, plan):
        given.append(broker)
        return {"MB/s": 1.0}

    rows = [
        Row("C", "one", [METRIC], measure, warmed=False),
        Row("C", "secured", [METRIC], secured=measure, warmed=False),
        Row("C", "3", [METRIC], cluster=measure, warmed=False),
    ]
    run = run_of(rows, 1)
    measure_all(run, StageOfNames(), Progress(run.estimate(), lambda line: None))
    kinds = ("one", "secured", "three")
    assert given == [f"{kind} {name}" for kind in kinds for name in ("moldau", "Kafka")]


def test_nodes_are_killed_when_nothing_else_is_left_to_measure():
    rows = chosen_rows(options("--all"), True, Results())
    first = next(index for index, row in enumerate(rows) if row.chapter == cluster.CHAPTER)
    assert {row.chapter for row in rows[first:]} == {cluster.CHAPTER}
    assert [row.title for row in rows[first:]] == [row.title for row in cluster.ROWS]
    # And those for single brokers come before those for secured ones, which take their place.
    assert {row.title for row in rows[first - len(secured.ROWS) : first]} == {row.title for row in secured.ROWS}


def test_there_is_no_cluster_of_the_mock():
    assert {bool(row.unable(MOCK)) for row in cluster.ROWS} == {True}
    assert not any(row.unable(MOLDAU) for row in cluster.ROWS)


def test_the_mock_is_not_asked_for_what_only_secured_brokers_have():
    assert {bool(row.unable(MOCK)) for row in secured.ROWS} == {True}
    assert not any(row.unable(MOLDAU) for row in secured.ROWS)


@pytest.mark.parametrize(
    ("words", "titles"),
    [
        (["2,000 groups"], ["2,000 groups commit offsets on 10 connections"]),
        (["start empty"], ["start, empty"]),
        (["request, 50 conn"], ["1 record per request, 50 connections"]),
        (["START, 500"], ["start, 500 partitions with data after a clean stop"]),
        (["no such row"], []),
    ],
)
def test_rows_are_named_by_a_part_of_their_title_or_by_words(words, titles):
    assert [row.title for row in named(words)] == titles


def test_several_names_are_several_rows_and_those_of_the_table_come_first():
    found = named(["idle ones", "fetch"])
    chapters = {"Connections", "Consume", "Size of a log", "Latency", hostile.CHAPTER, cluster.CHAPTER}
    assert {row.chapter for row in found} == chapters
    assert found[0] in ROWS


def options(*words: str):
    return arguments(list(words))


def test_contenders_are_named_with_commas_or_blanks_and_kafka_is_fetched_for_it():
    for words in (["--only", "moldau,kafka"], ["--only", "Moldau", "Kafka"]):
        assert names_in(options(*words).only) == {"moldau", "kafka"}
        assert wants_kafka(options(*words))
    assert not wants_kafka(options("--only", "moldau"))
    assert wants_kafka(options("--peers"))


def test_rows_can_be_named_in_both_places():
    assert options("idle", "fetch").rows == options("--rows", "idle", "fetch").rows == ["idle", "fetch"]


def test_without_kafka_its_own_programs_are_left_out_and_haste_leaves_out_more():
    kept = chosen_rows(options(), False, Results())
    assert not any(row.needs_kafka for row in kept)
    assert len(chosen_rows(options("--quick"), False, Results())) < len(kept)
    with pytest.raises(SystemExit, match="2,000 groups commit offsets"):
        chosen_rows(options("no such row"), False, Results())


def test_what_is_left_is_guessed_from_how_it_went():
    now = iter([0.0, 20.0])
    said: list[str] = []
    progress = Progress(100.0, said.append, lambda: next(now))
    progress.advance(10.0, "half as fast as planned")
    assert said == ["[0:20, about 3:00 left] half as fast as planned"]


def test_minutes():
    assert minutes(754.9) == "12:34"
