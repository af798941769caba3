"""Why something differs: by name, by `Client(setting)`, by `Client.method`, by `answer: question`, by `case: what`."""

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

_CANNOT_WORK: Final = "refused when the client is made, not found out later or never: it cannot work"
_CONFIGURATION: Final = "KafkaConfigurationError, which is a ValueError, as for every setting"
_CONNECTED: Final = "true as long as any broker is connected, whoever made the connection"
_UNANSWERED: Final = "a RecordMetadata with offset -1: nobody said where the record is"
_PAIR: Final = "any pair of topic and partition will do"
_AT_ONCE: Final = "UnknownTopicOrPartitionError at once, instead of a time-out"
_MAKES_NOTHING: Final = "UnknownTopicOrPartitionError: whoever asks where a topic ends does not create it"
_NO_OFFSET: Final = "refused: there is no such offset, and whoever went on there would begin anew"
_HEARS: Final = "only of partitions that come or go, as in Java; theirs hears of empty shares, too"
_HEARS_THE_END: Final = "only of partitions that come or go, and of all when it stops, as in Java and kafka-python"
_STOPPED: Final = "a consumer that was stopped has no partitions and asks nobody: ConsumerStoppedError"
_STARTED: Final = "a consumer that runs stays as it is, and one that was stopped can be started again"
_ITS_OWN_ERROR: Final = "what it raises comes out of `poll` as it is, not as a KafkaError that hides it"
_NOT_LOGGED: Final = "what it raises comes out of `start`, `getone` or `getmany`, not only into a log"
_ASSERTION: Final = "an error of its own (ValueError, IllegalStateError): `assert` says nothing under `python -O`"

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
    "answer: elect_leaders": "the outcome by partition; there, an object of the protocol",
    "case: producer: acks=0": _UNANSWERED,
    "case: producer: bootstrap_connected": _CONNECTED,
    "case: producer: made with acks=2": _CANNOT_WORK,
    "case: producer: made with acks='some'": _CANNOT_WORK,
    "case: producer: made with security_protocol='SMTP'": _CANNOT_WORK,
    "case: producer: made with linger_ms=-1": _CANNOT_WORK,
    "case: producer: made with batch_size=-1": _CANNOT_WORK,
    "case: producer: made with max_block_ms=-1": _CANNOT_WORK,
    "case: producer: made with value_serializer=5": _CANNOT_WORK,
    "case: producer: made with partitioner=5": _CANNOT_WORK,
    "case: consumer: assign, to pairs": _PAIR,
    "case: consumer: bootstrap_connected": _CONNECTED,
    "case: consumer: position, of a pair": _PAIR,
    "case: consumer: end_offsets, unknown topic": _MAKES_NOTHING,
    "case: consumer: end_offsets, unknown partition": _AT_ONCE,
    "case: consumer: commit, below 0": _NO_OFFSET,
    "case: consumer: committed, of a pair": _PAIR,
    "case: consumer: a listener's life": _HEARS,
    "case: consumer: a listener that commits": "a listener may commit, also while the group is being left",
    "case: consumer: a listener that fails": _ITS_OWN_ERROR,
    "case: consumer: made with auto_offset_reset='sometimes'": _CANNOT_WORK,
    "case: consumer: made with group_id='g', group_instance_id='a b'": _CANNOT_WORK,
    "case: consumer: made with security_protocol='SMTP'": _CANNOT_WORK,
    "case: consumer: made with max_poll_records=0": _CANNOT_WORK,
    "case: consumer: made with fetch_min_bytes=-1": _CANNOT_WORK,
    "case: consumer: made with request_timeout_ms='soon'": _CONFIGURATION,
    "case: consumer: made with value_deserializer=5": _CANNOT_WORK,
    "case: consumer: made with partition_assignment_strategy=[]": _CANNOT_WORK,
    "case: consumer: made with bootstrap_servers=[]": _CONFIGURATION,
    "case: asyncio producer: send_and_wait, acks=0": _UNANSWERED,
    "case: asyncio producer: neither key nor value": _ASSERTION,
    "case: asyncio producer: a partition that is not there": _ASSERTION,
    "case: asyncio producer: a partition below 0": _ASSERTION,
    "case: asyncio producer: a batch, sent twice": "refused: its records would be written twice",
    "case: asyncio producer: made with max_batch_size=-1": _CANNOT_WORK,
    "case: asyncio producer: made with colour=1": _CONFIGURATION,
    "case: asyncio producer: made with transactional_id='t', enable_idempotence=False": _CANNOT_WORK,
    "case: asyncio producer: begin twice": _ASSERTION,
    "case: asyncio producer: commit without begin": _ASSERTION,
    "case: asyncio producer: abort without begin": _ASSERTION,
    "case: asyncio consumer: getone before start": "ConsumerStoppedError: it is not started",
    "case: asyncio consumer: a listener's life": _HEARS_THE_END,
    "case: asyncio consumer: a listener that fails": _NOT_LOGGED,
    "case: asyncio consumer: made with colour=1": _CONFIGURATION,
    "case: asyncio consumer: made with auto_offset_reset='sometimes'": _CANNOT_WORK,
    "case: asyncio consumer: made with session_timeout_ms=1000, heartbeat_interval_ms=2000": _CANNOT_WORK,
    "case: asyncio consumer: made with group_instance_id='a'": _CANNOT_WORK,
    "case: asyncio consumer: highwater, not ours": _ASSERTION,
    "case: asyncio consumer: last_stable_offset, not ours": _ASSERTION,
    "case: asyncio consumer: last_poll_timestamp, not ours": _ASSERTION,
    "case: asyncio consumer: seek_to_beginning, of none": _ASSERTION,
    "case: asyncio consumer: seek_to_end, of none": _ASSERTION,
    "case: asyncio consumer: seek_to_committed, of none": _ASSERTION,
    "case: asyncio consumer: end_offsets, unknown partition": _AT_ONCE,
    "case: asyncio consumer: seek after stop": _STOPPED,
    "case: asyncio consumer: end_offsets after stop": _STOPPED,
    "case: asyncio consumer: commit, below 0": _NO_OFFSET,
    "case: asyncio consumer: commit after stop": _STOPPED,
    "case: asyncio consumer: start twice": _STARTED,
    "case: asyncio consumer: assignment after stop": _STOPPED,
    "case: asyncio consumer: start after stop": _STARTED,
}
