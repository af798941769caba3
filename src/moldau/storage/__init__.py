"""The log on disk: what a broker keeps of a partition, in Kafka's own files.

From the outside in: `log_manager` (all logs of a node) → `log_dirs` (directories, identity, locks) → `log` (one
partition: append and read) → `validator` and `producer_state` (what may be appended) → `local_log` (its parts and
how they change together), `durability` (how much of it is on disk), `partition_directory` (where it lies) → `segment`
(one file of batches) → `offset_index`, `time_index`, `transaction_index` (where to look in it). `recovery` opens what a
crash left behind; `checkpoint` and `epoch_cache` are the small text files beside the data.
"""
