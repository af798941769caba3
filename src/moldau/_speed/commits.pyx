"""Offset commits on the wire and in the log: small requests read, their records and their answers written in one pass.

As in `frames`, None says "not a case for me": the generated classes are the specification, and `test_commits` holds
both equal.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from moldau._speed.codec cimport put32
from moldau._speed.frames cimport Sink, take_string, take_topic
from moldau._speed.source cimport Source, skip_tags, take32, take64, take_count
from moldau._speed.writer cimport RecordWriter

cdef enum:
    FLEXIBLE_SINCE = 8
    IDS_SINCE = 10
    # Topics and partitions in one request, beyond which it is handled in parts.
    MOST_ELEMENTS = 64
    # The longest string a record can hold.
    LONGEST = 0x7FFF
    OFFSET_KEY = 1
    # The version of a value that names the topic by id.
    WITH_TOPIC_ID = 4


# ------------------------------------------------------------------------------------------------ requests

def parse_commit(object data, Py_ssize_t start, Py_ssize_t end, int version):
    """(group, generation, member, instance or None, [(topic, [(partition, offset, leader epoch, metadata), ...]), ...])
    or None. Also None for a retention of the client's own and for a request that names no partition."""
    cdef Py_buffer view
    cdef Source s
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if start < 0 or end > view.len or start > end:
            return None
        s.base = <const uint8_t *>view.buf
        s.at = s.base + start
        s.end = s.base + end
        s.bad = False
        return read_commit(&s, version)
    finally:
        PyBuffer_Release(&view)


cdef object read_commit(Source *s, int version):
    """What `parse_commit` returns."""
    cdef bint flexible = version >= FLEXIBLE_SINCE
    cdef int64_t topics, partitions, offset, left = MOST_ELEMENTS
    cdef int32_t partition, leader_epoch, generation
    cdef list plan = [], rows
    cdef object metadata
    if version < 2 or version > 10:
        return None
    group = take_string(s, flexible, False)
    generation = take32(s)
    member = take_string(s, flexible, False)
    instance = take_string(s, flexible, True) if version >= 7 else None
    if version <= 4 and take64(s) != -1:
        return None
    topics = take_count(s, flexible)
    left -= topics
    if s.bad or topics <= 0 or left < 0:
        return None
    while topics > 0:
        topics -= 1
        topic = take_topic(s, flexible, version >= IDS_SINCE)
        partitions = take_count(s, flexible)
        left -= partitions
        if s.bad or partitions <= 0 or left < 0:
            return None
        rows = []
        while partitions > 0:
            partitions -= 1
            partition = take32(s)
            offset = take64(s)
            leader_epoch = take32(s) if version >= 6 else -1
            metadata = take_string(s, flexible, True)
            if flexible:
                skip_tags(s)
            if s.bad:
                return None
            rows.append((partition, offset, leader_epoch, "" if metadata is None else metadata))
        if flexible:
            skip_tags(s)
        plan.append((topic, rows))
    if flexible:
        skip_tags(s)
    # What follows a whole request is for the generated class to pass over.
    if s.bad or s.at != s.end:
        return None
    return group, generation, member, instance, plan


cpdef bytes encode_commit(int version, int correlation_id, list topics, int error):
    """A whole answer frame with its length, to the topics that `parse_commit` found: the same code for all of them."""
    cdef Sink out = Sink()
    cdef bint flexible = version >= FLEXIBLE_SINCE
    out.int32(0)
    out.int32(correlation_id)
    if flexible:
        out.varint(0)
    if version >= 3:
        out.int32(0)
    out.count(len(topics), flexible)
    for topic, rows in topics:
        out.topic(topic, flexible, version >= IDS_SINCE)
        out.count(len(<list>rows), flexible)
        for row in <list>rows:
            out.int32((<tuple>row)[0])
            out.int16(error)
            if flexible:
                out.varint(0)
        if flexible:
            out.varint(0)
    if flexible:
        out.varint(0)
    put32(out.start, <int32_t>(out.size - 4))
    return out.taken()


# ------------------------------------------------------------------------------------------------ records

cdef int string(Sink out, bytes text) except -1:
    out.int16(<int16_t>PyBytes_GET_SIZE(text))
    memcpy(out.more(PyBytes_GET_SIZE(text)), PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
    return 0


def offset_batch(list commits, int64_t now):
    """One batch with all that several groups commit. Of each commit the first is the group, the last are its rows:
    (topic, topic id, partition, offset, leader epoch, metadata). None where a string is too long for a record."""
    cdef RecordWriter writer = RecordWriter()
    cdef Sink out = Sink()
    cdef Py_ssize_t last
    for commit in commits:
        last = len(<tuple>commit) - 1
        if not add_offsets(writer, out, (<str>(<tuple>commit)[0]).encode(), <list>(<tuple>commit)[last], now):
            return None
    return writer.pack()


cdef bint add_offsets(RecordWriter writer, Sink out, bytes group_bytes, list rows, int64_t now) except -1:
    cdef bytes topic_bytes, id_bytes, text, key
    cdef int64_t offset
    cdef int32_t partition, leader_epoch
    if PyBytes_GET_SIZE(group_bytes) > LONGEST:
        return False
    for topic, topic_id, partition, offset, leader_epoch, metadata in rows:
        topic_bytes = (<str>topic).encode()
        id_bytes = <bytes>topic_id
        text = (<str>metadata).encode()
        if PyBytes_GET_SIZE(topic_bytes) > LONGEST or PyBytes_GET_SIZE(text) > LONGEST:
            return False
        out.int16(OFFSET_KEY)
        string(out, group_bytes)
        string(out, topic_bytes)
        out.int32(partition)
        key = out.taken()
        out.int16(WITH_TOPIC_ID)
        out.int64(offset)
        out.int32(leader_epoch)
        out.varint(PyBytes_GET_SIZE(text) + 1)
        memcpy(out.more(PyBytes_GET_SIZE(text)), PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
        out.int64(now)
        # One tagged field: number 0, 16 bytes.
        out.varint(1)
        out.varint(0)
        out.varint(16)
        memcpy(out.more(16), PyBytes_AS_STRING(id_bytes), 16)
        writer.add(writer.count, now, key, out.taken(), None)
    return True


def java_hash(str text):
    """The twin of `moldau.coordinator.partition_hash.java_hash` for ASCII; None for anything else."""
    cdef uint32_t value = 0
    cdef const uint8_t *at
    cdef Py_ssize_t length
    cdef bytes raw
    if not text.isascii():
        return None
    raw = text.encode()
    at = <const uint8_t *>PyBytes_AS_STRING(raw)
    length = PyBytes_GET_SIZE(raw)
    while length > 0:
        value = 31 * value + at[0]
        at += 1
        length -= 1
    return <int32_t>value
