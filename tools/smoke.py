"""Whether an installed package works: its kernels are there, and a node takes a record and gives it back.

Run by `make dist` and by cibuildwheel in a fresh environment for each wheel, with nothing of a clone in sight.
"""

import moldau
from moldau import KafkaConsumer, KafkaProducer, _speed
from moldau.testing import Cluster

if __name__ == "__main__":
    assert _speed.COMPILED, "the kernels are not there"
    with Cluster() as cluster:
        where = cluster.bootstrap_servers
        with KafkaProducer(bootstrap_servers=where, compression_type="zstd") as producer:
            assert producer.send("rivers", b"vltava").get(timeout=60).offset == 0
        with KafkaConsumer("rivers", bootstrap_servers=where, auto_offset_reset="earliest", group_id=None) as consumer:
            assert next(consumer).value == b"vltava"
    print("moldau", moldau.__version__, "works")
