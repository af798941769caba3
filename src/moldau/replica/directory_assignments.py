"""Tells the controller in which log directory each replica of this broker lies (AssignReplicasToDirs).

The broker chooses the directory of a new replica, and a lost disk comes back as another directory: the controller lets
no replica into an in-sync set that it believes to be on a disk that is gone. Whatever lies elsewhere than the metadata
says is reported until the controller has taken it; the metadata then says the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from moldau.errors import ErrorCode
from moldau.metadata.features import DIRECTORIES_SINCE
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    RequestDirectoryData,
    RequestPartitionData,
    RequestTopicData,
)
from moldau.replica.controller_requests import MOST, Controller, ControllerRequests
from moldau.replica.partition import Partition
from moldau.replica.source_session import PartitionKey
from moldau.runtime.ports import Loop
from moldau.types import Uuid

logger = logging.getLogger("moldau.replica")

_RETRY_SECONDS: Final = 0.5


class DirectoryAssignments:
    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        controller: Controller,
        image: Callable[[], MetadataImage],
        # The id of a log directory, given its path.
        directory_id: Callable[[str], Uuid | None],
        loop: Loop,
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._image = image
        self._directory_id = directory_id
        self._requests: ControllerRequests[Partition] = ControllerRequests(
            controller, loop, self._next_request, self._answered
        )

    def check(self, partition: Partition) -> None:
        """To be called whenever a replica, or what the metadata says about it, may lie somewhere else."""
        if self._misplaced(partition) is not None:
            self._requests.add((partition.topic_id, partition.topic_partition.partition), partition)

    def close(self) -> None:
        self._requests.close()

    def _misplaced(self, partition: Partition) -> Uuid | None:
        """The directory in which a replica lies, if the metadata has it in another."""
        image = self._image()
        topic = image.topics.by_id(partition.topic_id)
        state = None if topic is None else topic.partitions.get(partition.topic_partition.partition)
        if state is None or self._broker_id not in state.replicas or partition.is_released:
            return None
        if image.metadata_version < DIRECTORIES_SINCE:
            return None
        directory = self._directory_id(partition.log.directory.parent)
        return None if directory == state.directory(self._broker_id) else directory

    def _next_request(self) -> tuple[AssignReplicasToDirsRequest, dict[PartitionKey, Partition]] | None:
        epoch = self._broker_epoch()
        if epoch < 0:
            # Not registered yet: the controller would not know what the directories are.
            self._requests.go_on(_RETRY_SECONDS)
            return None
        sent: dict[PartitionKey, Partition] = {}
        directories: dict[Uuid, dict[Uuid, list[int]]] = {}
        for key, partition in self._requests.taken():
            directory = self._misplaced(partition)
            if directory is not None:
                sent[key] = partition
                directories.setdefault(directory, {}).setdefault(key[0], []).append(key[1])
                if len(sent) == MOST:
                    break
        if not sent:
            return None
        request = AssignReplicasToDirsRequest(
            broker_id=self._broker_id,
            broker_epoch=epoch,
            directories=[
                RequestDirectoryData(
                    id=directory,
                    topics=[
                        RequestTopicData(
                            topic_id=topic,
                            partitions=[RequestPartitionData(partition_index=index) for index in indexes],
                        )
                        for topic, indexes in topics.items()
                    ],
                )
                for directory, topics in directories.items()
            ],
        )
        return request, sent

    def _answered(
        self,
        sent: dict[PartitionKey, Partition],
        answer: AssignReplicasToDirsResponse | None,
        error: BaseException | None,
    ) -> float:
        taken: set[PartitionKey] = set()
        if answer is None:
            logger.warning("the controller was not told where %d replicas lie: %s", len(sent), error)
        else:
            taken = {
                (topic.topic_id, partition.partition_index)
                for directory in answer.directories
                for topic in directory.topics
                for partition in topic.partitions
                if partition.error_code == ErrorCode.NONE
            }
        left = [(key, partition) for key, partition in sent.items() if key not in taken]
        self._requests.again(left)
        return _RETRY_SECONDS if left else 0.0
