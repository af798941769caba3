"""What public Grafana dashboards for Kafka ask Prometheus for: names of metrics, with the labels they select by.

Taken from the queries of Strimzi's dashboards (`strimzi-kafka.json`, `strimzi-kraft.json`, which ask for what its
`kafka-metrics.yaml` makes of Kafka's metrics), and of Grafana's own (`kafka-observ-lib`, overview, for metrics that
come from the JMX exporter by the same rules). Left out is what no broker tells: containers and volumes of Kubernetes,
and what an exporter beside the cluster reads from it by Kafka's protocol.
"""

from __future__ import annotations

from typing import Final

Query = tuple[str, dict[str, str]]

_TOPIC: Final = {"topic": "watched"}

STRIMZI_KAFKA: Final[tuple[Query, ...]] = (
    ("kafka_server_replicamanager_leadercount", {}),
    ("kafka_controller_kafkacontroller_activecontrollercount", {}),
    ("kafka_controller_controllerstats_uncleanleaderelections_total", {}),
    ("kafka_server_replicamanager_partitioncount", {}),
    ("kafka_server_replicamanager_underreplicatedpartitions", {}),
    ("kafka_cluster_partition_atminisr", {}),
    ("kafka_cluster_partition_underminisr", {}),
    ("kafka_cluster_partition_replicascount", _TOPIC),
    ("kafka_controller_kafkacontroller_offlinepartitionscount", {}),
    ("process_open_fds", {}),
    ("jvm_memory_used_bytes", {}),
    ("jvm_gc_collection_seconds_sum", {}),
    ("jvm_gc_collection_seconds_count", {}),
    ("jvm_threads_current", {}),
    ("kafka_server_brokertopicmetrics_bytesin_total", _TOPIC),
    ("kafka_server_brokertopicmetrics_bytesout_total", _TOPIC),
    ("kafka_server_brokertopicmetrics_messagesin_total", _TOPIC),
    ("kafka_server_brokertopicmetrics_totalproducerequests_total", _TOPIC),
    ("kafka_server_brokertopicmetrics_failedproducerequests_total", _TOPIC),
    ("kafka_server_brokertopicmetrics_totalfetchrequests_total", _TOPIC),
    ("kafka_server_brokertopicmetrics_failedfetchrequests_total", _TOPIC),
    ("kafka_network_socketserver_networkprocessoravgidle_percent", {}),
    ("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", {}),
    ("kafka_server_kafkaserver_linux_disk_write_bytes", {}),
    ("kafka_server_kafkaserver_linux_disk_read_bytes", {}),
    ("kafka_server_socket_server_metrics_connection_count", {"listener": "PLAINTEXT"}),
    ("kafka_log_log_size", {**_TOPIC, "partition": "0"}),
)
STRIMZI_KRAFT: Final[tuple[Query, ...]] = (
    ("kafka_server_raftmetrics_current_state", {}),
    ("kafka_server_raftmetrics_current_leader", {}),
    ("kafka_server_raftmetrics_current_epoch", {}),
    ("kafka_server_raftmetrics_current_vote", {}),
    ("kafka_server_raftmetrics_high_watermark", {}),
    ("kafka_server_raftmetrics_log_end_offset", {}),
    ("kafka_server_raftmetrics_append_records_rate", {}),
    ("kafka_server_raftmetrics_fetch_records_rate", {}),
    ("kafka_server_raftmetrics_commit_latency_avg", {}),
    ("kafka_server_raftchannelmetrics_incoming_byte_total", {}),
    ("kafka_server_raftchannelmetrics_outgoing_byte_total", {}),
    ("kafka_server_raftchannelmetrics_request_total", {}),
    ("kafka_server_raftchannelmetrics_response_total", {}),
    ("process_open_fds", {}),
    ("jvm_memory_used_bytes", {}),
    ("jvm_gc_collection_seconds_sum", {}),
    ("jvm_gc_collection_seconds_count", {}),
    ("jvm_threads_current", {}),
)
GRAFANA_KAFKA: Final[tuple[Query, ...]] = (
    ("kafka_server_brokertopicmetrics_messagesin_total", {}),
    ("kafka_server_brokertopicmetrics_bytesin_total", {}),
    ("kafka_server_brokertopicmetrics_bytesout_total", {}),
    ("kafka_server_replicamanager_isrshrinks_total", {}),
    ("kafka_server_replicamanager_isrexpands_total", {}),
    ("kafka_server_replicamanager_partitioncount", {}),
    ("kafka_controller_kafkacontroller_activecontrollercount", {}),
    ("kafka_controller_kafkacontroller_offlinepartitionscount", {}),
    ("kafka_controller_kafkacontroller_preferredreplicaimbalancecount", {}),
    ("kafka_controller_controllerstats_uncleanleaderelections_total", {}),
    ("kafka_cluster_partition_underreplicated", {}),
    ("kafka_cluster_partition_underminisr", {}),
    ("kafka_log_log_logstartoffset", _TOPIC),
    ("kafka_log_log_logendoffset", _TOPIC),
    ("kafka_log_log_size", _TOPIC),
    *(
        (f"kafka_network_requestmetrics_{part}timems", {"request": request, "quantile": "0.95"})
        for request in ("Produce", "Fetch", "FetchFollower")
        for part in ("requestqueue", "local", "remote", "responsequeue", "responsesend")
    ),
)
DASHBOARDS: Final = {
    "Strimzi Kafka": STRIMZI_KAFKA,
    "Strimzi KRaft": STRIMZI_KRAFT,
    "Grafana kafka-observ-lib": GRAFANA_KAFKA,
}
