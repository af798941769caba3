"""A member of a share group in a process of its own, which may be killed at any moment: BOOTSTRAP TOPIC GROUP [ONE_IN].

It accepts what it gets. Before it tells the broker so it writes what of, afterwards what the broker said, a line each,
so that whoever reads the lines knows of every record whether it was accepted, or that nobody can know.

With ONE_IN it dies by itself in one of so many polls, with the records of it in its hands.

    told PARTITION VALUE:COUNT,...      accepted PARTITION      failed PARTITION ERROR      dropped PARTITION
"""

from __future__ import annotations

import os
import random
import signal
import sys

from moldau import KafkaShareConsumer
from moldau.errors import MoldauError


def main(bootstrap: str, topic: str, group: str, one_in: str = "0") -> None:
    going: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: going.append(number))
    consumer = KafkaShareConsumer(topic, bootstrap_servers=bootstrap, group_id=group)
    while not going:
        try:
            polled = consumer.poll(300)
        except MoldauError:
            continue
        for where, records in polled.items():
            each = (f"{record.value.decode()}:{record.delivery_count}" for record in records)
            said("told", str(where.partition), ",".join(each))
        if polled and int(one_in) and random.random() < 1 / int(one_in):
            for where in polled:
                said("dropped", str(where.partition))
            os.kill(os.getpid(), signal.SIGKILL)
        if polled:
            outcomes = consumer.commit_sync(30_000)
            for where in polled:
                error = outcomes.get(where)
                said("accepted" if error is None else "failed", str(where.partition), type(error).__name__)
    consumer.close()


def said(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


main(*sys.argv[1:])
