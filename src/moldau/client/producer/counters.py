"""What a producer counts, and how it is shown: Kafka's names, in the groups kafka-python has.

Totals, averages and largest values since the producer was made. Who wants a rate takes the difference of two looks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from moldau.client.producer.batch import Batch


@dataclass(slots=True)
class TopicCounters:
    records: int = 0
    bytes: int = 0
    wire_bytes: int = 0
    errors: int = 0
    retries: int = 0

    def shown(self) -> dict[str, float]:
        return {
            "record-send-total": self.records,
            "byte-total": self.wire_bytes,
            "record-error-total": self.errors,
            "record-retry-total": self.retries,
            "compression-rate": self.wire_bytes / self.bytes if self.bytes else 0.0,
        }


@dataclass(slots=True)
class Counters:
    topics: dict[str, TopicCounters] = field(default_factory=dict)
    requests: int = 0
    answers: int = 0
    latency_total: float = 0.0
    latency_max: float = 0.0
    batches: int = 0
    batch_size_max: int = 0
    splits: int = 0

    def of(self, topic: str) -> TopicCounters:
        found = self.topics.get(topic)
        if found is None:
            found = self.topics[topic] = TopicCounters()
        return found

    def sent(self, batches: list[Batch]) -> None:
        """A request with these batches went out; a batch that is repeated has gone out before."""
        self.requests += 1
        for batch in batches:
            if batch.attempts == 1:
                self.batches += 1
                size = len(batch.packed or b"")
                self.batch_size_max = max(self.batch_size_max, size)
                topic = self.of(batch.lane.topic)
                topic.records += batch.count
                topic.bytes += batch.size
                topic.wire_bytes += size

    def answered(self, seconds: float) -> None:
        self.answers += 1
        self.latency_total += seconds
        self.latency_max = max(self.latency_max, seconds)

    def shown(self) -> dict[str, dict[str, float]]:
        everything = TopicCounters()
        for topic in tuple(self.topics.values()):
            everything.records += topic.records
            everything.bytes += topic.bytes
            everything.wire_bytes += topic.wire_bytes
            everything.errors += topic.errors
            everything.retries += topic.retries
        batches = self.batches or 1
        own = {
            "record-send-total": everything.records,
            "record-error-total": everything.errors,
            "record-retry-total": everything.retries,
            "record-size-avg": everything.bytes / everything.records if everything.records else 0.0,
            "records-per-request-avg": everything.records / self.requests if self.requests else 0.0,
            "batch-split-total": self.splits,
            "batch-size-avg": everything.wire_bytes / batches,
            "batch-size-max": self.batch_size_max,
            "records-per-batch-avg": everything.records / batches,
            "compression-rate-avg": everything.wire_bytes / everything.bytes if everything.bytes else 0.0,
            "outgoing-byte-total": everything.wire_bytes,
            "request-total": self.requests,
            "requests-in-flight": self.requests - self.answers,
            "request-latency-avg": self.latency_total * 1000 / self.answers if self.answers else 0.0,
            "request-latency-max": self.latency_max * 1000,
        }
        by_topic = {f"producer-topic-metrics.{name}": topic.shown() for name, topic in tuple(self.topics.items())}
        return {"producer-metrics": own, **by_topic}
