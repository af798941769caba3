"""A Produce request of one batch for one partition, as the express way (`express`) serves it, and its answer."""

from cpython.ref cimport PyObject
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from moldau._speed.codec cimport HEADER_SIZE, put16, put32, put64
from moldau._speed.source cimport Source, has, skip_tags, take16, take32, take_count, take_unsigned

cdef enum:
    FIRST_VERSION = 3
    FLEXIBLE = 9
    BY_ID = 13
    MOST_TOPIC = 249


cdef enum SlotState:
    UNREAD
    OPEN        # its next frame has not been looked at
    ASKS        # that frame wants to write
    COMMITS     # that frame commits offsets
    WRITTEN
    LEFT        # what it has left is for the readable way
    DONE

ctypedef struct Slot:
    PyObject *client
    PyObject *partition
    int fd
    # What comes and goes is encrypted.
    bint wrapped
    int state
    int frames
    # What was read, and how far it has been dealt with.
    Py_ssize_t at, frame_end, end
    # The request.
    Py_ssize_t batch, size, topic_at, topic_size
    int32_t index, correlation_id
    int16_t version, acks
    # Its answer.
    int64_t base_offset, log_start
    Py_ssize_t answered, sent


cdef inline bint read_request(Source *s, Slot *slot) noexcept:
    """Whether it is one batch for one partition, outside of any transaction."""
    cdef bint flexible = slot.version >= FLEXIBLE
    cdef int64_t size
    if flexible:
        skip_tags(s)
    if (take_unsigned(s) != 0) if flexible else (take16(s) != -1):
        return False
    slot.acks = take16(s)
    take32(s)
    if slot.acks < -1 or slot.acks > 1 or take_count(s, flexible) != 1:
        return False
    if slot.version >= BY_ID:
        size = 16
    else:
        size = take_unsigned(s) - 1 if flexible else take16(s)
    if size <= 0 or size > MOST_TOPIC or not has(s, size):
        return False
    slot.topic_at = s.at - s.base
    slot.topic_size = size
    s.at += size
    if take_count(s, flexible) != 1:
        return False
    slot.index = take32(s)
    size = take_unsigned(s) - 1 if flexible else take32(s)
    if size < HEADER_SIZE or not has(s, size):
        return False
    slot.batch = s.at - s.base
    slot.size = size
    s.at += size
    if flexible:
        skip_tags(s)
        skip_tags(s)
        skip_tags(s)
    return not s.bad and s.at == s.end


cdef inline uint8_t *put_size(uint8_t *p, int64_t size, bint flexible, bint short) noexcept:
    """The length of an array or of a name."""
    if not flexible:
        if short:
            put16(p, <int16_t> size)
            return p + 2
        put32(p, <int32_t> size)
        return p + 4
    size += 1
    if size >= 0x80:
        p[0] = <uint8_t> (size | 0x80)
        p += 1
        size >>= 7
    p[0] = <uint8_t> size
    return p + 1


cdef inline Py_ssize_t write_answer(uint8_t *start, Slot *slot, const uint8_t *topic) noexcept:
    """What `frames.encode_produce` writes for one partition without an error; how long it is."""
    cdef bint flexible = slot.version >= FLEXIBLE
    cdef uint8_t *p = start + 4
    put32(p, slot.correlation_id)
    p += 4
    if flexible:
        p[0] = 0
        p += 1
    p = put_size(p, 1, flexible, False)
    if slot.version < BY_ID:
        p = put_size(p, slot.topic_size, flexible, True)
    memcpy(p, topic, slot.topic_size)
    p += slot.topic_size
    p = put_size(p, 1, flexible, False)
    put32(p, slot.index)
    put16(p + 4, 0)
    put64(p + 6, slot.base_offset)
    put64(p + 14, -1)
    p += 22
    if slot.version >= 5:
        put64(p, slot.log_start)
        p += 8
    if slot.version >= 8:
        p = put_size(p, 0, flexible, False)
        if not flexible:
            put16(p, -1)
            p += 2
    if flexible:
        # no message, and the ends of the partition and of the topic
        p[0] = p[1] = p[2] = 0
        p += 3
    put32(p, 0)
    p += 4
    if flexible:
        p[0] = 0
        p += 1
    put32(start, <int32_t> (p - start - 4))
    return p - start
