"""`KafkaAdminClient`: kafka-python's class over the conversations of this room.

Answers are plain lists and dictionaries with the field names of Kafka's protocol, as there. Whoever wants typed ones
has the conversations themselves. One file per noun: `topic_face`, `config_face`, `group_face`, `transaction_face`,
`cluster_face`, `security_face`.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, ClassVar

from moldau.client.admin.cluster_face import ClusterFace
from moldau.client.admin.config_face import ConfigFace
from moldau.client.admin.group_face import GroupFace
from moldau.client.admin.security_face import SecurityFace
from moldau.client.admin.topic_face import TopicFace
from moldau.client.admin.transaction_face import TransactionFace
from moldau.client.settings import COMMON, bootstrap, merged, open_network


class KafkaAdminClient(TopicFace, ConfigFace, GroupFace, TransactionFace, ClusterFace, SecurityFace):
    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = dict(COMMON)

    def __init__(self, **configs: Any) -> None:
        self._closed = True
        self.config = merged({}, configs)
        self._background, self._network = open_network(self.config, "admin")
        bootstrap(self._background, self._network, self.config["bootstrap_timeout_ms"] / 1000)
        self._closed = False

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._background.close(self._network.close)

    def __enter__(self) -> KafkaAdminClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.close()
