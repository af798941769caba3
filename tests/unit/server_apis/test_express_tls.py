"""The express way over TLS: answers and files as on the readable way in the clear, however the bytes come."""

from __future__ import annotations

import shutil
import socket
import ssl
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import IO

import pytest
from express_traffic import SETTINGS, Traffic, files_of, offsets, plain, produce
from node_certificate import KEYSTORE, trusting
from served_node import PATIENCE, Client, Served

from moldau import _speed
from moldau.protocol.records import encode_batch

pytestmark = pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: there is no express way")

VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
LISTENERS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
    "inter.broker.listener.name": "PLAINTEXT",
    **KEYSTORE,
}


class Sealing(Client):
    """Makes its records itself: so it decides which of their bytes leave when."""

    def __init__(self, address: tuple[str, int], version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> None:
        super().__init__(address)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = trusting(version).wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")
        self._read(self._tls.do_handshake)
        self.socket.sendall(self._outgoing.read())

    def sealed(self, *parts: bytes) -> bytes:
        """Each of them as a record of its own."""
        for part in parts:
            self._tls.write(part)
        return self._outgoing.read()

    def goodbye(self) -> bytes:
        with pytest.raises(ssl.SSLWantReadError):
            self._tls.unwrap()
        return self._outgoing.read()

    def answer(self) -> bytes | None:
        size = self._exactly(4)
        return self._exactly(int.from_bytes(size, "big")) if size else None

    def _exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            part = self._read(partial(self._tls.read, count - len(found)))
            if not part:
                break
            found += part
        return found

    def _read(self, step: Callable[[], bytes | None]) -> bytes | None:
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                self.socket.sendall(self._outgoing.read())
                data = self.socket.recv(1 << 16)
                if data:
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Served]:
    node = Served(tmp_path / "node", express=True, topics=SETTINGS, settings=LISTENERS)
    yield node
    node.close()


def secured(node: Served) -> tuple[str, int]:
    return node.node.node.server.address("SSL")


def known(node: Served, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> Sealing:
    """A connection that has been on the readable way: what is plain goes the express way from here on."""
    client = Sealing(secured(node), version)
    client.socket.sendall(client.sealed(request(client, node)))
    assert offsets(client.answer(), 9)[0] == 0
    return client


def request(client: Client, node: Served, number: int = 0, value: bytes = b"v", acks: int = -1) -> bytes:
    batch = encode_batch([(1_700_000_000_000, None, value, ())])
    return client.frame(produce("plain", 0, batch, node.ids, 9, acks), 9, number)


def numbers(client: Client, count: int) -> list[int]:
    """Which requests were answered, and answered well."""
    found = []
    for _ in range(count):
        answer = client.answer()
        assert answer is not None
        assert offsets(answer, 9)[0] == 0
        found.append(int.from_bytes(answer[:4], "big"))
    return found


def ended(node: Served, but: int = 0) -> None:
    """Waits until no more than so many are connected."""
    until = time.monotonic() + PATIENCE
    while len(node.node.node.server.connections) > but:
        assert time.monotonic() < until
        time.sleep(0.001)


@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_sent_has_the_same_answers_and_files_as_in_the_clear(tmp_path: Path, seed: int) -> None:
    pair = [
        Served(tmp_path / "tls", express=True, topics=SETTINGS, settings=LISTENERS),
        Served(tmp_path / "readable", express=False, topics=SETTINGS),
    ]
    random = Random(seed)
    traffic = Traffic(random)
    ids = [node.ids for node in pair]
    asked = 0
    for turn in range(5):
        clients = [Sealing(secured(pair[0]), random.choice(VERSIONS)), Client(pair[1].address)]
        for _ in range(30):
            frames = [traffic.frames(clients[1], ids, number) for number in range(random.randint(1, 6))]
            clear = b"".join(each[0] for each, _ in frames)
            cuts = sorted(random.randrange(len(clear)) for _ in range(random.randint(0, 4)))
            parts = [clear[start:end] for start, end in zip([0, *cuts], [*cuts, len(clear)], strict=True)]
            data = clients[0].sealed(*filter(None, parts))
            cut = random.randrange(len(data)) if turn % 2 else 0
            clients[0].socket.sendall(data[:cut])
            clients[0].socket.sendall(data[cut:])
            clients[1].socket.sendall(b"".join(each[1] for each, _ in frames))
            for _, version in frames:
                one, other = (plain(each.answer(), version, of) for each, of in zip(clients, ids, strict=True))
                assert one == other
                asked += 1
        for client in clients:
            client.close()
    assert pair[0].served > asked / 20
    files = []
    for each in pair:
        each.close()
        files.append(files_of(each.data))
    assert files[0].keys() == files[1].keys()
    for name, content in files[0].items():
        assert content == files[1][name], name


@pytest.mark.parametrize("version", VERSIONS)
def test_a_record_may_come_byte_by_byte_of_it(node: Served, version: ssl.TLSVersion) -> None:
    """A turn for each piece: of the head of a record, of its middle, of the next one's."""
    client = known(node, version)
    data = client.sealed(request(client, node, 5), request(client, node, 6))
    before = node.served
    start = 0
    for end in (1, 4, 5, 6, 40, len(data) // 2 - 3, len(data) // 2 + 3, len(data) - 1, len(data)):
        with node.held():
            client.socket.sendall(data[start:end])
        start = end
    assert numbers(client, 2) == [5, 6]
    assert node.served == before + 2
    client.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_records_and_frames_need_not_begin_together(node: Served, version: ssl.TLSVersion) -> None:
    client = known(node, version)
    frames = b"".join(request(client, node, number) for number in range(12))
    before = node.served
    with node.held():
        client.socket.sendall(client.sealed(frames))
    assert numbers(client, 12) == list(range(12))
    assert node.served == before + 12
    with node.held():
        client.socket.sendall(client.sealed(*(frames[at : at + 7] for at in range(0, len(frames), 7))))
    assert numbers(client, 12) == list(range(12))
    assert node.served == before + 24
    client.close()


def test_what_is_served_with_others_in_the_clear_is_in_one_file(node: Served) -> None:
    crowd = [known(node) if number % 2 else Client(node.address) for number in range(40)]
    for client in crowd[::2]:
        client.socket.sendall(request(client, node))
        assert numbers(client, 1) == [0]
    before = node.served
    with node.held():
        for number, client in enumerate(crowd):
            data = request(client, node, number)
            client.socket.sendall(client.sealed(data) if isinstance(client, Sealing) else data)
    assert [numbers(client, 1) for client in crowd] == [[number] for number in range(len(crowd))]
    assert node.served == before + len(crowd)
    for client in crowd:
        client.close()


def test_what_there_was_no_room_for_is_read_without_a_further_word(node: Served) -> None:
    """Others fill the memory of the turn: the last record is not given as a whole, and the socket says nothing."""
    crowd = [known(node) for _ in range(6)]
    with node.held():
        for number, client in enumerate(crowd[:5]):
            client.socket.sendall(client.sealed(request(client, node, number, bytes(42_000))))
        frames = [
            request(crowd[5], node, number, bytes(size)) for number, size in ((5, 20_000), (6, 20_000), (7, 14_000))
        ]
        crowd[5].socket.sendall(crowd[5].sealed(*frames))
    assert [numbers(client, 1) for client in crowd[:5]] == [[number] for number in range(5)]
    assert numbers(crowd[5], 3) == [5, 6, 7]
    for client in crowd:
        client.close()


def test_the_rest_of_a_turn_is_not_lost(node: Served) -> None:
    """More frames than one connection has served in a turn."""
    client = known(node)
    frames = [request(client, node, number, acks=0) for number in range(150)]
    before = node.served
    with node.held():
        client.socket.sendall(client.sealed(b"".join(frames) + request(client, node, 77)))
    assert numbers(client, 1) == [77]
    assert before + 64 <= node.served
    client.close()


@pytest.mark.parametrize("says_goodbye", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_an_end_behind_a_request_is_an_end(node: Served, version: ssl.TLSVersion, *, says_goodbye: bool) -> None:
    client = known(node, version)
    with node.held():
        client.socket.sendall(client.sealed(request(client, node, 5)) + (client.goodbye() if says_goodbye else b""))
        if not says_goodbye:
            client.socket.shutdown(socket.SHUT_WR)
    assert client.socket.recv(1)
    ended(node)
    client.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_goodbye_alone_is_an_end(node: Served, version: ssl.TLSVersion) -> None:
    client = known(node, version)
    client.socket.sendall(client.goodbye())
    ended(node)
    client.close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the openssl command, which changes keys, is not installed")
def test_keys_may_be_changed_in_between(node: Served) -> None:
    """By the client alone (k), and by both sides (K), which the ssl module cannot ask for."""
    host, port = secured(node)
    words = ["openssl", "s_client", "-connect", f"{host}:{port}"]
    pipe = subprocess.PIPE
    plain = Client(node.address)
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, bufsize=0) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        seen = b""
        for number, change in enumerate((b"k", b"K", b"K", b"")):
            client.stdin.write(request(plain, node, number))
            while struct.pack(">i", number) + b"\0\2\6plain" not in seen:
                seen += some(client.stdout)
            if change:
                client.stdin.write(change + b"\n")
                while b"KEYUPDATE" not in seen:
                    seen += some(client.stdout)
            seen = b""
        client.terminate()
    assert node.served == 3
    plain.close()


def some(stream: IO[bytes]) -> bytes:
    data = stream.read(4096)
    assert data, "the client has ended"
    return data


@pytest.mark.parametrize("damaged", [0, 1, 3, 9, -1])
def test_a_record_that_was_changed_ends_the_connection(
    node: Served, caplog: pytest.LogCaptureFixture, damaged: int
) -> None:
    client, other = known(node), known(node)
    data = bytearray(client.sealed(request(client, node, 5)))
    data[damaged] ^= 0x40
    with node.held():
        client.socket.sendall(data + client.sealed(request(client, node, 6)))
        other.socket.sendall(other.sealed(request(other, node, 7)))
    assert numbers(other, 1) == [7]
    with node.held():
        # A record that claims to be longer waits for the rest of it.
        client.socket.sendall(client.sealed(request(client, node, 8, bytes(20_000))))
    ended(node, but=1)
    assert "BAD_RECORD_MAC" in caplog.text or 0 <= damaged < 9
    client.close()
    other.socket.sendall(other.sealed(request(other, node, 9)))
    assert numbers(other, 1) == [9]
    other.close()


def test_a_client_that_reads_late_gets_all_answers_in_order(tmp_path: Path) -> None:
    settings = {**LISTENERS, "socket.send.buffer.bytes": "4096"}
    node = Served(tmp_path / "node", express=True, topics=SETTINGS, settings=settings)
    client = known(node)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    (connection,) = node.node.node.server.connections
    first, sent = node.served, 0
    while not connection.transport.unsent:  # until the buffers on both sides are full
        frames = [request(client, node, sent + number) for number in range(50)]
        sent += len(frames)
        client.socket.sendall(client.sealed(b"".join(frames)))
        while node.served < first + sent and not connection.transport.unsent:
            time.sleep(0.001)
    assert numbers(client, sent) == list(range(sent))
    client.socket.sendall(client.sealed(request(client, node, sent)))
    assert numbers(client, 1) == [sent]
    client.close()
    node.close()
