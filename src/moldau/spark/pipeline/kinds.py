"""Every kind of source, step and sink, with the fields it takes.

The field that bears the kind's own name says what is to be done (`topic: orders`, `filter: amount > 0`); the others
say how. One table per kind is all that reading, error sentences and the reference need.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from moldau.spark.pipeline.fields import (
    CHECKS,
    COLUMNS,
    DURATION,
    EXPRESSION,
    EXPRESSIONS,
    FLAG,
    FUNCTION,
    OPTIONS,
    PATH,
    ROWS,
    SCHEMA,
    SQL,
    TEXT,
    TEXTS,
    Duration,
    Field,
    Table,
    choice,
    number,
    table,
)


class Kind(NamedTuple):
    name: str
    meaning: str
    fields: Table


def _kinds(*kinds: Kind) -> Mapping[str, Kind]:
    return {kind.name: kind for kind in kinds}


_DESCRIPTION: Final = Field("description", TEXT, "a remark for readers")
_OPTIONS: Final = Field("options", OPTIONS, "further options, passed on to Spark as they are")
_STREAM: Final = Field("stream", FLAG, "read what is added later too, instead of once", False)
_BOOTSTRAP: Final = Field("bootstrap", TEXT, "brokers, if not the pipeline's")
_FILE_FORMATS: Final = ("json", "csv", "parquet", "orc", "text")

PIPELINE: Final = table(
    Field("pipeline", TEXT, "its name", required=True),
    _DESCRIPTION,
    Field("bootstrap", TEXT, "brokers of its topics, as `HOST:PORT,...`", "127.0.0.1:9092"),
    Field("checkpoint", PATH, "where Spark keeps positions and state; `checkpoints/NAME` beside the file if left out"),
    Field("trigger", DURATION, "how often a batch begins; 0s: as soon as the last one is done", Duration(1000)),
    Field("share", FLAG, "whether sinks that read the same topics share one query; those that can safely, if left out"),
    Field("spark", OPTIONS, "settings of the Spark session"),
)
SECTIONS: Final = ("sources", "steps", "sinks", "dead_letters", "restart")

RESTART: Final = table(
    Field("policy", choice("on-failure", "never"), "whether a failed run begins again", "on-failure"),
    Field("max", number(0), "how often in a row", 5),
    Field("backoff", DURATION, "the first wait; it doubles with each failure", Duration(2000)),
    Field("max_backoff", DURATION, "the longest wait", Duration(60_000)),
)

_TOPIC_SOURCE: Final = (
    _BOOTSTRAP,
    Field("starting", TEXT, "`earliest`, `latest` or offsets in JSON, for a stream that begins", "earliest"),
    Field("ending", TEXT, "`latest` or offsets in JSON; only with `stream: false`"),
    Field(
        "isolation",
        choice("read_committed", "read_uncommitted"),
        "whether records of transactions that are open or were aborted are left out",
        "read_committed",
    ),
    Field("max_per_batch", number(1), "the most records one batch takes"),
    Field("min_partitions", number(1), "split the work into at least so many tasks"),
    Field("on_data_loss", choice("fail", "ignore"), "what to do if records vanished before they were read", "fail"),
    Field("headers", FLAG, "with a column `headers`", False),
    _STREAM._replace(default=True),
    _OPTIONS,
    _DESCRIPTION,
)
_JDBC: Final = (
    Field("jdbc", TEXT, "address of a database, as `jdbc:postgresql://host/base`"),
    Field("user", TEXT, "who logs in"),
    Field("password", TEXT, "better as `${PASSWORD}` than in the file"),
    Field("driver", TEXT, "Java class of the driver, if Spark does not guess it"),
    _OPTIONS,
    _DESCRIPTION,
)

SOURCES: Final = _kinds(
    Kind("topic", "the records of topics", table(Field("topic", TEXTS, "one topic or several"), *_TOPIC_SOURCE)),
    Kind(
        "pattern",
        "the records of all topics whose names fit",
        table(Field("pattern", TEXT, "a regular expression for names of topics"), *_TOPIC_SOURCE),
    ),
    Kind(
        "file",
        "files in a directory",
        table(
            Field("file", PATH, "a file, a directory or a pattern with `*`"),
            Field("format", choice(*_FILE_FORMATS), "what is in them; guessed from the ending if left out"),
            Field("schema", SCHEMA, "columns; needed for streams and formats that do not carry them"),
            _STREAM,
            Field("max_per_batch", number(1), "the most files one batch takes"),
            _OPTIONS,
            _DESCRIPTION,
        ),
    ),
    Kind(
        "table",
        "a table of Spark's catalog",
        table(Field("table", TEXT, "its name"), _STREAM, _OPTIONS, _DESCRIPTION),
    ),
    Kind(
        "jdbc",
        "a table or a query of a database, read once per run",
        table(Field("table", TEXT, "a table"), Field("query", SQL, "or a query"), *_JDBC),
    ),
    Kind("rate", "numbered rows for trials", table(Field("rate", number(1), "rows per second"), _DESCRIPTION)),
    Kind(
        "rows",
        "a small table written into the file itself",
        table(Field("rows", ROWS, "its rows"), Field("schema", SCHEMA, "its columns", required=True), _DESCRIPTION),
    ),
    Kind(
        "python",
        "a function that takes the session and returns a DataFrame",
        table(Field("python", FUNCTION, "the function"), _STREAM, _OPTIONS, _DESCRIPTION),
    ),
    Kind(
        "format",
        "any other source that Spark knows by name",
        table(
            Field("format", TEXT, "its name, such as `delta`"),
            Field("schema", SCHEMA, "columns"),
            _STREAM,
            _OPTIONS,
            _DESCRIPTION,
        ),
    ),
)

_FROM: Final = Field("from", TEXTS, "what it reads: a source or a step")
_BAD: Final = Field(
    "bad",
    choice("dead-letter", "drop", "fail"),
    "what happens to bad records; dead-letter if `dead_letters` is declared",
)
_TIME: Final = Field("time", TEXT, "the column with the time of the event")
_BY: Final = Field("by", TEXTS, "columns that make a group", required=True)
_OUTPUT: Final = Field("output", SCHEMA, "columns of the rows it returns", required=True)
_STATE_MODE: Final = Field("mode", choice("append", "update"), "whether rows it returns are final", "append")
_TIMEOUT: Final = Field(
    "timeout", choice("none", "processing-time", "event-time"), "which clock its timers follow", "none"
)

STEPS: Final = _kinds(
    Kind("sql", "a query over other parts by their names", table(Field("sql", SQL, "the query"), _FROM, _DESCRIPTION)),
    Kind(
        "python",
        "a function that takes DataFrames and returns one",
        table(
            Field("python", FUNCTION, "the function"),
            Field("arguments", OPTIONS, "further arguments by name, as texts"),
            _FROM,
            _DESCRIPTION,
        ),
    ),
    Kind(
        "parse",
        "columns out of the bytes of a record",
        table(
            Field("parse", choice("json", "csv", "avro", "protobuf"), "what the bytes are"),
            Field("column", TEXT, "the column with the bytes", "value"),
            Field("schema", SCHEMA, "columns (JSON, CSV)"),
            Field("schema_file", PATH, "an Avro schema (.avsc), or a descriptor set of protoc"),
            Field("message", TEXT, "full name of the Protobuf message"),
            Field("framing", choice("none", "confluent"), "`confluent`: a registry's five bytes come first", "none"),
            Field("required", TEXTS, "fields without which a record is bad"),
            Field("keep", COLUMNS, "columns of the record itself to keep, such as `{arrived: timestamp}`"),
            _BAD,
            _OPTIONS,
            _FROM,
            _DESCRIPTION,
        ),
    ),
    Kind("filter", "the rows that meet a condition", table(Field("filter", EXPRESSION, "it"), _FROM, _DESCRIPTION)),
    Kind("select", "the columns that are named", table(Field("select", COLUMNS, "they"), _FROM, _DESCRIPTION)),
    Kind(
        "add", "further columns beside those there are", table(Field("add", EXPRESSIONS, "they"), _FROM, _DESCRIPTION)
    ),
    Kind(
        "expect",
        "conditions that every good record meets",
        table(Field("expect", CHECKS, "reason -> condition"), _BAD, _FROM, _DESCRIPTION),
    ),
    Kind(
        "join",
        "rows enriched by another part's",
        table(
            Field("join", TEXT, "the other part"),
            Field("using", TEXTS, "columns that are equal in both"),
            Field("where", EXPRESSION, "or a condition over both, by their names"),
            Field(
                "how", choice("inner", "left", "right", "full", "semi", "anti"), "what happens without a match", "inner"
            ),
            Field("broadcast", FLAG, "send the other part whole to every worker", False),
            _FROM,
            _DESCRIPTION,
        ),
    ),
    Kind(
        "union",
        "the rows of several parts, by column names",
        table(Field("union", TEXTS, "the other parts"), _FROM, _DESCRIPTION),
    ),
    Kind(
        "deduplicate",
        "the first row of each key",
        table(
            Field("deduplicate", TEXTS, "columns of the key"),
            _TIME,
            Field("within", DURATION, "how long a key is remembered, by the time of events"),
            _FROM,
            _DESCRIPTION,
        ),
    ),
    Kind(
        "aggregate",
        "sums, counts and the like by group and window",
        table(
            Field("aggregate", EXPRESSIONS, "new column -> aggregate"),
            Field("by", COLUMNS, "columns that make a group"),
            _TIME,
            Field("window", DURATION, "length of a window"),
            Field("slide", DURATION, "distance of windows, if not their length"),
            Field("session", DURATION, "or a window that ends after so long without an event"),
            Field("watermark", DURATION, "how late an event may be"),
            _FROM,
            _DESCRIPTION,
        ),
    ),
    Kind(
        "watermark",
        "how late events may be",
        table(Field("watermark", DURATION, "it"), _TIME._replace(required=True), _FROM, _DESCRIPTION),
    ),
    Kind(
        "stateful",
        "a function (key, pandas frames, state) -> pandas frames, with a state per group",
        table(
            Field("stateful", FUNCTION, "the function"),
            _BY,
            Field("state", SCHEMA, "columns of the state", required=True),
            _OUTPUT,
            _STATE_MODE,
            _TIMEOUT,
            _FROM,
            _DESCRIPTION,
        ),
    ),
    Kind(
        "processor",
        "a StatefulProcessor class, with several states and timers per group",
        table(Field("processor", FUNCTION, "the class"), _BY, _OUTPUT, _STATE_MODE, _TIMEOUT, _FROM, _DESCRIPTION),
    ),
)

_SINK: Final = (
    _FROM,
    Field("mode", choice("append", "update", "complete"), "which rows a batch writes", "append"),
    Field("trigger", DURATION, "how often a batch begins, if not as the pipeline says"),
    _DESCRIPTION,
)
_PARTITION_BY: Final = Field("partition_by", TEXTS, "columns that become directories")

SINKS: Final = _kinds(
    Kind(
        "topic",
        "records of a topic",
        table(
            Field("topic", TEXT, "its name"),
            _BOOTSTRAP,
            Field("key", EXPRESSION, "the key; none if left out"),
            Field("value", EXPRESSION, "the value; all columns as JSON if left out", "to_json(struct(*))"),
            Field("headers", EXPRESSIONS, "header -> expression"),
            Field("partition", EXPRESSION, "the partition, if not by the key"),
            Field("delivery", choice("exactly-once", "at-least-once"), "what a crash may do", "exactly-once"),
            _OPTIONS,
            *_SINK,
        ),
    ),
    *(
        Kind(form, f"files of {form}", table(Field(form, PATH, "a directory"), _PARTITION_BY, _OPTIONS, *_SINK))
        for form in ("parquet", "json", "csv", "orc")
    ),
    Kind(
        "delta",
        "a Delta table, where delta-spark is installed",
        table(Field("delta", PATH, "its directory"), _PARTITION_BY, _OPTIONS, *_SINK),
    ),
    Kind(
        "iceberg",
        "an Iceberg table, where its runtime is installed",
        table(Field("iceberg", TEXT, "its name in the catalog"), _OPTIONS, *_SINK),
    ),
    Kind(
        "jdbc",
        "rows of a database, at least once",
        table(Field("table", TEXT, "the table", required=True), *_JDBC[:-1], *_SINK),
    ),
    Kind("console", "the terminal", table(Field("console", number(1), "rows to show of each batch"), *_SINK)),
    Kind("memory", "a table in memory, for notebooks and tests", table(Field("memory", TEXT, "its name"), *_SINK)),
    Kind(
        "python",
        "a function that takes each batch and its number",
        table(Field("python", FUNCTION, "the function"), *_SINK),
    ),
    Kind(
        "format", "any other sink that Spark knows by name", table(Field("format", TEXT, "its name"), _OPTIONS, *_SINK)
    ),
)

KINDS: Final = {"source": SOURCES, "step": STEPS, "sink": SINKS}
