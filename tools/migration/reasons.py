"""Why something differs: by name, by `Client(setting)`, by `Client.method`, by `answer: question`."""

from __future__ import annotations

from typing import Final

INERT_REASON: Final = "taken, without effect: it belongs to the other library's own machinery"

_RAISED: Final = "raised: an error within an answer that nobody looks at would go unnoticed"
_NAMED: Final = "`moldau-consumer-1` and the like: it names this client"
_POSITIONAL: Final = "the same, given by position; the names of the arguments are our own"
_PROXY: Final = "refused: connections go straight to the broker, and a proxy silently passed by is worse than none"
_RECONNECT: Final = "as in Java: a broker that is back is found within a second, not half a minute"
_PARTITIONER: Final = (
    "keys go where theirs go; without a key one partition until a batch is full, which makes larger batches than a "
    "random one for each record. `partitioner.DefaultPartitioner()` does it their way"
)
_MECHANISM: Final = (
    "the same where SASL is not used; with SASL the mechanism has to be named, so that no password is sent by mistake"
)
_GROUP: Final = "without `group`: which connection is used is decided here"
_IDEMPOTENT: Final = "on, as in Java and kafka-python: a record that is sent again is written once"
_REBALANCE: Final = "taken; how long a rebalance waits for a member is `max_poll_interval_ms`, as in Java"
_INVALID_RECORD: Final = (
    "the name belongs to what damaged bytes raise; the broker's error is derived from it, so `except "
    "InvalidRecordError` catches it"
)
_ABOVE_ALL: Final = (
    "every error of the clients is a RuntimeError; the class above them, which the server raises too, is not"
)
_UNKNOWN_TOPIC: Final = "raised by its own name (UnknownTopicOrPartitionError), not as a setting that is not known"

REASONS: Final[dict[str, str]] = {
    "kafka.net.sasl.oauth.SaslMechanismOAuth": "the inside of kafka-python's connection",
    "aiokafka.structs.BrokerMetadata": "answers of the admin client are dictionaries with the protocol's names",
    "aiokafka.structs.PartitionMetadata": "likewise a dictionary",
    "aiokafka.structs.RecordMetadata": "as in kafka-python: without `timestamp_type` and `log_start_offset`",
    "Future.add_both": _POSITIONAL,
    "Future.add_callback": _POSITIONAL,
    "Future.add_errback": _POSITIONAL,
    "Future.failure": _POSITIONAL,
    "AIOKafkaClient.ready": _GROUP,
    "AIOKafkaClient.send": f"{_GROUP}; requests are those of `moldau.protocol.messages`",
    "*(partitioner)": _PARTITIONER,
    "*(reconnect_backoff_max_ms)": _RECONNECT,
    "*(proxy_url)": _PROXY,
    "*(socks5_proxy)": _PROXY,
    "*(client_id)": _NAMED,
    "*(sasl_mechanism)": _MECHANISM,
    "KafkaConsumer(default_offset_commit_callback)": "theirs does nothing",
    "AIOKafkaProducer(acks)": "all, because idempotence is on",
    "AIOKafkaProducer(enable_idempotence)": _IDEMPOTENT,
    "AIOKafkaConsumer(rebalance_timeout_ms)": _REBALANCE,
    "AIOKafkaConsumer(consumer_timeout_ms)": "taken, without effect: nothing here waits in steps",
    "AIOKafkaConsumer(client_rack)": "both mean none",
    "kafka.errors.InvalidRecordError": _INVALID_RECORD,
    "aiokafka.errors.KafkaError": _ABOVE_ALL,
    "answer: alter_configs, not valid": _RAISED,
    "answer: alter_configs, unknown topic": _UNKNOWN_TOPIC,
    "answer: describe_configs, unknown topic": _RAISED,
    "answer: alter_group_offsets, unknown topic": _RAISED,
    "answer: delete_groups, unknown": _RAISED,
}
