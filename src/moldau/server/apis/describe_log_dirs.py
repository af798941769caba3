"""DescribeLogDirs (key 35): the log directories of this broker and what lies in them.

Versions: 2 is flexible, 3 adds an error for the whole request, 4 the size of the disk and what is free on it, 5 whether
a directory takes new partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work
from moldau.storage.directory_description import DirectoryDescription, describe_directory
from moldau.storage.log_manager import LogManager
from moldau.types import TopicPartition


def describe_log_dirs(context: RequestContext, request: DescribeLogDirsRequest) -> Work[DescribeLogDirsResponse]:
    """Null asks for everything, a list for some partitions; the directories themselves are always described."""
    require_cluster(context, Operation.DESCRIBE)
    asked: set[TopicPartition] | None = None
    if request.topics is not None:
        asked = set()
        for topic in request.topics:
            for index in topic.partitions:
                asked.add(TopicPartition(topic.topic, index))
                yield
            yield
    logs = context.services.logs
    cordoned = set(context.services.config.cordoned_log_dirs)
    response = DescribeLogDirsResponse()
    for directory in logs.directories:
        described = yield from describe_directory(logs, directory)
        response.results.append((yield from _directory(logs, described, asked, cordoned)))
    return response


def _directory(
    logs: LogManager,
    directory: DirectoryDescription,
    asked: set[TopicPartition] | None,
    cordoned: set[str],
) -> Work[DescribeLogDirsResult]:
    sizes = {partition: size for partition, size in directory.sizes.items() if asked is None or partition in asked}
    futures = {place: size for place, size in directory.futures.items() if asked is None or place in asked}
    return DescribeLogDirsResult(
        error_code=ErrorCode.NONE if directory.is_online else ErrorCode.KAFKA_STORAGE_ERROR,
        log_dir=directory.path,
        topics=(yield from _topics(logs, sizes, futures)),
        total_bytes=directory.total_bytes,
        usable_bytes=directory.usable_bytes,
        is_cordoned="*" in cordoned or directory.path in cordoned,
    )


def _topics(
    logs: LogManager, sizes: Mapping[TopicPartition, int], futures: Mapping[TopicPartition, int]
) -> Work[list[DescribeLogDirsTopic]]:
    topics: dict[str, DescribeLogDirsTopic] = {}
    for partition, size in sorted(sizes.items()):
        topic = topics.setdefault(partition.topic, DescribeLogDirsTopic(name=partition.topic))
        log = logs.get(partition)
        topic.partitions.append(
            DescribeLogDirsPartition(
                partition_index=partition.partition,
                partition_size=size,
                # From what its leader said last that all have: its own high watermark never goes past its end.
                offset_lag=0 if log is None else max(0, log.local.leaders_high_watermark - log.log_end_offset),
            )
        )
        yield
    for partition, size in sorted(futures.items()):
        topic = topics.setdefault(partition.topic, DescribeLogDirsTopic(name=partition.topic))
        current, future = logs.get(partition), logs.futures.logs.get(partition)
        topic.partitions.append(
            DescribeLogDirsPartition(
                partition_index=partition.partition,
                partition_size=size,
                # What is still to be copied.
                offset_lag=max(0, current.log_end_offset - future.log_end_offset) if current and future else 0,
                is_future_key=True,
            )
        )
    return list(topics.values())


def error_response(request: DescribeLogDirsRequest, version: int, error: KafkaError) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(error_code=error.code)


DESCRIBE_LOG_DIRS: Final = Api(ApiKey.DESCRIBE_LOG_DIRS, DescribeLogDirsRequest, describe_log_dirs, error_response)
