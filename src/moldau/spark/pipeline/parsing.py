"""Columns out of bytes, and what becomes of records that do not fit: `parse` and `expect`.

Good and bad rows come from the same expression, so a record is in exactly one of both. The reason is worked out for
bad rows only; it may cost more than parsing itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from moldau.spark.pipeline.model import Part, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_CORRUPT: Final = "_moldau_corrupt"
_PARSED: Final = "_moldau_parsed"
_DECODED: Final = "_moldau_decoded"
_REASON: Final = "_moldau_reason"
# The record that a row was made of.
ORIGIN: Final = "_moldau_origin"
_ORIGINAL: Final = ("key", "value", "topic", "partition", "offset", "timestamp")

# What is known of a bad record, whatever step found it: the record as it was, why, and where it came from.
DEAD_LETTER_COLUMNS: Final = {
    "key": "binary",
    "value": "binary",
    "reason": "string",
    "step": "string",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
}


def with_origin(frame: DataFrame) -> DataFrame:
    """The rows of a topic, each with its record as one further column."""
    from pyspark.sql import functions as F

    return frame.withColumn(ORIGIN, F.struct(*_ORIGINAL))


def parse(pipeline: Pipeline, part: Part, frame: DataFrame) -> tuple[DataFrame, DataFrame | None]:
    """The parsed rows, and the bad ones if the step sends them to the dead letters."""
    from pyspark.sql import functions as F

    whole, names, corrupt_reason = _parsed(pipeline, part, frame)
    missing = [
        F.when(F.col(f"{_PARSED}.`{name}`").isNull(), F.lit(f"{name} is missing")) for name in part["required"] or []
    ]
    is_corrupt = F.col(_PARSED).isNull() | F.col(f"{_PARSED}.{_CORRUPT}").isNotNull()
    is_bad = is_corrupt
    for name in part["required"] or []:
        is_bad = is_bad | F.col(f"{_PARSED}.`{name}`").isNull()
    reason = F.when(is_corrupt, corrupt_reason).otherwise(F.concat_ws("; ", *missing) if missing else F.lit(""))
    columns = [F.col(f"{_PARSED}.`{name}`").alias(name) for name in names]
    columns += [F.expr(expression).alias(name) for name, expression in (part["keep"] or {}).items()]
    if ORIGIN in frame.columns:
        columns.append(F.col(ORIGIN))
    return _divide(part, whole, is_bad, reason, columns, frame[part["column"]].cast("binary"))


def expect(pipeline: Pipeline, part: Part, frame: DataFrame) -> tuple[DataFrame, DataFrame | None]:
    """The rows that meet every condition, and the others with the conditions they fail."""
    from pyspark.sql import functions as F

    failed = [
        F.when(~F.coalesce(F.expr(condition), F.lit(False)), F.lit(f"expected: {reason}"))
        for reason, condition in part["expect"].items()
    ]
    whole = frame.withColumn(_REASON, F.concat_ws("; ", *failed))
    columns = [F.col(f"`{name}`") for name in frame.columns]
    value = F.to_json(F.struct(*(F.col(f"`{name}`") for name in frame.columns if name != ORIGIN))).cast("binary")
    return _divide(part, whole, F.col(_REASON) != "", F.col(_REASON), columns, value)


def _divide(
    part: Part, whole: DataFrame, is_bad: Column, reason: Column, columns: list[Column], value: Column
) -> tuple[DataFrame, DataFrame | None]:
    from pyspark.sql import functions as F

    if part["bad"] == "fail":
        sentence = F.concat(F.lit(f"{part.place}: {part.owner} met a bad record: "), reason)
        good = whole.where(F.when(is_bad, F.raise_error(sentence).cast("boolean")).otherwise(F.lit(True)))
        return good.select(*columns), None
    good = whole.where(~is_bad).select(*columns)
    if part["bad"] == "drop":
        return good, None
    given: dict[str, Column] = {"value": value, "reason": reason, "step": F.lit(part.name)}
    if ORIGIN in whole.columns:
        given |= {name: F.col(f"{ORIGIN}.{name}") for name in _ORIGINAL}
    for name, kind in DEAD_LETTER_COLUMNS.items():
        if name not in given:
            known = name in whole.columns
            given[name] = F.col(name).try_cast(kind) if known else F.lit(None).cast(kind)
    return good, whole.where(is_bad).select(*(given[name].alias(name) for name in DEAD_LETTER_COLUMNS))


def _parsed(pipeline: Pipeline, part: Part, frame: DataFrame) -> tuple[DataFrame, list[str], Column]:
    """The frame with the parsed struct beside the record, the names of its fields, and why one is corrupt.

    The struct has a further field that is set where Spark's parser found the record corrupt.
    """
    from pyspark.sql import functions as F

    options = {"mode": "PERMISSIVE", **(part["options"] or {}), "columnNameOfCorruptRecord": _CORRUPT}
    form, column = part["parse"], frame[part["column"]]
    if form in ("json", "csv"):
        schema = _schema(frame, part["schema"])
        if form == "csv":
            ddl = part["schema"].rstrip().rstrip(",") + f", {_CORRUPT} STRING"
            parsed = F.from_csv(column.cast("string"), ddl, options)
        else:
            parsed = F.from_json(column.cast("string"), _with_corrupt(schema), options)
        return (
            frame.withColumn(_PARSED, parsed),
            schema.fieldNames(),
            _reasons(form, schema.json())(column.cast("binary")),
        )
    from moldau.spark.pipeline.decoding import decoder_of

    decoder = decoder_of(pipeline, part)
    schema = _schema(frame, decoder.schema)
    decoded = frame.withColumn(_DECODED, decoder.udf()(column))
    parsed = F.from_json(F.col(f"{_DECODED}.json"), _with_corrupt(schema), options)
    reason = F.coalesce(F.col(f"{_DECODED}.reason"), F.lit("the fields do not fit the schema"))
    return decoded.withColumn(_PARSED, parsed), schema.fieldNames(), reason


def _schema(frame: DataFrame, text: str) -> Any:
    return frame.sparkSession.createDataFrame([], text).schema


def _with_corrupt(schema: Any) -> Any:
    from pyspark.sql.types import StringType, StructField, StructType

    return StructType([*schema.fields, StructField(_CORRUPT, StringType())])


def _reasons(form: str, schema_json: str) -> Any:
    """A function of columns: the bytes -> why they are not what they should be."""
    import pandas
    from pyspark.sql.pandas import functions

    def explain(values: pandas.Series) -> pandas.Series:
        from moldau.spark.pipeline.reasons import explain as reason_of

        return values.map(lambda value: reason_of(form, value, schema_json))

    # Spark reads the types of a function from its annotations, which are texts in this file.
    explain.__annotations__ = {"values": pandas.Series, "return": pandas.Series}
    pandas_udf: Any = functions.pandas_udf
    return pandas_udf(explain, "string")
