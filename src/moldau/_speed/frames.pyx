"""The hot path on the wire: frames found in a read, Produce and Fetch read into flat plans, answers written in one pass.

Every parser here may return None: "not a case for me". The caller then takes the generated message classes, which
are the specification and give the proper error for malformed bytes. So this file holds the common shapes only, and
nothing it meets can make it raise, read past the end or allocate more than the frame could justify.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from moldau._speed.codec cimport (
    COMPRESSION,
    FLAGS_AT,
    HEADER_SIZE,
    LENGTH_AT,
    MAGIC,
    MAGIC_AT,
    PREFIX_SIZE,
    TRANSACTIONAL,
    get32,
    put16,
    put32,
    put64,
)
from moldau._speed.source cimport (
    Source,
    has,
    skip_tags,
    take8,
    take16,
    take32,
    take64,
    take_count,
    take_unsigned,
)

from moldau.errors import ProtocolError

cdef enum:
    ZSTD = 4
    # Topics and partitions in one request, beyond which it is read, and served, in slices.
    MOST_ELEMENTS = 512


# ------------------------------------------------------------------------------------------------ framing

def deliver_frames(
    object view, Py_ssize_t position, Py_ssize_t end, Py_ssize_t largest, object frame, object gate, int most,
    double seconds
):
    """The twin of `moldau.runtime.framing.walk_frames`, which says what it does."""
    cdef double deadline = monotonic() + seconds
    cdef Py_buffer buffer
    cdef const uint8_t *base
    cdef Py_ssize_t size
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    try:
        base = <const uint8_t *>buffer.buf
        if position < 0 or end > buffer.len:
            raise ValueError("the range lies outside the buffer")
        while end - position >= 4 and most > 0:
            size = get32(base + position)
            if size < 0 or size > largest:
                raise ProtocolError(f"a frame of {size} bytes was announced; at most {largest} are allowed")
            if size > end - position - 4:
                break
            frame(view, position + 4, position + 4 + size)
            position += 4 + size
            most -= 1
            if not gate._delivering:
                break
            if position < end and monotonic() >= deadline:
                most = 0
    finally:
        PyBuffer_Release(&buffer)
    return position, most


cdef inline double monotonic() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec + now.tv_nsec * 1e-9


# ------------------------------------------------------------------------------------------------ reading

cdef object take_string(Source *s, bint flexible, bint nullable):
    cdef int64_t length = take_unsigned(s) - 1 if flexible else take16(s)
    if s.bad:
        return None
    if length < 0:
        if length < -1 or not nullable:
            s.bad = True
        return None
    if not has(s, length):
        return None
    s.at += length
    try:
        return PyUnicode_DecodeUTF8(<const char *>s.at - length, length, NULL)
    except UnicodeDecodeError:
        s.bad = True
        return None


cdef object take_topic(Source *s, bint flexible, bint by_id):
    if not by_id:
        return take_string(s, flexible, False)
    if not has(s, 16):
        return None
    s.at += 16
    return PyBytes_FromStringAndSize(<const char *>s.at - 16, 16)


def parse_produce(object data, Py_ssize_t start, Py_ssize_t end, int version, bint plain=False):
    """(transactional id, acks, timeout, [(topic, partition, start, end), ...]) or None; null records are -1, -1.

    With `plain` also None unless every partition carries exactly one batch of magic 2, outside of any transaction and
    in a codec the version allows: what is then left to check is the batch itself.
    """
    cdef Py_buffer view
    cdef Source s
    if version < 3 or version > 13:
        return None
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if start < 0 or end > view.len or start > end:
            return None
        s.base = <const uint8_t *>view.buf
        s.at = s.base + start
        s.end = s.base + end
        s.bad = False
        return read_produce(&s, version, plain)
    finally:
        PyBuffer_Release(&view)


cdef inline bint is_plain(const uint8_t *batch, int64_t size, int version) noexcept nogil:
    return (
        size >= HEADER_SIZE
        and get32(batch + LENGTH_AT) == size - PREFIX_SIZE
        and batch[MAGIC_AT] == MAGIC
        and not batch[FLAGS_AT] & TRANSACTIONAL
        and (version >= 7 or batch[FLAGS_AT] & COMPRESSION != ZSTD)
    )


cdef object read_produce(Source *s, int version, bint plain):
    cdef bint flexible = version >= 9
    cdef int64_t topics, partitions, size
    cdef int32_t timeout, partition
    cdef int16_t acks
    cdef Py_ssize_t position
    cdef int64_t left = MOST_ELEMENTS
    cdef list plan = []
    transactional_id = take_string(s, flexible, True)
    acks = take16(s)
    timeout = take32(s)
    topics = take_count(s, flexible)
    left -= topics
    if topics < 0 or left < 0:
        return None
    while topics > 0 and not s.bad:
        topics -= 1
        topic = take_topic(s, flexible, version >= 13)
        partitions = take_count(s, flexible)
        left -= partitions
        if partitions < 0 or left < 0:
            return None
        while partitions > 0 and not s.bad:
            partitions -= 1
            partition = take32(s)
            size = take_unsigned(s) - 1 if flexible else take32(s)
            if size < 0:
                if size < -1 or plain:
                    return None
                plan.append((topic, partition, -1, -1))
            elif has(s, size):
                if plain and not is_plain(s.at, size, version):
                    return None
                position = s.at - s.base
                plan.append((topic, partition, position, position + size))
                s.at += size
            if flexible:
                skip_tags(s)
        if flexible:
            skip_tags(s)
    if flexible:
        skip_tags(s)
    if s.bad or s.at != s.end:
        return None
    return transactional_id, acks, timeout, plan


def parse_fetch(object data, Py_ssize_t start, Py_ssize_t end, int version):
    """(max wait, min bytes, max bytes, isolation, session id, session epoch, partitions, forgotten, rack, replica id,
    broker epoch) or None.

    `partitions` holds (topic, partition, fetch offset, max bytes, current leader epoch, log start offset, last fetched
    epoch); `forgotten` holds (topic, partition). Of a consumer replica id and broker epoch are -1.
    """
    cdef Py_buffer view
    cdef Source s
    if version < 4 or version > 18:
        return None
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if start < 0 or end > view.len or start > end:
            return None
        s.base = <const uint8_t *>view.buf
        s.at = s.base + start
        s.end = s.base + end
        s.bad = False
        return read_fetch(&s, version)
    finally:
        PyBuffer_Release(&view)


cdef struct Replica:
    int32_t id
    int64_t epoch


cdef object read_fetch(Source *s, int version):
    cdef bint flexible = version >= 12
    cdef int32_t max_wait, min_bytes, max_bytes, session_id = 0, session_epoch = -1
    cdef int8_t isolation
    cdef int64_t topics, partitions
    cdef int32_t partition, leader_epoch, fetched_epoch, partition_bytes
    cdef int64_t offset, log_start
    cdef int64_t left = MOST_ELEMENTS
    cdef list plan = []
    cdef list forgotten = []
    cdef Replica replica
    replica.id = -1
    replica.epoch = -1
    if version < 15:
        replica.id = take32(s)
        if replica.id < -1:
            return None
    max_wait = take32(s)
    min_bytes = take32(s)
    max_bytes = take32(s)
    isolation = take8(s)
    if version >= 7:
        session_id = take32(s)
        session_epoch = take32(s)
    topics = take_count(s, flexible)
    left -= topics
    if topics < 0 or left < 0:
        return None
    while topics > 0 and not s.bad:
        topics -= 1
        topic = take_topic(s, flexible, version >= 13)
        partitions = take_count(s, flexible)
        left -= partitions
        if partitions < 0 or left < 0:
            return None
        while partitions > 0 and not s.bad:
            partitions -= 1
            partition = take32(s)
            leader_epoch = take32(s) if version >= 9 else -1
            offset = take64(s)
            fetched_epoch = take32(s) if version >= 12 else -1
            log_start = take64(s) if version >= 5 else -1
            partition_bytes = take32(s)
            if flexible:
                skip_tags(s)
            plan.append((topic, partition, offset, partition_bytes, leader_epoch, log_start, fetched_epoch))
        if flexible:
            skip_tags(s)
    if version >= 7:
        topics = take_count(s, flexible)
        left -= topics
        if topics < 0 or left < 0:
            return None
        while topics > 0 and not s.bad:
            topics -= 1
            topic = take_topic(s, flexible, version >= 13)
            partitions = take_count(s, flexible)
            left -= partitions
            if partitions < 0 or left < 0:
                return None
            while partitions > 0 and not s.bad:
                partitions -= 1
                forgotten.append((topic, take32(s)))
            if flexible:
                skip_tags(s)
    rack = take_string(s, flexible, False) if version >= 11 else ""
    if flexible:
        take_replica(s, version, &replica)
    if s.bad or s.at != s.end:
        return None
    return (
        max_wait, min_bytes, max_bytes, isolation, session_id, session_epoch, plan, forgotten, rack, replica.id,
        replica.epoch,
    )


cdef void take_replica(Source *s, int version, Replica *replica) noexcept nogil:
    """The tagged fields that end a fetch: a follower names its cluster, which nobody asks for, and itself."""
    cdef int64_t count = take_unsigned(s), tag, before = -1, size
    while count > 0 and not s.bad:
        count -= 1
        tag = take_unsigned(s)
        size = take_unsigned(s)
        if tag == 0 and before < 0 and size > 0 and has(s, size):
            skip_ascii(s, size)
        elif tag == 1 and before < 1 and version >= 15 and size == 13:
            replica.id = take32(s)
            replica.epoch = take64(s)
            skip_tags(s)
            # What a negative one means, or an epoch of nobody, is for the generated class to say.
            if replica.id < 0:
                s.bad = True
        else:
            s.bad = True
        before = tag


cdef void skip_ascii(Source *s, int64_t size) noexcept nogil:
    """One string of `size` bytes with its length; only of plain letters, which need not be decoded to be right."""
    cdef const uint8_t *end = s.at + size
    if take_unsigned(s) - 1 != end - s.at:
        s.bad = True
    while s.at < end and not s.bad:
        s.bad = s.at[0] >= 0x80
        s.at += 1


# ------------------------------------------------------------------------------------------------ writing

cdef class Sink:
    """Bytes that grow; most answers fit the first block."""

    def __cinit__(self):
        self.capacity = 512
        self.start = <uint8_t *>malloc(self.capacity)
        if self.start == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.start)

    cdef uint8_t *more(self, Py_ssize_t count) except NULL:
        """Room for `count` bytes, already counted as written."""
        cdef uint8_t *grown
        if self.size + count > self.capacity:
            grown = <uint8_t *>realloc(self.start, (self.size + count) * 2)
            if grown == NULL:
                raise MemoryError
            self.start = grown
            self.capacity = (self.size + count) * 2
        self.size += count
        return self.start + self.size - count

    cdef int int16(self, int16_t value) except -1:
        put16(self.more(2), value)
        return 0

    cdef int int32(self, int32_t value) except -1:
        put32(self.more(4), value)
        return 0

    cdef int int64(self, int64_t value) except -1:
        put64(self.more(8), value)
        return 0

    cdef int varint(self, uint64_t value) except -1:
        while value >= 0x80:
            self.more(1)[0] = <uint8_t>(value | 0x80)
            value >>= 7
        self.more(1)[0] = <uint8_t>value
        return 0

    cdef int count(self, int64_t count, bint flexible) except -1:
        if flexible:
            return self.varint(<uint64_t>(count + 1))
        return self.int32(<int32_t>count)

    cdef int topic(self, object topic, bint flexible, bint by_id) except -1:
        cdef bytes raw
        if by_id:
            raw = <bytes>topic
            memcpy(self.more(16), PyBytes_AS_STRING(raw), 16)
            return 0
        raw = (<str>topic).encode()
        if flexible:
            self.varint(<uint64_t>(len(raw) + 1))
        else:
            self.int16(<int16_t>len(raw))
        memcpy(self.more(len(raw)), PyBytes_AS_STRING(raw), len(raw))
        return 0

    cdef bytes taken(self):
        cdef bytes out = PyBytes_FromStringAndSize(<const char *>self.start, self.size)
        self.size = 0
        return out


cdef Py_ssize_t run_length(list results, Py_ssize_t index):
    """How many results from `index` on belong to one topic: they stand together in the answer."""
    cdef Py_ssize_t stop = index + 1
    topic = results[index][0]
    while stop < len(results) and results[stop][0] == topic:
        stop += 1
    return stop - index


cdef Py_ssize_t count_runs(list results):
    cdef Py_ssize_t index = 0, runs = 0
    while index < len(results):
        index += run_length(results, index)
        runs += 1
    return runs


def encode_produce(int version, int correlation_id, list results, int throttle_ms):
    """A whole answer frame with its length, from (topic, partition, error, base offset, append time, log start)."""
    cdef Sink out = Sink()
    cdef bint flexible = version >= 9
    cdef Py_ssize_t index = 0, left
    out.int32(0)
    out.int32(correlation_id)
    if flexible:
        out.varint(0)
    out.count(count_runs(results), flexible)
    while index < len(results):
        left = run_length(results, index)
        out.topic((<tuple>results[index])[0], flexible, version >= 13)
        out.count(left, flexible)
        while left > 0:
            left -= 1
            topic, partition, error, base_offset, append_time, log_start = <tuple>results[index]
            index += 1
            out.int32(partition)
            out.int16(error)
            out.int64(base_offset)
            out.int64(append_time)
            if version >= 5:
                out.int64(log_start)
            if version >= 8:
                out.count(0, flexible)
                if flexible:
                    out.varint(0)
                else:
                    out.int16(-1)
            if flexible:
                out.varint(0)
        if flexible:
            out.varint(0)
    out.int32(throttle_ms)
    if flexible:
        out.varint(0)
    put32(out.start, <int32_t>(out.size - 4))
    return out.taken()


def encode_fetch(int version, int correlation_id, int throttle_ms, int error, int session_id, list results):
    """A whole answer as chunks: bytes, and between them whatever stands for records and has a length.

    Results are (topic, partition, error, high watermark, last stable offset, log start, aborted or None, preferred
    replica, records); `aborted` is a list of (producer id, first offset).
    """
    cdef Sink out = Sink()
    cdef bint flexible = version >= 12
    cdef Py_ssize_t index = 0, left, total = 0, length
    cdef list chunks = []
    out.int32(0)
    out.int32(correlation_id)
    if flexible:
        out.varint(0)
    out.int32(throttle_ms)
    if version >= 7:
        out.int16(error)
        out.int32(session_id)
    out.count(count_runs(results), flexible)
    while index < len(results):
        left = run_length(results, index)
        out.topic((<tuple>results[index])[0], flexible, version >= 13)
        out.count(left, flexible)
        while left > 0:
            left -= 1
            (topic, partition, code, high_watermark, last_stable, log_start, aborted, preferred,
             records) = <tuple>results[index]
            index += 1
            out.int32(partition)
            out.int16(code)
            out.int64(high_watermark)
            out.int64(last_stable)
            if version >= 5:
                out.int64(log_start)
            if aborted is None:
                out.count(-1, flexible)
            else:
                out.count(len(aborted), flexible)
                for producer_id, first_offset in aborted:
                    out.int64(producer_id)
                    out.int64(first_offset)
                    if flexible:
                        out.varint(0)
            if version >= 11:
                out.int32(preferred)
            length = len(records)
            out.count(length, flexible)
            if length > 0:
                total += out.size + length
                chunks.append(out.taken())
                chunks.append(records)
            if flexible:
                out.varint(0)
        if flexible:
            out.varint(0)
    if flexible:
        out.varint(0)
    total += out.size
    chunks.append(out.taken())
    # The first chunk was made a moment ago and nobody else has seen it: its length field is filled in place.
    put32(<uint8_t *>PyBytes_AS_STRING(<bytes>chunks[0]), <int32_t>(total - 4))
    return chunks
