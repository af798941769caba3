"""AlterReplicaLogDirs (key 34): moves replicas of this broker between its log directories.

Version 2 is flexible. The answer comes when the moves have begun; DescribeLogDirs shows how far they are. Moving a
replica to the directory it is in gives up a move under way.
"""

from __future__ import annotations

from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work


def alter_replica_log_dirs(
    context: RequestContext, request: AlterReplicaLogDirsRequest
) -> Work[AlterReplicaLogDirsResponse]:
    require_cluster(context, Operation.ALTER)
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for directory in request.dirs:
        yield
        for topic in directory.topics:
            yield
            result = results.setdefault(topic.name, AlterReplicaLogDirTopicResult(topic_name=topic.name))
            for index in topic.partitions:
                code = _alter(context, topic.name, index, directory.path)
                result.partitions.append(AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code))
                yield
    return AlterReplicaLogDirsResponse(results=list(results.values()))


def _alter(context: RequestContext, topic: str, index: int, path: str) -> ErrorCode:
    try:
        context.services.log_moves.alter(topic, index, path)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def error_response(request: AlterReplicaLogDirsRequest, version: int, error: KafkaError) -> AlterReplicaLogDirsResponse:
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=topic.name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error.code)
                    for index in topic.partitions
                ],
            )
            for directory in request.dirs
            for topic in directory.topics
        ]
    )


ALTER_REPLICA_LOG_DIRS: Final = Api(
    ApiKey.ALTER_REPLICA_LOG_DIRS, AlterReplicaLogDirsRequest, alter_replica_log_dirs, error_response
)
