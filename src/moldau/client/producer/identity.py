"""Who the producer is to the brokers: its id and epoch, asked for when first needed, raised when numbers are lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from moldau.client.network import ClientNetwork
from moldau.client.producer.batch import NOBODY, Identity
from moldau.client.producing import ProducerId, init_producer_id
from moldau.errors import KafkaError
from moldau.types import TopicPartition

_HIGHEST_EPOCH: Final = 0x7FFF
_TIMEOUT: Final = 60.0


class ProducerIdentity:
    """Of a producer that numbers nothing (enable_idempotence=False), and the base of the others.

    `changed` is called when something that `may_send` had refused has become possible.
    """

    numbers = False
    transactional = False
    transactional_id: str | None = None
    implicit_partitions = False

    def __init__(self) -> None:
        self.current = NOBODY
        self.changed: Callable[[], None] = lambda: None

    @property
    def usable(self) -> bool:
        """False once nothing can be sent any more under this identity."""
        return True

    def may_send(self, where: TopicPartition) -> bool:
        """Whether a batch for this partition may go now; if not, what is missing is asked for."""
        return True

    def renew(self, broken: Identity) -> bool:
        """Sees to an identity newer than `broken`; False if it has to be waited for."""
        return True

    def batch_failed(self, error: KafkaError) -> None:
        """A batch was given up."""


class IdempotentIdentity(ProducerIdentity):
    """An id from the cluster. A new epoch needs nobody's permission: brokers take a higher one that begins at zero."""

    numbers = True

    def __init__(self, network: ClientNetwork) -> None:
        super().__init__()
        self._network = network
        self._asking = False

    def may_send(self, where: TopicPartition) -> bool:
        if self.current == NOBODY and self.numbers:
            self._ask()
            return False
        return True

    def renew(self, broken: Identity) -> bool:
        if self.current != broken:
            return self.current != NOBODY
        if self.current.epoch < _HIGHEST_EPOCH:
            self.current = Identity(self.current.id, self.current.epoch + 1)
            return True
        self.current = NOBODY
        self._ask()
        return False

    def _ask(self) -> None:
        if self._asking:
            return
        self._asking = True
        self._network.perform(init_producer_id(), _TIMEOUT).then(self._given)

    def _given(self, given: ProducerId | None, error: BaseException | None) -> None:
        self._asking = False
        if given is None:
            self._network.loop.call_later(self._network.backoff.delay(0), self.changed)
            return
        self.current = Identity(given.id, given.epoch)
        # A broker that gives no ids (too old, or not to us) is written to without numbers.
        self.numbers = self.current != NOBODY
        self.changed()
