"""GetTelemetrySubscriptions and PushTelemetry, as far as they are not words of the protocol.

A push is unpacked on a worker and read in slices, one after the other: few bytes may become many, and many clients may
push at the same time. Those that wait are held as they came, up to `HELD_BYTES` of them together; who comes after that
is told to come again. What a push unpacks to is bounded by what it may be packed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from moldau.config import client_metrics as names
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.metrics.exposition import Family
from moldau.protocol.records.compression import Compression, decompress
from moldau.server.telemetry.client_instances import ClientInstance, ClientInstances, silence_seconds
from moldau.server.telemetry.otlp import MetricsReader
from moldau.server.telemetry.pushed_series import PushedSeries, Pusher
from moldau.server.telemetry.subscriptions import Subscription, Subscriptions
from moldau.slicing import Slicer, Work
from moldau.types import ZERO_UUID, Buffer, Uuid, uuid_to_text

if TYPE_CHECKING:
    from moldau.metadata.image import ConfigsImage
    from moldau.protocol.messages.push_telemetry import PushTelemetryRequest
    from moldau.runtime.ports import Random, Runtime
    from moldau.server.context import RequestContext

# In the order in which a client should like them.
ACCEPTED_COMPRESSION: Final = (Compression.ZSTD, Compression.LZ4, Compression.GZIP, Compression.SNAPPY)
HELD_BYTES: Final = 32 << 20
# Text packs well, but not better than this; and no setting allows a push to fill the memory.
_EXPANSION: Final = 16
_MOST_UNPACKED: Final = 32 << 20
# Kafka's reserved ids are no ids of clients.
_RESERVED: Final = (ZERO_UUID, bytes(15) + b"\x01")


class _Push(NamedTuple):
    data: bytes
    codec: int
    most_unpacked: int
    pusher: Pusher
    silence_seconds: float
    answer: Deferred[None]

    def unpack(self) -> Buffer:
        return decompress(self.codec, self.data, self.most_unpacked)


class ClientMetrics:
    def __init__(self, runtime: Runtime, slicer: Slicer) -> None:
        self._runtime = runtime
        self._slicer = slicer
        self._now = runtime.clock.monotonic
        self._configs: ConfigsImage | None = None
        self._subscriptions: Subscriptions | None = None
        self.instances = ClientInstances()
        self.series = PushedSeries()
        self._waiting: deque[_Push] = deque()
        self._held = 0
        self._busy = False
        # Since the node began, as Kafka counts them.
        self.exports = self.failures = self.throttled = self.unknown_subscriptions = 0

    # -------------------------------------------------------------------------------------------------- requests

    def ask(self, context: RequestContext, instance_id: Uuid) -> tuple[Uuid, Subscription]:
        """The id of the instance, a new one for ZERO_UUID, and what it is asked for."""
        if instance_id == ZERO_UUID:
            instance_id = new_instance_id(self._runtime.random)
        instance = self._instance(context, instance_id)
        try:
            instance.ask(self._now())
        except KafkaError as error:
            self._count(error)
            raise
        return instance_id, instance.subscription

    def push(self, context: RequestContext, request: PushTelemetryRequest) -> Deferred[None]:
        """Settles when what was pushed can be seen; fails with KafkaError."""
        if request.client_instance_id in _RESERVED:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "An instance of a client has an id of its own.")
        instance = self._instance(context, request.client_instance_id)
        most_bytes = context.services.config.telemetry_max_bytes
        data = request.metrics
        try:
            instance.check_push(
                self._now(),
                request.subscription_id,
                request.compression_type,
                len(data),
                most_bytes,
                terminating=request.terminating,
            )
        except KafkaError as error:
            self._count(error)
            raise
        answer: Deferred[None] = Deferred()
        if not data:
            answer.resolve(None)
            return answer
        if self._waiting and self._held + len(data) > HELD_BYTES:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "Too many clients push at the same time.")
        self._held += len(data)
        pusher = Pusher(
            uuid_to_text(request.client_instance_id), (context.client_id or "")[:256], str(context.principal)[:256]
        )
        most_unpacked = min(most_bytes * _EXPANSION, _MOST_UNPACKED)
        silence = silence_seconds(instance.subscription)
        self._waiting.append(_Push(data, request.compression_type, most_unpacked, pusher, silence, answer))
        self._go_on()
        return answer

    def _instance(self, context: RequestContext, instance_id: Uuid) -> ClientInstance:
        configs = context.services.metadata.image.configs
        if self._subscriptions is None or configs is not self._configs:
            self._configs, self._subscriptions = configs, Subscriptions(configs)
        subscriptions = self._subscriptions
        return self.instances.of(
            context.connection,
            instance_id,
            subscriptions,
            lambda: subscriptions.of(instance_id, _attributes(context, instance_id)),
            self._now(),
        )

    def _count(self, error: KafkaError) -> None:
        self.throttled += error.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
        self.unknown_subscriptions += error.code is ErrorCode.UNKNOWN_SUBSCRIPTION_ID

    # ------------------------------------------------------------------------------------------ one after the other

    def _go_on(self) -> None:
        if self._busy or not self._waiting:
            return
        self._busy = True
        push = self._waiting.popleft()
        self._held -= len(push.data)

        def unpacked(data: Buffer | None, error: BaseException | None) -> None:
            if data is None:
                self._settle(push, error)
                return
            taken: Deferred[None] = Deferred()
            taken.then(lambda _, failure: self._settle(push, failure))
            self._slicer.run_into(self._take(push, data), taken)

        self._runtime.workers.submit(push.unpack, unpacked)

    def _take(self, push: _Push, data: Buffer) -> Work[None]:
        points = MetricsReader(data).points()
        yield from self.series.take(push.pusher, points, self._now(), push.silence_seconds)

    def _settle(self, push: _Push, error: BaseException | None) -> None:
        self._busy = False
        if error is None:
            self.exports += 1
            push.answer.resolve(None)
        else:
            self.failures += 1
            if isinstance(error, ProtocolError):
                error = KafkaError(ErrorCode.INVALID_RECORD, str(error))
            push.answer.fail(error)
        self._go_on()

    # ------------------------------------------------------------------------------------------------- to be seen

    def families(self) -> Iterator[Family | None]:
        """What clients have pushed; None is a place to pause."""
        yield from self.series.expire(self._now())
        yield from self.series.families()


def new_instance_id(random: Random) -> Uuid:
    while (instance_id := random.bytes(16)) in _RESERVED:
        pass
    return instance_id


def _attributes(context: RequestContext, instance_id: Uuid) -> dict[str, str]:
    host, port = context.peer
    known = {
        names.CLIENT_INSTANCE_ID: uuid_to_text(instance_id),
        names.SOURCE_ADDRESS: host,
        names.SOURCE_PORT: str(port),
    }
    if context.client_id is not None:
        known[names.CLIENT_ID] = context.client_id
    software = context.connection.software
    if software is not None:
        known[names.SOFTWARE_NAME], known[names.SOFTWARE_VERSION] = software.name, software.version
    return known
