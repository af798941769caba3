"""What the server side may ask of the outside world, as protocols.

The real implementations stand beside this file; the simulator has its own. Everything above this room is written
against these protocols only, so the same code runs on a seeded clock, network and disk.

Threading rule: one thread (the loop's) runs all server code. `Workers` run a job elsewhere and bring its result back
to the loop; `Loop.call_from_thread` is the only method that may be called from another thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from moldau.dataclass import dataclass
from moldau.types import Buffer

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")

# What a handshake goes by; made by `Network.secure`, and looked into by nobody else.
TlsContext: TypeAlias = "ssl.SSLContext"


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall clock, milliseconds since the epoch: what records and files are stamped with."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going back: what durations and deadlines are measured with."""
        ...


class TimerHandle(Protocol):
    def cancel(self) -> None: ...


@dataclass(slots=True)
class LoopLoad:
    """How busy a loop has been since it began."""

    turns: int = 0
    # Waiting for something to do.
    idle_seconds: float = 0.0
    # The longest turn; whoever has looked sets it to 0.
    longest_seconds: float = 0.0
    # When this turn learnt who is ready, by the monotonic clock, and how many that are.
    polled_at: float = 0.0
    ready: int = 1


@dataclass(slots=True)
class WorkersLoad:
    """What workers have done."""

    jobs: int = 0
    seconds: float = 0.0
    # Submitted and not back yet.
    busy: int = 0


@dataclass(slots=True, frozen=True)
class ProcessUsage:
    """What this process takes of the machine. 0 for what the operating system does not tell."""

    cpu_seconds: float
    resident_bytes: int
    started_at: float
    threads: int
    open_descriptors: int
    most_descriptors: int
    disk_read_bytes: int
    disk_written_bytes: int
    # Collections of garbage, which hold everything, by the age of what they look at.
    collections: tuple[int, ...]
    collecting_seconds: float


class Process(Protocol):
    def usage(self) -> ProcessUsage: ...


class Loop(Protocol):
    @property
    def load(self) -> LoopLoad: ...

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Runs after the current callback has returned, before the loop waits again."""
        ...

    def call_later(self, delay_seconds: float, callback: Callable[[], None]) -> TimerHandle: ...

    def call_from_thread(self, callback: Callable[[], None]) -> None: ...

    def flush(self) -> None:
        """What transports have queued leaves now, and not at the end of the turn: somebody else may go on with it while
        there is more to do here."""
        ...

    def when_flushed(self, told: Callable[[float, float], None]) -> None:
        """`told` hears once, at the end of this turn, when what is queued began to leave and when that was over."""
        ...

    def run(self) -> None:
        """Runs until `stop`."""
        ...

    def stop(self) -> None: ...


class Workers(Protocol):
    @property
    def load(self) -> WorkersLoad: ...

    def submit(self, job: Callable[[], T], done: Callable[[T | None, BaseException | None], None]) -> None:
        """Runs `job` off the loop, `done(result, error)` on it. A job releases the GIL (fsync, kernels) or is short."""
        ...

    def close(self) -> None: ...


class Random(Protocol):
    def bytes(self, count: int) -> bytes: ...

    def below(self, limit: int) -> int:
        """A uniform integer in [0, limit)."""
        ...


# ---------------------------------------------------------------------------------------------------- disk


class File(Protocol):
    """A file open for positioned reads and writes. Errors are OSError, as from the operating system."""

    path: str

    def size(self) -> int: ...

    def read(self, position: int, length: int) -> bytes:
        """Up to `length` bytes; fewer only at the end of the file."""
        ...

    def write(self, data: Buffer, position: int) -> None:
        """All of `data` at `position`, or OSError (then any part of it may have been written)."""
        ...

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Content and size survive a power cut once this returns."""
        ...

    def fileno(self) -> int:
        """The descriptor for sendfile, or -1 where there is none (then the network reads and sends)."""
        ...

    def close(self) -> None: ...


class MappedFile(Protocol):
    """A file seen as memory; indexes live in these."""

    path: str  # to be kept true by whoever renames the file

    @property
    def view(self) -> memoryview:
        """The writable content; valid until the next `resize` or `close`."""
        ...

    def resize(self, size: int) -> None: ...

    def sync(self) -> None: ...

    def close(self) -> None: ...


class Lock(Protocol):
    def release(self) -> None: ...


class Disk(Protocol):
    def open(self, path: str, *, create: bool = False) -> File: ...

    def map(self, path: str, size: int) -> MappedFile:
        """Opens or creates `path`, makes it exactly `size` bytes long and maps it for writing."""
        ...

    def read_file(self, path: str) -> bytes: ...

    def exists(self, path: str) -> bool: ...

    def is_directory(self, path: str) -> bool: ...

    def list(self, path: str) -> Sequence[str]:
        """The names inside a directory, sorted."""
        ...

    def size(self, path: str) -> int: ...

    def modified_ms(self, path: str) -> int: ...

    def make_directories(self, path: str) -> None: ...

    def rename(self, source: str, target: str) -> None:
        """Atomic, and replaces `target`; durable only after `sync_directory` on the parent."""
        ...

    def remove(self, path: str) -> None: ...

    def remove_tree(self, path: str) -> None: ...

    def sync_directory(self, path: str) -> None: ...

    def free_bytes(self, path: str) -> int: ...

    def total_bytes(self, path: str) -> int: ...

    def lock(self, path: str) -> Lock | None:
        """An exclusive lock held by this process, or None when another process has it."""
        ...


@dataclass(slots=True, frozen=True)
class FileSlice:
    """Bytes that stay in a file until the network sends them."""

    file: File
    position: int
    length: int

    def __len__(self) -> int:
        return self.length

    def read(self) -> bytes:
        return self.file.read(self.position, self.length)


# ------------------------------------------------------------------------------------------------- network

Chunk: TypeAlias = bytes | bytearray | memoryview | FileSlice


class Transport(Protocol):
    """One connection that carries frames: four bytes of length, then that many bytes.

    `send` only queues; what was queued during a turn of the loop leaves together at its end, in order.
    """

    @property
    def peer(self) -> tuple[str, int]: ...

    @property
    def local(self) -> tuple[str, int]: ...

    @property
    def secured_by(self) -> tuple[str, str] | None:
        """The cipher suite, by its name in the standards, and the version of TLS; None without TLS."""
        ...

    @property
    def unsent(self) -> int:
        """Bytes queued and not yet taken by the operating system: the measure for back-pressure."""
        ...

    @property
    def activity(self) -> int:
        """Grows whenever bytes arrive or leave: who looks twice knows whether the connection was idle in between."""
        ...

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Queues bytes as they are: the caller includes the length prefix. Buffers must not change afterwards."""
        ...

    def flush(self) -> None:
        """What is queued leaves now, as far as the peer takes it."""
        ...

    def pause(self) -> None:
        """No further frame is delivered, and the socket is not read beyond what is buffered already."""
        ...

    def resume(self) -> None: ...

    def attach(self, receiver: Receiver) -> None:
        """Frames go to another receiver, from the next one on that is not being delivered just now."""
        ...

    def limit_frames(self, largest: int, kept: Callable[[int], None] | None = None) -> None:
        """Another limit than the one it began with, in the same way: a longer frame closes the connection before
        there is room for it. `kept` hears from now on how many bytes are kept of frames that were not delivered yet,
        or set apart for one that has begun; it may close the connection."""
        ...

    def serve_runs(self, runs: Runs | None, receiver: Receiver) -> None:
        """Plain records of this connection may be written by these from now on, in the name of its receiver; with None
        by nobody but him. A hint: not every kind of connection is served so."""
        ...

    def announce(self, told: Callable[[bytes], None]) -> None:
        """While this pause lasts, or the one about to begin: `told` hears how the next frame begins, once, as soon as
        its length and two bytes have arrived."""
        ...

    def close(self, reason: str | None = None) -> None:
        """Closes after what is queued was sent, or at once if the peer does not take it. Idempotent."""
        ...


class Receiver(Protocol):
    """The upper end of a connection."""

    def frame(self, data: memoryview, start: int, end: int) -> None:
        """One whole frame without its length: `data[start:end]`, writable, valid only during the call.

        An exception here closes this connection and no other.
        """
        ...

    def drained(self) -> None:
        """All that was queued has left, after `unsent` had been above zero at the end of a turn."""
        ...

    def closed(self, reason: str | None) -> None:
        """Called once; `reason` says why in a few words, None for an ordinary end."""
        ...


class OwningReceiver(Receiver, Protocol):
    """A receiver that holds on to what came, such as a client to fetched records, and would have to copy it."""

    def own_frame(self, data: memoryview) -> None:
        """In place of `frame`, for a large frame: it lies in memory of its own, which may be kept."""
        ...


class SecuredReceiver(Receiver, Protocol):
    """The receiver of a connection that begins with a TLS handshake."""

    def secured(self, certificate: bytes | None) -> str | None:
        """The handshake is over: the certificate the peer has shown and we believe, in DER. A reason to refuse it."""
        ...


@dataclass(slots=True, frozen=True)
class SocketOptions:
    """What a listener's sockets are set to; None leaves the operating system's own choice."""

    backlog: int = 128
    send_buffer: int | None = None
    receive_buffer: int | None = None


@dataclass(slots=True)
class Tls:
    """How a connection is to be secured: by which rules and, at the calling end, under which name the peer is known.

    `failure` says why TLS itself was refused (a certificate, a version), which no further try will mend.
    """

    context: TlsContext
    server_name: str | None = None
    failure: str | None = None


@dataclass(slots=True, frozen=True)
class TlsKey:
    """A private key, perhaps locked with a password, and the certificates that vouch for it, its own first: all PEM."""

    key: str
    chain: str
    password: str = ""

    def __repr__(self) -> str:
        return f"TlsKey([hidden], {self.chain!r})"


@dataclass(slots=True, frozen=True)
class TlsRules:
    """What one end of TLS shows of itself, whom it believes and what it speaks."""

    keys: tuple[TlsKey, ...] = ()
    trusted: str | None = None  # certificates in PEM; None for those the operating system trusts
    versions: tuple[str, str] = ("TLSv1.2", "TLSv1.3")
    ciphers: tuple[str, ...] = ()  # by their names in the standards; none named means the library's choice
    client_auth: str = "none"  # or requested, or required
    checks_name: bool = True


class Listener(Protocol):
    @property
    def address(self) -> tuple[str, int]:
        """What it is bound to; the port is the real one even if 0 was asked for."""
        ...

    def pause(self) -> None:
        """Accepts nobody until `resume`; who comes meanwhile waits in the operating system's queue."""
        ...

    def resume(self) -> None: ...

    def close(self) -> None:
        """Stops accepting; connections that exist stay."""
        ...


class Commits(Protocol):
    """Who takes the offset commits of several connections together (`server/commit_runs`)."""

    @property
    def last_version(self) -> int: ...

    def write(self, asked: list[tuple[int, Any]], /) -> list[bool]: ...


class Runs(Protocol):
    """Where plain records may be written without asking about each (`replica/runs`): opened, written, closed."""

    @property
    def last_version(self) -> int: ...

    @property
    def commits(self) -> Commits | None: ...

    @property
    def served(self) -> Any:
        """Where the network counts what it serves by itself (`_speed/express`)."""
        ...

    def of(self, receiver: Receiver, /) -> Runs:
        """What may be written by one connection."""
        ...

    def find(self, topic: Any, index: int, /) -> Any: ...

    def open(self, partition: Any, /) -> Any: ...


class WebRefusal(OSError):
    """An answer from the web that says no."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the answer was {status}")
        self.status = status


class KerberosAcceptor(Protocol):
    """The service's side of one authentication. All of it takes a moment: jobs for workers. OSError for a refusal."""

    @property
    def complete(self) -> bool: ...

    @property
    def initiator(self) -> str:
        """Whose ticket it was, once it is complete: SERVICE/HOST@REALM, or NAME@REALM."""
        ...

    def step(self, token: bytes) -> bytes: ...

    def wrap(self, message: bytes) -> bytes: ...

    def unwrap(self, message: bytes) -> bytes: ...


class KerberosInitiator(Protocol):
    """The calling side of one authentication. All of it takes a moment, and may wait for the distribution centre: jobs
    for `Network.aside`. OSError for a refusal, ConnectionError where no centre answers."""

    @property
    def complete(self) -> bool: ...

    def step(self, token: bytes | None) -> bytes: ...

    def wrap(self, message: bytes) -> bytes: ...

    def unwrap(self, message: bytes) -> bytes: ...


class Network(Protocol):
    def listen(
        self,
        host: str,
        port: int,
        accept: Callable[[Transport], Receiver | None],
        *,
        max_frame: int,
        options: SocketOptions = SocketOptions(),  # noqa: B008  frozen
        runs: Runs | None = None,
        tls: Callable[[], TlsContext] | None = None,
        heads: bool = False,
    ) -> Listener:
        """`accept` is called per connection; None refuses it. A frame over `max_frame` bytes closes its connection.

        `tls` gives the rules for the next connection, as `secure` made them; its receiver is a `SecuredReceiver`.

        A network that can may write plain records itself, through `runs`; all others hand up every frame.

        With `heads` what comes are the heads of HTTP requests, with their empty line, and not frames. Without TLS.

        An empty host means every address of the machine. OSError if the address cannot be bound.
        """
        ...

    def connect(
        self,
        host: str,
        port: int,
        receiver: Callable[[Transport], Receiver],
        *,
        max_frame: int,
        tls: Tls | None = None,
    ) -> Transport:
        """Starts connecting; what is sent before it is established waits. Failure arrives as `closed(reason)`."""
        ...

    def secure(self, rules: TlsRules, *, accepting: bool) -> TlsContext:
        """TLS by these rules, at the accepting end or the calling one; ValueError says why that cannot be. Takes some
        milliseconds, and may be called by a worker."""
        ...

    def shake_hands(self, accepting: TlsRules, calling: TlsRules) -> str | None:
        """Why these two ends would not understand each other, if so; names are not checked. For workers too."""
        ...

    def fetch(
        self,
        url: str,
        *,
        seconds: float,
        most_bytes: int,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
    ) -> bytes:
        """What is at an http or https address, or its answer to `body`; OSError (`WebRefusal` where it is the answer
        that says no), or ValueError for an address that is none. It blocks, for `seconds` at most, so it is a job for
        workers."""
        ...

    def aside(self, job: Callable[[], T], done: Callable[[T | None, BaseException | None], None]) -> None:
        """Runs a job that waits for somebody elsewhere: one after the other, and workers are left to those who do not.
        `done(result, error)` is called on the loop."""
        ...

    def kerberos(self, principal: str, key_table: str) -> KerberosAcceptor:
        """For one authentication at the service `principal`; OSError where there is no Kerberos, or no such key."""
        ...

    def kerberos_login(self, service: str, principal: str, key_table: str) -> KerberosInitiator:
        """For one authentication of `principal` at a service, SERVICE@HOST, with the keys of a table."""
        ...

    def limit_receive_memory(self, limit: int | None) -> None:
        """Bounds what frames still being received may hold together; who finds no room is not read for a while."""
        ...


class Runtime(Protocol):
    """All ports in one hand: what a node is built on."""

    @property
    def clock(self) -> Clock: ...

    @property
    def loop(self) -> Loop: ...

    @property
    def workers(self) -> Workers: ...

    @property
    def random(self) -> Random: ...

    @property
    def disk(self) -> Disk: ...

    @property
    def network(self) -> Network: ...

    @property
    def process(self) -> Process: ...
