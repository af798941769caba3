"""The record codecs of kafka-python and aiokafka, which the tests compare ours with."""

from __future__ import annotations

import warnings

from aiokafka.record._crecords.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record._crecords.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from aiokafka.record._crecords.legacy_records import LegacyRecordBatchBuilder as AiokafkaLegacyBuilder

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its own files by a call that Python has deprecated
    from kafka import codec as kafka_python_codecs
    from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder
    from kafka.record.legacy_records import LegacyRecordBatchBuilder as KafkaPythonLegacyBuilder

__all__ = [
    "AiokafkaBatch",
    "AiokafkaBuilder",
    "AiokafkaLegacyBuilder",
    "KafkaPythonBatch",
    "KafkaPythonBuilder",
    "KafkaPythonLegacyBuilder",
    "kafka_python_codecs",
]
