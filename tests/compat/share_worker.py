"""A member of a share group in a process of its own, which may be killed at any moment: BOOTSTRAP TOPIC GROUP.

It accepts what it gets. Before it tells the broker so it writes what of, afterwards what the broker said, a line each,
so that whoever reads the lines knows of every record whether it was accepted, or that nobody can know.

    told PARTITION VALUE,...      accepted PARTITION      failed PARTITION ERROR      counts HIGHEST
"""

from __future__ import annotations

import signal
import sys

from moldau import KafkaShareConsumer
from moldau.errors import MoldauError


def main(bootstrap: str, topic: str, group: str) -> None:
    going: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: going.append(number))
    consumer = KafkaShareConsumer(topic, bootstrap_servers=bootstrap, group_id=group)
    highest = 0
    while not going:
        try:
            polled = consumer.poll(300)
        except MoldauError:
            continue
        for where, records in polled.items():
            highest = max(highest, *(record.delivery_count for record in records))
            said("told", str(where.partition), ",".join(record.value.decode() for record in records))
        if polled:
            outcomes = consumer.commit_sync(30_000)
            for where in polled:
                error = outcomes.get(where)
                said("accepted" if error is None else "failed", str(where.partition), type(error).__name__)
            said("counts", str(highest))
    consumer.close()


def said(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


main(*sys.argv[1:])
