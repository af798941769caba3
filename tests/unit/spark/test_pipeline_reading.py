"""What a pipeline's file may say, and that every mistake is answered with its line and what would be allowed."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from moldau.spark.pipeline import InvalidPipeline, Pipeline, PipelineError, load
from moldau.spark.pipeline.fields import parse_duration
from moldau.spark.pipeline.kinds import KINDS
from moldau.spark.pipeline.template import template

pytest.importorskip("yaml")

_WHOLE = """\
pipeline: orders
sources:
  orders:
    topic: orders
steps:
  parsed:
    from: orders
    parse: json
    schema: id STRING, at TIMESTAMP
sinks:
  out:
    from: parsed
    topic: out
dead_letters:
  topic: dead
"""


def write(tmp_path: Path, text: str, name: str = "orders.yaml") -> str:
    path = tmp_path / name
    path.write_text(dedent(text))
    return str(path)


def read(tmp_path: Path, text: str, **variables: str) -> Pipeline:
    return load(write(tmp_path, text), variables)


def problems(tmp_path: Path, text: str) -> list[str]:
    """Findings as `LINE: text`."""
    path = write(tmp_path, text)
    with pytest.raises(InvalidPipeline) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:")
    return [f"{each.place.line}: {each.text}" for each in caught.value.problems]


def one_problem(tmp_path: Path, text: str) -> str:
    found = problems(tmp_path, text)
    assert len(found) == 1, found
    return found[0]


def test_a_whole_file_becomes_a_pipeline(tmp_path: Path) -> None:
    pipeline = read(tmp_path, _WHOLE)
    assert pipeline.name == "orders"
    assert pipeline.bootstrap == "127.0.0.1:9092"
    assert pipeline.checkpoint == str(tmp_path / "checkpoints" / "orders")
    assert pipeline.status_file == str(tmp_path / "checkpoints" / "orders.status.json")
    assert pipeline.sources["orders"].streaming
    assert pipeline.steps["parsed"]["bad"] == "dead-letter"
    assert pipeline.sinks["out"]["delivery"] == "exactly-once"
    assert pipeline.dead_letters is not None
    assert pipeline.dead_letters.inputs == ["parsed"]
    assert pipeline.steps["parsed"].line("schema").line == 9


def test_steps_are_put_in_order_whatever_the_file_s_order(tmp_path: Path) -> None:
    pipeline = read(
        tmp_path,
        """\
        pipeline: p
        sources: {numbers: {rate: 5}}
        steps:
          c: {from: b, filter: value > 2}
          b: {from: a, filter: value > 1}
          a: {sql: SELECT * FROM numbers}
        sinks: {out: {from: c, console: 5}}
        """,
    )
    assert list(pipeline.steps) == ["a", "b", "c"]
    assert pipeline.steps["a"].inputs == ["numbers"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("    topic: orders", "    topik: orders", "4: source `orders` does not say what it is; did you mean `topic`?"),
        ("    parse: json", "    parse: jsn", "8: `parse` of step `parsed` (parse) is `jsn`; did you mean `json`?"),
        (
            "    from: parsed",
            "    from: prased",
            "12: sink `out` reads `prased`, which is not there; did you mean `parsed`?",
        ),
        ("sources:", "source:", "2: the pipeline has no field `source`; did you mean `sources`?"),
        ("    schema:", "    shcema:", "9: step `parsed` (parse) has no field `shcema`; did you mean `schema`?"),
        ("    topic: out", "    topic: [a, b]", "13: `topic` of sink `out` (topic) is a list, but it takes a text."),
        ("    from: orders", "    from: orders\n    filter: id > 1", "6: step `parsed` is several things at once"),
        ("pipeline: orders", "pipeline: or ders", "1: `or ders` is no name"),
        ("  out:", "  out 1:", "11: `out 1` is no name for a sink"),
        ("  topic: dead", "  topc: dead", "15: `dead_letters` does not say what it is; did you mean `topic`?"),
        ("  topic: dead", "  topic: dead\n  key: id", "16: `dead_letters` (topic) has no field `key`"),
    ],
)
def test_a_slip_is_answered_with_its_line_and_the_closest_name(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    found = problems(tmp_path, _WHOLE.replace(old, new, 1))
    assert any(each.startswith(expected) for each in found), found


def test_all_problems_are_shown_at_once_in_the_order_of_lines(tmp_path: Path) -> None:
    broken = _WHOLE.replace("parse: json", "parse: jsn").replace("topic: out", "topik: out")
    found = problems(tmp_path, broken)
    assert [int(each.split(":")[0]) for each in found] == [8, 13]


def test_a_part_too_broken_to_read_is_not_also_reported_as_missing(tmp_path: Path) -> None:
    assert one_problem(tmp_path, _WHOLE.replace("parse: json", "prase: json")).startswith(
        "8: step `parsed` does not say"
    )


def test_yaml_that_is_none_names_the_line(tmp_path: Path) -> None:
    assert one_problem(tmp_path, "pipeline: x\nsources: [\n").startswith("3: this is not YAML:")


def test_an_empty_file_says_how_to_begin(tmp_path: Path) -> None:
    assert "moldau pipeline new" in one_problem(tmp_path, "")


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    text = "pipeline: p\nsources:\n  a: {rate: 1}\n  a: {rate: 2}\nsinks: {o: {from: a, console: 1}}\n"
    assert one_problem(tmp_path, text) == "4: `a` appears twice; the first is on line 3."


def test_variables_come_from_the_caller_then_the_environment_then_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unquoted = """\
        pipeline: p
        bootstrap: ${WHERE:-default:1}
        sources:
          a:
            rate: ${RATE}
        sinks: {o: {from: a, console: 1}}
        """
    monkeypatch.setenv("RATE", "7")
    pipeline = read(tmp_path, unquoted)
    assert pipeline.bootstrap == "default:1"
    assert pipeline.sources["a"]["rate"] == 7
    monkeypatch.setenv("WHERE", "environment:1")
    assert read(tmp_path, unquoted).bootstrap == "environment:1"
    assert read(tmp_path, unquoted, WHERE="given:1").bootstrap == "given:1"
    monkeypatch.delenv("RATE")
    assert one_problem(tmp_path, unquoted).startswith("5: the variable `RATE` is not set; set it in the environment")


def test_a_circle_is_named(tmp_path: Path) -> None:
    text = """\
        pipeline: p
        sources: {s: {rate: 1}}
        steps:
          a: {from: b, filter: x > 1}
          b: {from: a, filter: x > 1}
        sinks: {o: {from: a, console: 1}}
        """
    assert re.match(r"4: steps read each other in a circle: (a -> b -> a|b -> a -> b)", one_problem(tmp_path, text))


@pytest.mark.parametrize(
    ("steps", "sink", "expected"),
    [
        ("parsed: {from: s, parse: json, bad: drop}", "from: parsed", "needs a `schema`"),
        ("parsed: {from: s, parse: avro, bad: drop}", "from: parsed", "needs a `schema_file`: an Avro schema"),
        ("parsed: {from: s, parse: json, schema: a INT}", "from: parsed", "may meet bad records; say where they go"),
        ("j: {from: s, join: t}", "from: j", "needs either `using` (equal columns) or `where`"),
        ("j: {from: s, join: t, using: a, how: right}", "from: j", "allowed here: `inner` and `left`"),
        ("a: {from: s, aggregate: {n: count(*)}, by: value}", "from: a", "never knows when a group is final"),
        (
            "a: {from: s, aggregate: {n: count(*)}, window: 1m}",
            "from: a, mode: update",
            "has `window` and needs `time`",
        ),
        ("d: {from: s, deduplicate: id, within: 1m}", "from: d", "has `within` and needs `time`"),
        ("f: {from: [s, t], filter: a > 1}", "from: f", "reads one part only"),
        ("q: {sql: SELECT 1}", "from: q", "reads none of `s`, `t`"),
        ("f: {from: s, stateful: 'a.py:f', by: a}", "from: f", "lacks `state`"),
        ("f: {from: s, python: nonsense}", "from: f", "takes a Python function, as in `functions.py:clean`"),
    ],
)
def test_what_cannot_work_is_refused_before_spark_starts(tmp_path: Path, steps: str, sink: str, expected: str) -> None:
    text = f"""\
pipeline: p
sources:
  s: {{rate: 1}}
  t: {{rows: [[1]], schema: a INT}}
steps:
  {steps}
sinks:
  o: {{{sink}, console: 5}}
"""
    found = problems(tmp_path, text)
    assert any(expected in each for each in found), found


def test_files_only_take_appended_rows(tmp_path: Path) -> None:
    text = "pipeline: p\nsources: {s: {rate: 1}}\nsinks:\n  o:\n    from: s\n    parquet: out\n    mode: update\n"
    assert one_problem(tmp_path, text) == "7: sink `o` writes parquet, which only takes `mode: append`."


def test_notes_say_what_is_allowed_but_odd(tmp_path: Path) -> None:
    pipeline = read(
        tmp_path,
        """\
        pipeline: p
        sources: {s: {rate: 1}, unread: {rate: 1}}
        steps: {d: {from: s, deduplicate: value}}
        sinks: {o: {from: d, console: 1}}
        """,
    )
    assert len(pipeline.notes) == 2
    assert "remembers every key for ever" in pipeline.notes[0]
    assert "nothing reads source `unread`" in pipeline.notes[1]


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("500ms", 500), ("30s", 30_000), ("10 minutes", 600_000), ("1h 30m", 5_400_000), ("0s", 0), ("1.5 s", 1500)],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize("text", ["10", "10 parsecs", "s", "-1s", "1s and more"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        parse_duration(text)


@pytest.mark.parametrize("name", ["orders.yaml", "orders.py"])
def test_the_template_is_valid(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, template(name, "orders"), name)
    pipeline = load(path)
    assert pipeline.name == "orders"
    assert not pipeline.notes


def test_the_wait_before_a_restart_doubles_up_to_its_limit(tmp_path: Path) -> None:
    restart = read(tmp_path, _WHOLE + "restart: {max: 4, backoff: 1s, max_backoff: 3s}\n").restart
    assert [restart.wait(failures) for failures in (1, 2, 3, 4, 5)] == [1.0, 2.0, 3.0, 3.0, None]
    assert read(tmp_path, _WHOLE + "restart: never\n").restart.wait(1) is None


def test_every_kind_has_the_field_of_its_name_and_every_field_a_meaning() -> None:
    for kinds in KINDS.values():
        for kind in kinds.values():
            assert kind.name in kind.fields
            assert all(field.meaning and field.type.takes for field in kind.fields.values())


# ------------------------------------------------------------------------------------------------------------ Python


def test_a_python_file_declares_the_same_pipeline(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        from moldau.spark.pipeline import Declaration, variable

        p = Declaration("orders", bootstrap=variable("WHERE", "x:1"))
        p.source("orders", topic="orders")

        @p.step(from_="orders")
        def large(orders):
            return orders.where("amount > 1")

        p.sink("out", from_="large", topic="out")
        """,
        "orders.py",
    )
    pipeline = load(path, {"WHERE": "y:2"})
    assert pipeline.bootstrap == "y:2"
    assert pipeline.steps["large"].kind == "python"
    assert pipeline.steps["large"].place.line == 6
    assert pipeline.steps["large"]["python"].__name__ == "large"


def test_mistakes_in_python_have_lines_too(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        from moldau.spark.pipeline import Declaration
        p = Declaration("orders")
        p.source("orders", topic="orders")
        p.sink("out", from_="ordres", topic="out")
        """,
        "orders.py",
    )
    with pytest.raises(
        InvalidPipeline, match=rf"{re.escape(path)}:4: sink `out` reads `ordres`.*did you mean `orders`"
    ):
        load(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\n", "leaves no Declaration"),
        ("x = 1\nx.nothing\n", r":2: AttributeError"),
        ("x = (\n", "this is not Python"),
    ],
)
def test_python_that_declares_nothing_or_fails(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(PipelineError, match=expected):
        load(write(tmp_path, text, "broken.py"))


def test_only_yaml_and_python_are_pipelines(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="neither YAML"):
        load(write(tmp_path, "{}", "orders.json"))


def test_a_tree_that_is_no_mapping_is_refused(tmp_path: Path) -> None:
    assert "begins with `pipeline: NAME`" in one_problem(tmp_path, "- a\n")
