"""The share partitions this broker leads, and the sessions of those who read them.

A share partition is here from when somebody wants its records until this broker leads the partition no more, the state
of the group is taken away, or the group has no session here any more and nothing of it is being written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.group_configs import GroupConfigs
from moldau.coordinator.share.state import SharePartitionKey
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import Partition
from moldau.runtime.ports import Runtime
from moldau.server.share.led_partition import LedSharePartition
from moldau.server.share.persister import SharePersister
from moldau.server.share.share_sessions import ShareSession, ShareSessions
from moldau.slicing import Slicer, Work
from moldau.types import Uuid

_MOVED: Final = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)


class SharePartitions:
    def __init__(
        self,
        replicas: ReplicaManager,
        persister: SharePersister,
        config: Callable[[], BrokerConfig],
        image: Callable[[], MetadataImage],
        runtime: Runtime,
        slicer: Slicer,
    ) -> None:
        self.sessions = ShareSessions(config().group_share_max_share_sessions, self._session_ended)
        self.configs = GroupConfigs(config, image)
        self._replicas = replicas
        self._persister = persister
        self._runtime = runtime
        self._slicer = slicer
        self._led: dict[SharePartitionKey, LedSharePartition] = {}
        self._by_topic: dict[Uuid, set[SharePartitionKey]] = {}
        self._by_group: dict[str, set[SharePartitionKey]] = {}

    def __len__(self) -> int:
        return len(self._led)

    def led(self) -> tuple[LedSharePartition, ...]:
        return tuple(self._led.values())

    def get(self, group_id: str, topic_id: Uuid, index: int) -> LedSharePartition:
        """Read from its coordinator if it is not here. KafkaError if somebody else leads it, or nobody."""
        partition = self._leading(topic_id, index)
        led = self.known(group_id, topic_id, index)
        if led is None:
            key = SharePartitionKey(group_id, topic_id, index)
            runtime = self._runtime
            led = LedSharePartition(
                key,
                partition,
                self._replicas,
                self._persister,
                lambda: self.configs.of(group_id),
                runtime.clock,
                runtime.loop,
                runtime.workers,
                self._slicer,
                self._settled,
                self._remove,
            )
            self._led[key] = led
            self._by_topic.setdefault(topic_id, set()).add(key)
            self._by_group.setdefault(group_id, set()).add(key)
            led.load()
        return led

    def known(self, group_id: str, topic_id: Uuid, index: int) -> LedSharePartition | None:
        """If it is here, and this broker still leads it. KafkaError if it does not lead the partition at all."""
        partition = self._leading(topic_id, index)
        led = self._led.get(SharePartitionKey(group_id, topic_id, index))
        if led is not None and (led.partition is not partition or not led.is_current):
            self._drop(led, _MOVED)
            return None
        return led

    def _leading(self, topic_id: Uuid, index: int) -> Partition:
        partition = self._replicas.find(topic_id, index)
        if partition is None:
            partition = self._replicas.find_missing(topic_id, index)
        if not partition.is_leader:
            raise _MOVED
        return partition

    # ------------------------------------------------------------------------------------------------- what happens

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """A publisher behind the replica manager: who leads what has been told to the partitions."""
        for topic_id in delta.topics.deleted:
            for key in tuple(self._by_topic.get(topic_id, ())):
                self._drop(self._led[key], KafkaError(ErrorCode.UNKNOWN_TOPIC_ID))
        for topic_id, topic in delta.topics.changed.items():
            for key in tuple(self._by_topic.get(topic_id, ())):
                led = self._led[key]
                if key.partition in topic.partitions and not led.is_current:
                    self._drop(led, _MOVED)

    def _session_ended(self, session: ShareSession) -> None:
        self._slicer.run(self._release(session))

    def _release(self, session: ShareSession) -> Work[None]:
        for key in tuple(self._by_group.get(session.group_id, ())):
            led = self._led.get(key)
            if led is not None:
                led.release(session.member_id)
                self._settled(led)
            yield

    def _settled(self, led: LedSharePartition) -> None:
        """Without a session nobody needs it: offsets of a group without members may be changed behind its back."""
        if led.is_idle and led.state is not None and not self.sessions.has_group(led.key.group_id):
            self._drop(led, _MOVED)

    def _drop(self, led: LedSharePartition, error: KafkaError) -> None:
        led.drop(error)
        self._remove(led)

    def _remove(self, led: LedSharePartition) -> None:
        if self._led.get(led.key) is not led:
            return
        del self._led[led.key]
        for index, name in ((self._by_topic, led.key.topic_id), (self._by_group, led.key.group_id)):
            keys = index[name]  # type: ignore[index]
            keys.discard(led.key)
            if not keys:
                del index[name]  # type: ignore[arg-type]
        led.drop(_MOVED)

    def close(self) -> None:
        """Nobody hears of any lock that runs out from now on."""
        for led in tuple(self._led.values()):
            self._drop(led, _MOVED)
