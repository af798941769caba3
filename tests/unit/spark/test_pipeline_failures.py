"""What is left of Spark's complaints when everything but the sentence is taken away."""

from __future__ import annotations

from moldau.spark.pipeline.failures import sentence_of


def test_a_sentence_of_ours_comes_through_alone() -> None:
    text = (
        "[USER_RAISED_EXCEPTION] p.yaml:4: step `a` met a bad record: it is small SQLSTATE: P0001\n"
        "=== Streaming Query ===\nIdentifier: ca [id = 1, runId = 2]\nCurrent State: ACTIVE"
    )
    assert sentence_of(text) == "p.yaml:4: step `a` met a bad record: it is small"


def test_an_error_in_the_user_s_function_has_its_line() -> None:
    text = (
        "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):\n"
        '  File "/opt/site-packages/pyspark/worker.py", line 9, in main\n    run()\n'
        '  File "/home/me/functions.py", line 5, in clean\n    raise ValueError("went wrong")\n'
        "ValueError: went wrong\n SQLSTATE: 38000\n=== Streaming Query ===\n"
    )
    assert sentence_of(text) == "/home/me/functions.py:5: ValueError: went wrong"


def test_an_error_of_the_package_needs_no_name() -> None:
    text = (
        "[PYTHON_EXCEPTION] ... Traceback (most recent call last):\n"
        '  File "/opt/site-packages/moldau/client/cluster.py", line 9, in run\n'
        "moldau.client.errors.NoBrokerAnswers: No broker answers at 127.0.0.1:1.\n"
    )
    assert sentence_of(text) == "No broker answers at 127.0.0.1:1."


def test_an_analysis_that_fails() -> None:
    text = (
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `amuont` cannot be resolved. Did you mean `amount`? "
        "SQLSTATE: 42703; line 1 pos 0;\n'Filter ('amuont > 1)\n+- Project\n"
    )
    assert sentence_of(text) == "A column with name `amuont` cannot be resolved. Did you mean `amount`?"


def test_an_error_that_only_java_knows() -> None:
    text = "An error occurred while calling o9.load.\n: org.apache.SparkException: [X_Y.Z] No such table.\n\tat a.b"
    assert sentence_of(text) == "No such table."


def test_something_unknown_keeps_its_words() -> None:
    assert sentence_of(RuntimeError("a\n b")) == "a b"
    assert sentence_of(RuntimeError()) == "RuntimeError"
