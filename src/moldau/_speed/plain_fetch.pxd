"""A Fetch request without a session for some partitions of one topic, as `plain_read` serves it, and its answer."""

from cpython.ref cimport PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from moldau._speed.codec cimport put16, put32, put64
from moldau._speed.source cimport Source, has, skip_tags, take8, take16, take32, take64, take_count, take_unsigned

cdef enum:
    FIRST_VERSION = 4
    LAST_VERSION = 18
    SESSIONS = 7
    FLEXIBLE = 12
    BY_ID = 13
    READ_COMMITTED = 1
    MOST_TOPIC = 249
    MOST_PARTITIONS = 16
    # Around the records: the answer's own fields without its topic, and those of each partition.
    ANSWER_FIELDS = 64
    PARTITION_FIELDS = 64

ctypedef struct Asked:
    int32_t partition, leader_epoch, fetched_epoch, max_bytes
    int64_t offset

ctypedef struct Part:
    int32_t partition
    int64_t high_watermark, last_stable, log_start, position, length
    int fd
    PyObject *file

ctypedef struct Request:
    int version, count
    int32_t max_wait, min_bytes, max_bytes
    bint committed
    const uint8_t *topic
    Py_ssize_t topic_size
    Asked asked[MOST_PARTITIONS]

ctypedef struct Fields:
    # Everything but the records, and where those of each partition belong.
    uint8_t bytes[ANSWER_FIELDS + MOST_TOPIC + MOST_PARTITIONS * PARTITION_FIELDS]
    Py_ssize_t size
    Py_ssize_t records_at[MOST_PARTITIONS]


cdef inline bint read_request(Source *s, Request *r) noexcept nogil:
    """Whether it is one for this file."""
    cdef bint flexible = r.version >= FLEXIBLE
    cdef int64_t size
    cdef int8_t isolation
    cdef int number, other
    if r.version < 15 and take32(s) != -1:
        return False
    r.max_wait = take32(s)
    r.min_bytes = take32(s)
    r.max_bytes = take32(s)
    isolation = take8(s)
    r.committed = isolation == READ_COMMITTED
    if r.version >= SESSIONS and (take32(s) != 0 or take32(s) != -1):
        return False
    if take_count(s, flexible) != 1:
        return False
    if r.version >= BY_ID:
        size = 16
    else:
        size = take_unsigned(s) - 1 if flexible else take16(s)
    if size <= 0 or size > MOST_TOPIC or not has(s, size):
        return False
    r.topic = s.at
    r.topic_size = size
    s.at += size
    size = take_count(s, flexible)
    if size < 1 or size > MOST_PARTITIONS:
        return False
    r.count = <int> size
    for number in range(r.count):
        r.asked[number].partition = take32(s)
        for other in range(number):
            if r.asked[other].partition == r.asked[number].partition:
                return False
        r.asked[number].leader_epoch = take32(s) if r.version >= 9 else -1
        r.asked[number].offset = take64(s)
        r.asked[number].fetched_epoch = take32(s) if r.version >= 12 else -1
        if r.version >= 5:
            take64(s)
        r.asked[number].max_bytes = take32(s)
        if flexible:
            skip_tags(s)
    if flexible:
        skip_tags(s)
    if r.version >= SESSIONS and take_count(s, flexible) != 0:
        return False
    if r.version >= 11:
        # The reader's rack, which means nothing here; but it must be a text.
        size = take_unsigned(s) - 1 if flexible else take16(s)
        if size < 0 or not has(s, size):
            return False
        for number in range(<int> size):
            if s.at[number] >= 0x80:
                return False
        s.at += size
    if flexible:
        skip_tags(s)
    return not s.bad and s.at == s.end


cdef inline uint8_t *put_count(uint8_t *p, int64_t count, bint flexible) noexcept nogil:
    cdef int64_t value = count + 1
    if not flexible:
        put32(p, <int32_t> count)
        return p + 4
    while value >= 0x80:
        p[0] = <uint8_t> (value | 0x80)
        value >>= 7
        p += 1
    p[0] = <uint8_t> value
    return p + 1


cdef inline uint8_t *begin_answer(uint8_t *p, Request *r, int32_t correlation_id) noexcept nogil:
    """All that comes before the first partition; the length is filled in when it is known."""
    cdef bint flexible = r.version >= FLEXIBLE
    put32(p, 0)
    put32(p + 4, correlation_id)
    p += 8
    if flexible:
        p[0] = 0
        p += 1
    put32(p, 0)
    p += 4
    if r.version >= SESSIONS:
        put16(p, 0)
        put32(p + 2, 0)
        p += 6
    p = put_count(p, 1, flexible)
    if r.version < BY_ID:
        if flexible:
            p = put_count(p, r.topic_size, True)
        else:
            put16(p, <int16_t> r.topic_size)
            p += 2
    memcpy(p, r.topic, r.topic_size)
    p += r.topic_size
    return put_count(p, r.count, flexible)


cdef inline uint8_t *begin_partition(uint8_t *p, Request *r, Part *part) noexcept nogil:
    """All that comes before its records."""
    cdef bint flexible = r.version >= FLEXIBLE
    put32(p, part.partition)
    put16(p + 4, 0)
    put64(p + 6, part.high_watermark)
    put64(p + 14, part.last_stable)
    p += 22
    if r.version >= 5:
        put64(p, part.log_start)
        p += 8
    p = put_count(p, 0 if r.committed else -1, flexible)
    if r.version >= 11:
        put32(p, -1)
        p += 4
    return put_count(p, part.length, flexible)


cdef inline uint8_t *end_part(uint8_t *p, Request *r) noexcept nogil:
    """No tagged fields: of a partition, of a topic, of the answer."""
    if r.version >= FLEXIBLE:
        p[0] = 0
        p += 1
    return p


cdef inline void write_fields(Fields *fields, Request *r, Part *parts, int32_t correlation_id, int64_t total) noexcept nogil:
    cdef uint8_t *p = begin_answer(fields.bytes, r, correlation_id)
    cdef int number
    for number in range(r.count):
        p = begin_partition(p, r, &parts[number])
        fields.records_at[number] = p - fields.bytes
        p = end_part(p, r)
    p = end_part(end_part(p, r), r)
    fields.size = p - fields.bytes
    put32(fields.bytes, <int32_t> (fields.size + total - 4))
