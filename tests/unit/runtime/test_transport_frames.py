"""Frames in and out of real sockets: framing, order, pausing, back-pressure, fairness."""

from __future__ import annotations

import itertools
import logging
import os
import random
import resource
import socket
import struct
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from network_harness import Echo, Running

from moldau.runtime.buffers import LARGE_FRAME, SHARED_SIZE
from moldau.runtime.ports import FileSlice, SocketOptions, Transport
from moldau.runtime.transport import FRAMES_PER_TURN, MAX_UNSENT


class Recorder:
    """Makes receivers and keeps them, so a test can look at the server's end."""

    def __init__(self, kind: type[Echo] = Echo) -> None:
        self.kind = kind
        self.made: list[Any] = []

    def __call__(self, transport: Transport) -> Echo:
        receiver = self.kind(transport)
        self.made.append(receiver)
        return receiver


def test_frames_of_all_sizes_come_back_in_order(running: Running) -> None:
    listener = running.listen()
    sizes = [0, 1, 3, 4, 5, 1000, LARGE_FRAME - 5, LARGE_FRAME - 4, LARGE_FRAME - 3, SHARED_SIZE, 3 << 20, 7]
    bodies = [os.urandom(size) for size in sizes]
    peer = running.peer(listener.address)
    sender = threading.Thread(target=peer.send, args=bodies)
    sender.start()
    assert [peer.receive() for _ in bodies] == bodies
    sender.join()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.one_of(st.integers(0, 300), st.integers(100_000, 400_000)), min_size=1, max_size=8),
    cuts=st.lists(st.integers(1, 200_000), min_size=1, max_size=6),
    seed=st.integers(0, 1 << 30),
)
def test_where_the_stream_is_cut_does_not_matter(
    running: Running, sizes: list[int], cuts: list[int], seed: int
) -> None:
    listener = running.listen()
    dice = random.Random(seed)
    bodies = [dice.randbytes(size) for size in sizes]
    stream = b"".join(struct.pack(">i", len(body)) + body for body in bodies)
    peer = running.peer(listener.address)

    def trickle() -> None:
        position = 0
        while position < len(stream):
            step = max(cuts[position % len(cuts)], len(stream) // 50)
            peer.socket.sendall(stream[position : position + step])
            position += step

    sender = threading.Thread(target=trickle)
    sender.start()
    assert [peer.receive() for _ in bodies] == bodies
    sender.join()
    peer.socket.close()
    running.call(listener.close)


def test_one_byte_at_a_time(running: Running) -> None:
    listener = running.listen()
    peer = running.peer(listener.address)
    for byte in struct.pack(">i", 5) + b"hello":
        peer.socket.sendall(bytes([byte]))
    assert peer.receive() == b"hello"


class KeepingEcho(Echo):
    """Holds on to large frames without copying them, as a client does to fetched records."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.kept: list[memoryview] = []

    def own_frame(self, data: memoryview) -> None:
        self.kept.append(data)
        self.frame(data, 0, len(data))


def test_large_frames_that_are_kept_stay_as_they_were(running: Running) -> None:
    recorder = Recorder(KeepingEcho)
    listener = running.listen(recorder)
    peer = running.peer(listener.address)
    small = [os.urandom(size) for size in (0, 7, 1000)]
    large = [os.urandom(size) for size in (LARGE_FRAME, 3 << 20, 3 << 20, (3 << 20) + 1, LARGE_FRAME)]
    bodies = [body for pair in itertools.zip_longest(large, small, fillvalue=b"between") for body in pair]
    sender = threading.Thread(target=peer.send, args=bodies)
    sender.start()
    assert [peer.receive() for _ in bodies] == bodies
    sender.join()
    assert recorder.made[0].kept == large


@pytest.mark.parametrize("size", [-1, -(1 << 31), 1001, (1 << 31) - 1])
def test_a_frame_of_forbidden_size_ends_only_its_connection(running: Running, size: int) -> None:
    recorder = Recorder()
    listener = running.listen(recorder, max_frame=1000)
    good = running.peer(listener.address)
    good.send(b"before")
    assert good.receive() == b"before"
    bad = running.peer(listener.address)
    bad.send(b"first")
    assert bad.receive() == b"first"
    bad.socket.sendall(struct.pack(">i", size) + b"whatever")
    assert bad.ended()
    assert recorder.made[1].closed_event.wait(20)
    assert str(size) in recorder.made[1].reason
    good.send(b"x" * 1000)
    assert good.receive() == b"x" * 1000


def test_an_announced_giant_costs_only_what_was_sent(running: Running) -> None:
    listener = running.listen()
    before = _resident()
    peers = [running.peer(listener.address) for _ in range(50)]
    for peer in peers:
        peer.socket.sendall(struct.pack(">i", 100 << 20) + b"only these")
    running.call(lambda: None)
    check = running.peer(listener.address)
    check.send(b"alive")
    assert check.receive() == b"alive"
    assert running.call(lambda: running.runtime.network.buffers.used) >= 50 * (100 << 20)
    assert _resident() - before < 64 << 20
    for peer in peers:
        peer.socket.close()
    _until(running, lambda: running.runtime.network.buffers.used == 0)


def test_random_bytes_do_not_disturb_others(running: Running) -> None:
    listener = running.listen(max_frame=1 << 20)
    good = running.peer(listener.address)
    dice = random.Random(7)
    for round_number in range(200):
        bad = socket.create_connection(listener.address, timeout=20)
        try:
            bad.sendall(dice.randbytes(dice.randrange(1, 3000)))
        except OSError:
            pass
        bad.close()
        if round_number % 20 == 0:
            good.send(b"still here")
            assert good.receive() == b"still here"


def test_an_exception_in_a_receiver_closes_its_connection_only(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    class Fragile(Echo):
        def answer(self, body: bytes) -> None:
            if body == b"break":
                raise RuntimeError("on purpose")
            super().answer(body)

    recorder = Recorder(Fragile)
    listener = running.listen(recorder)
    good, bad = running.peer(listener.address), running.peer(listener.address)
    with caplog.at_level(logging.ERROR):
        bad.send(b"fine", b"break", b"never")
        assert bad.receive() == b"fine"
        assert bad.ended()
    good.send(b"fine")
    assert good.receive() == b"fine"
    broken = next(receiver for receiver in recorder.made if b"break" in receiver.frames)
    assert broken.frames == [b"fine", b"break"]
    assert len(caplog.records) == 1
    assert "on purpose" in caplog.text


# ------------------------------------------------------------------------------------------------- pausing


class Parking(Echo):
    """Pauses on every frame that says so, as a connection with a parked fetch does."""

    def frame(self, data: memoryview, start: int, end: int) -> None:
        if bytes(data[start:end]).startswith(b"park"):
            self.frames.append(bytes(data[start:end]))
            self.transport.pause()
        else:
            super().frame(data, start, end)

    def go_on(self) -> None:
        self.answer(self.frames[-1])
        self.transport.resume()


def test_a_paused_connection_gets_its_frames_after_resume_in_order(running: Running) -> None:
    recorder = Recorder(Parking)
    listener = running.listen(recorder)
    peer = running.peer(listener.address)
    peer.send(b"a", b"park 1", b"b", b"park 2", b"c")
    assert peer.receive() == b"a"
    receiver = recorder.made[0]
    assert running.call(lambda: list(receiver.frames)) == [b"a", b"park 1"]
    peer.send(b"d", b"park 3", b"e")
    running.call(lambda: None)
    assert running.call(lambda: list(receiver.frames)) == [b"a", b"park 1"]
    for number in (1, 2, 3):
        _until(running, lambda number=number: receiver.frames[-1] == b"park %d" % number)
        running.call(receiver.go_on)
    assert [peer.receive() for _ in range(7)] == [b"park 1", b"b", b"park 2", b"c", b"d", b"park 3", b"e"]


def test_thousands_of_parking_frames_in_one_read_need_no_recursion(running: Running) -> None:
    class Instant(Echo):
        """Pauses and resumes at once, every time: delivery must neither recurse nor stop."""

        def answer(self, body: bytes) -> None:
            self.transport.pause()
            super().answer(body)
            self.transport.resume()

    listener = running.listen(Recorder(Instant))
    peer = running.peer(listener.address)
    bodies = [b"%d" % number for number in range(20_000)]
    sender = threading.Thread(target=peer.send, args=bodies)
    sender.start()
    assert [peer.receive() for _ in bodies] == bodies
    sender.join()


def test_a_chain_of_connections_that_resume_each_other_needs_no_recursion(running: Running) -> None:
    order: list[int] = []

    class Chained(Echo):
        """Serves one frame, then lets the next connection go on."""

        def frame(self, data: memoryview, start: int, end: int) -> None:
            self.frames.append(bytes(data[start:end]))
            self.transport.pause()
            if self.frames[-1] != b"park":
                place = recorder.made.index(self)
                order.append(place)
                recorder.made[(place + 1) % len(recorder.made)].transport.resume()

    recorder = Recorder(Chained)
    listener = running.listen(recorder)
    count = 500
    for _ in range(count):
        running.peer(listener.address).send(b"park", b"one", b"two")
    _until(running, lambda: len(recorder.made) == count and all(r.frames == [b"park"] for r in recorder.made))
    running.call(recorder.made[0].transport.resume)
    _until(running, lambda: len(order) == 2 * count)
    assert order == [*range(count), *range(count)]


def test_a_paused_connection_does_not_keep_the_loop_busy(running: Running) -> None:
    recorder = Recorder(Parking)
    listener = running.listen(recorder)
    peer = running.peer(listener.address)
    peer.send(b"park")
    _until(running, lambda: recorder.made and recorder.made[0].frames == [b"park"])
    peer.send(b"unread")
    turns = 0
    original = running.runtime.loop._turn

    def counted() -> None:
        nonlocal turns
        turns += 1
        original()

    running.call(lambda: setattr(running.runtime.loop, "_turn", counted))
    waited = threading.Event()
    running.call(lambda: running.runtime.loop.call_later(0.3, waited.set))
    assert waited.wait(20)
    assert turns < 20
    running.call(recorder.made[0].go_on)
    assert [peer.receive(), peer.receive()] == [b"park", b"unread"]


def test_a_paused_connection_is_not_read_beyond_its_buffer(running: Running) -> None:
    recorder = Recorder(Parking)
    listener = running.listen(recorder, options=SocketOptions(receive_buffer=64 * 1024))
    peer = running.peer(listener.address)
    peer.send(b"park")
    peer.socket.settimeout(0.3)
    sent = 0
    try:
        while sent < 64 << 20:
            sent += peer.socket.send(bytes(65536))
    except TimeoutError:
        pass
    assert sent < 16 << 20


def test_a_peer_that_leaves_while_paused_is_noticed(running: Running) -> None:
    recorder = Recorder(Parking)
    listener = running.listen(recorder)
    peer = running.peer(listener.address)
    peer.send(b"park")
    _until(running, lambda: recorder.made and recorder.made[0].frames == [b"park"])
    peer.socket.close()
    assert recorder.made[0].closed_event.wait(20)
    assert recorder.made[0].reason is None


def test_what_was_sent_before_a_peer_left_is_delivered_though_it_was_paused(running: Running) -> None:
    recorder = Recorder(Parking)
    listener = running.listen(recorder)
    peer = running.peer(listener.address)
    peer.send(b"park")
    _until(running, lambda: recorder.made and recorder.made[0].frames == [b"park"])
    peer.send(b"the last words")
    peer.socket.shutdown(socket.SHUT_WR)
    running.call(lambda: None)
    running.call(recorder.made[0].go_on)
    assert [peer.receive(), peer.receive()] == [b"park", b"the last words"]
    assert recorder.made[0].closed_event.wait(20)


# ------------------------------------------------------------------------------------------- back-pressure


def test_who_does_not_read_answers_is_not_served_and_memory_stays_bounded(running: Running) -> None:
    class Generous(Echo):
        def frame(self, data: memoryview, start: int, end: int) -> None:
            self.frames.append(b"")
            self.transport.send([bytes(256 * 1024)])

    recorder = Recorder(Generous)
    listener = running.listen(recorder, options=SocketOptions(send_buffer=64 * 1024))
    greedy = running.peer(listener.address, receive_buffer=64 * 1024)
    for _ in range(200):
        greedy.send(*[b"more"] * 10)
    other = running.peer(listener.address)
    other.send(b"small")
    assert other.exactly(256 * 1024) == bytes(256 * 1024)
    receiver = recorder.made[0]
    assert running.call(lambda: receiver.transport.unsent) <= MAX_UNSENT + 256 * 1024
    served = running.call(lambda: len(receiver.frames))
    assert served < 40
    # Once it reads, everything it asked for arrives.
    for _ in range(2000):
        assert len(greedy.exactly(256 * 1024)) == 256 * 1024
    assert running.call(lambda: len(receiver.frames)) == 2000
    assert running.call(lambda: receiver.transport.unsent) == 0
    assert running.call(lambda: receiver.drained_count) > 0


def test_limited_memory_for_large_frames_delays_but_loses_nothing(running: Running) -> None:
    recorder = Recorder()
    listener = running.listen(recorder)
    running.call(lambda: running.runtime.network.limit_receive_memory(1 << 20))
    bodies = [os.urandom(900_000) for _ in range(6)]
    peers = [running.peer(listener.address) for _ in bodies]
    for peer, body in zip(peers, bodies, strict=True):
        peer.socket.sendall(struct.pack(">i", len(body)) + body[:200_000])
    running.call(lambda: None)
    assert running.call(lambda: running.runtime.network.buffers.used) <= 1 << 20
    senders = [
        threading.Thread(target=peer.socket.sendall, args=(body[200_000:],))
        for peer, body in zip(peers, bodies, strict=True)
    ]
    for sender in senders:
        sender.start()
    for peer, body in zip(peers, bodies, strict=True):
        assert peer.receive() == body
    for sender in senders:
        sender.join()
    assert running.call(lambda: running.runtime.network.buffers.used) == 0


# ------------------------------------------------------------------------------------------------ fairness


def test_one_connection_gets_a_bounded_share_of_a_turn(running: Running) -> None:
    """Two connections with thousands of small frames buffered are served in turns, not one after the other."""
    order: list[str] = []

    class Named(Parking):
        def frame(self, data: memoryview, start: int, end: int) -> None:
            if bytes(data[start:end]) == b"park":
                super().frame(data, start, end)
            else:
                order.append(bytes(data[start : start + 1]).decode())

    recorder = Recorder(Named)
    listener = running.listen(recorder)
    for name in (b"a", b"b"):
        running.peer(listener.address).send(b"park", *[name] * 2000)
    _until(running, lambda: len(recorder.made) == 2 and all(r.frames == [b"park"] for r in recorder.made))
    running.call(lambda: [receiver.transport.resume() for receiver in recorder.made])
    _until(running, lambda: len(order) == 4000)
    # Both were resumed in the same turn: each gets its share, then the other.
    runs = [len(list(group)) for _, group in itertools.groupby(order)]
    assert max(runs) <= 2 * FRAMES_PER_TURN
    assert len(runs) >= 4000 // (2 * FRAMES_PER_TURN)


def test_a_small_request_is_served_between_the_reads_of_bulk_streams(running: Running) -> None:
    class Counting(Echo):
        """Large frames are not answered with themselves: their number is enough."""

        def frame(self, data: memoryview, start: int, end: int) -> None:
            self.transport.send([struct.pack(">i", 8) + struct.pack(">q", end - start)])

    listener = running.listen(Recorder(Counting))
    stop = threading.Event()

    def bulk(peer: Any) -> None:
        body = bytes(1 << 20)
        while not stop.is_set():
            peer.send(body)
            peer.receive()

    threads = [threading.Thread(target=bulk, args=(running.peer(listener.address),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    small = running.peer(listener.address)
    for _ in range(100):
        small.send(b"hello")
        assert struct.unpack(">q", small.receive()) == (5,)
    stop.set()
    for thread in threads:
        thread.join()


# ------------------------------------------------------------------------------------------------- sending


def test_file_slices_arrive_whole_between_other_chunks(running: Running, tmp_path: Any) -> None:
    content = os.urandom(5 << 20)
    path = tmp_path / "segment"
    path.write_bytes(content)
    file = running.runtime.disk.open(str(path))
    answer = [
        struct.pack(">i", 4 + (3 << 20) + 3 + 0 + 1000 + 5),
        b"head",
        FileSlice(file, 1000, 3 << 20),
        b"mid",
        FileSlice(file, 7, 0),
        FileSlice(file, (5 << 20) - 1000, 1000),
        bytearray(b"ta"),
        memoryview(b"il."),
    ]
    expected = b"head" + content[1000 : 1000 + (3 << 20)] + b"mid" + content[-1000:] + b"tail."

    class Files(Echo):
        def answer(self, body: bytes) -> None:
            self.transport.send(answer)

    listener = running.listen(Recorder(Files), options=SocketOptions(send_buffer=32 * 1024))
    peer = running.peer(listener.address, receive_buffer=16 * 1024)
    peer.send(b"1", b"2", b"3")
    for _ in range(3):
        assert peer.receive() == expected
    running.call(file.close)


def test_files_without_a_descriptor_are_read_and_sent(running: Running) -> None:
    content = os.urandom(400_000)

    class MemoryFile:
        path = "memory"

        def fileno(self) -> int:
            return -1

        def read(self, position: int, length: int) -> bytes:
            return content[position : position + length]

    class Files(Echo):
        def answer(self, body: bytes) -> None:
            part: Any = FileSlice(MemoryFile(), 100, 300_000)  # type: ignore[arg-type]
            self.transport.send([struct.pack(">i", 300_000), part])

    listener = running.listen(Recorder(Files), options=SocketOptions(send_buffer=16 * 1024))
    peer = running.peer(listener.address, receive_buffer=16 * 1024)
    peer.send(b"1", b"2")
    assert peer.receive() == content[100:300_100]
    assert peer.receive() == content[100:300_100]


def test_a_file_shorter_than_promised_ends_the_connection(running: Running, tmp_path: Any) -> None:
    path = tmp_path / "short"
    path.write_bytes(b"only this")
    file = running.runtime.disk.open(str(path))

    class Files(Echo):
        def answer(self, body: bytes) -> None:
            self.transport.send([struct.pack(">i", 100), FileSlice(file, 0, 100)])

    recorder = Recorder(Files)
    listener = running.listen(recorder)
    peer = running.peer(listener.address)
    peer.send(b"1")
    assert peer.ended()
    assert recorder.made[0].closed_event.wait(20)
    assert "shorter" in recorder.made[0].reason
    running.call(file.close)


def test_close_lets_leave_what_was_queued(running: Running) -> None:
    class LastWords(Echo):
        def answer(self, body: bytes) -> None:
            self.transport.send([struct.pack(">i", 4 << 20), bytes(4 << 20)])
            self.transport.close("enough")
            self.transport.close("a second time")
            self.transport.send([b"too late"])

    recorder = Recorder(LastWords)
    listener = running.listen(recorder, options=SocketOptions(send_buffer=32 * 1024))
    peer = running.peer(listener.address, receive_buffer=32 * 1024)
    peer.send(b"1", b"never delivered")
    assert peer.receive() == bytes(4 << 20)
    assert peer.ended()
    assert recorder.made[0].closed_event.wait(20)
    assert recorder.made[0].reason == "enough"
    assert recorder.made[0].frames == [b"1"]


def _resident() -> int:
    with open("/proc/self/statm") as source:
        return int(source.read().split()[1]) * resource.getpagesize()


def _until(running: Running, condition: Any) -> None:
    """Waits for the loop to have done something, looking from the loop itself."""
    met = threading.Event()

    def look() -> None:
        if condition():
            met.set()
        else:
            running.runtime.loop.call_later(0.002, look)

    running.call(look)
    assert met.wait(20), "it did not happen"
