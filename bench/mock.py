"""librdkafka's mock cluster in a process of its own: C, memory only, no validation. The ceiling we compare with.

Prints `ready HOST:PORT` as our node does. Each line of its standard input, `TOPIC PARTITIONS`, makes a topic; it lives
until that input ends. confluent-kafka has no call for a mock topic of a given size, so the library inside its package
is called directly; without that every topic had four partitions.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import confluent_kafka

PRODUCER = 0  # rd_kafka_type_t


def library() -> ctypes.CDLL:
    """The librdkafka that confluent-kafka has loaded into this process."""
    assert confluent_kafka.libversion()
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "librdkafka" in line:
            return ctypes.CDLL(line.split(maxsplit=5)[5])
    raise RuntimeError("confluent-kafka brings no shared librdkafka here")


def main() -> None:
    found = library()
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(found, name).restype = ctypes.c_void_p
    found.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    found.rd_kafka_err2str.restype = ctypes.c_char_p
    reason = ctypes.create_string_buffer(512)
    configuration = ctypes.c_void_p(found.rd_kafka_conf_new())
    found.rd_kafka_conf_set(configuration, b"log_level", b"0", reason, len(reason))
    client = ctypes.c_void_p(found.rd_kafka_new(PRODUCER, configuration, reason, len(reason)))
    cluster = ctypes.c_void_p(found.rd_kafka_mock_cluster_new(client, 1))
    if not client or not cluster:
        sys.exit(f"the mock cluster did not start: {reason.value.decode()}")
    print(f"ready {found.rd_kafka_mock_cluster_bootstraps(cluster).decode()}", flush=True)
    for line in sys.stdin:
        topic, partitions = line.split()
        failed = found.rd_kafka_mock_topic_create(cluster, topic.encode(), int(partitions), 1)
        print("made" if not failed else found.rd_kafka_err2str(failed).decode(), flush=True)
    os._exit(0)  # its threads may still be serving; nothing has to be put away


if __name__ == "__main__":
    main()
