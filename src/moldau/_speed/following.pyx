"""What a follower says and hears, again and again: its fetches in a session written, short answers read.

As with the other side (`frames`) the generated classes are the specification, and whatever is not plain is left to them.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from moldau._speed.frames cimport Sink
from moldau._speed.source cimport Source, has, skip_tags, take16, take32, take64, take_count, take_unsigned

cdef enum:
    # From these versions on: requests name the follower in a tagged field, answers name topics by id.
    FIRST_WRITTEN = 15
    FIRST_READ = 13
    LAST_VERSION = 18
    # What one answer may hold to be taken at once.
    MOST_PARTITIONS = 16
    MOST_BYTES = 32768


def encode_source_fetch(
    int version, int32_t max_wait, int32_t min_bytes, int32_t max_bytes, int32_t session_id, int32_t session_epoch,
    list named, list forgotten, str cluster_id, int32_t replica_id, int64_t replica_epoch
):
    """The body of a fetch, or None. `named` are ((topic id, partition), (offset, log start, leader epoch, fetched epoch,
    max bytes)), `forgotten` (topic id, partition)."""
    cdef Sink out
    cdef dict topics
    cdef bytes cluster
    cdef int64_t size
    if version < FIRST_WRITTEN or version > LAST_VERSION:
        return None
    out = Sink()
    out.int32(max_wait)
    out.int32(min_bytes)
    out.int32(max_bytes)
    out.more(1)[0] = 0
    out.int32(session_id)
    out.int32(session_epoch)
    topics = {}
    for key, asked in named:
        topics.setdefault(key[0], []).append((key[1], asked))
    out.count(len(topics), True)
    for topic, some in topics.items():
        out.topic(topic, True, True)
        out.count(len(some), True)
        for index, (offset, log_start, leader_epoch, fetched_epoch, most) in some:
            out.int32(index)
            out.int32(leader_epoch)
            out.int64(offset)
            out.int32(fetched_epoch)
            out.int64(log_start)
            out.int32(most)
            out.varint(0)
        out.varint(0)
    topics = {}
    for topic, index in forgotten:
        topics.setdefault(topic, []).append(index)
    out.count(len(topics), True)
    for topic, some in topics.items():
        out.topic(topic, True, True)
        out.count(len(some), True)
        for index in some:
            out.int32(index)
        out.varint(0)
    out.varint(1)  # no rack
    out.varint(2)
    cluster = cluster_id.encode()
    size = len(cluster)
    out.varint(0)
    out.varint(size + (1 if size < 127 else 2))
    out.varint(size + 1)
    memcpy(out.more(size), <const char *> cluster, size)
    out.varint(1)
    out.varint(13)
    out.int32(replica_id)
    out.int64(replica_epoch)
    out.varint(0)
    return out.taken()


def parse_source_answer(object data, Py_ssize_t start, int version):
    """(session id, [(topic id, partition, high watermark, log start, first byte, last byte + 1), ...]) of an answer in
    which nothing was refused; None if it is not for this file."""
    cdef Py_buffer view
    cdef Source s
    if version < FIRST_READ or version > LAST_VERSION:
        return None
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if start < 0 or start > view.len:
            return None
        s.base = <const uint8_t *> view.buf
        s.at = s.base + start
        s.end = s.base + view.len
        s.bad = False
        return read_answer(&s)
    finally:
        PyBuffer_Release(&view)


cdef object read_answer(Source *s):
    cdef list rows = []
    cdef int64_t topics, partitions, size, high_watermark, log_start, left = MOST_BYTES
    cdef int32_t session_id, index
    cdef Py_ssize_t first
    skip_tags(s)  # of the header
    take32(s)  # how long to wait: nobody throttles followers
    if take16(s) != 0:
        return None
    session_id = take32(s)
    topics = take_count(s, True)
    while topics > 0 and not s.bad:
        topics -= 1
        if not has(s, 16):
            return None
        topic = PyBytes_FromStringAndSize(<const char *> s.at, 16)
        s.at += 16
        partitions = take_count(s, True)
        if partitions < 0:
            return None
        while partitions > 0 and not s.bad:
            partitions -= 1
            index = take32(s)
            if take16(s) != 0:
                return None
            high_watermark = take64(s)
            take64(s)
            log_start = take64(s)
            if take_unsigned(s) > 1:
                return None  # transactions are the business of consumers
            take32(s)
            size = take_unsigned(s) - 1
            if size < 0:
                size = 0
            left -= size
            if left < 0 or len(rows) == MOST_PARTITIONS or not has(s, size):
                return None
            first = s.at - s.base
            s.at += size
            skip_tags(s)
            rows.append((topic, index, high_watermark, log_start, first, first + size))
        skip_tags(s)
    skip_tags(s)
    if s.bad or topics < 0:
        return None
    return session_id, rows
