"""How long a client has to wait beside others: asks for an empty Metadata every 20 ms until its input ends.

A process of its own, so that building and sending the load beside it costs it nothing. Says `ready` once it has been
answered, and at the end the longest wait in milliseconds, and whether the last one ended with an answer.
"""

from __future__ import annotations

import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.conversation import METADATA, PATIENCE_SECONDS, Conversation, frame
from moldau.protocol.messages.metadata import MetadataRequest

INTERVAL_SECONDS = 0.02


def main(host: str, port: int, patience: float) -> None:
    request = frame(MetadataRequest(topics=[]), METADATA)
    longest, answered = 0.0, True
    with Conversation((host, port), patience) as conversation:
        for _ in range(10):
            conversation.send(request)
        print("ready", flush=True)
        while answered and not select.select([sys.stdin], [], [], INTERVAL_SECONDS)[0]:
            began = time.perf_counter()
            try:
                conversation.send(request)
            except OSError:
                answered = False
            longest = max(longest, time.perf_counter() - began)
    print(longest * 1000, int(answered), flush=True)


class Waiting:
    """Its longest wait so far is known when the block is left."""

    milliseconds = 0.0
    answered = True


@contextmanager
def waiting(address: tuple[str, int], patience: float = PATIENCE_SECONDS) -> Iterator[Waiting]:
    found = Waiting()
    command = [sys.executable, "-m", "bench.waiting", address[0], str(address[1]), str(patience)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the waiting client was not answered")
        try:
            yield found
        finally:
            process.stdin.close()
            longest, answered = process.stdout.readline().split()
            found.milliseconds, found.answered = float(longest), answered == "1"


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
