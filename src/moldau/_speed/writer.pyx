"""The records of a batch, written, compiled. `reference/writer.py` says what and why."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from moldau._speed.codec cimport (
    ATTRIBUTES_AT,
    BASE_SEQUENCE_AT,
    BASE_TIMESTAMP_AT,
    COUNT_AT,
    CRC_AT,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LEADER_EPOCH_AT,
    LENGTH_AT,
    MAGIC,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    PREFIX_SIZE,
    PRODUCER_EPOCH_AT,
    PRODUCER_ID_AT,
    checksum,
    open_range,
    put16,
    put32,
    put64,
    put_varlong,
    size_of_varlong,
)
from moldau._speed.records cimport Record

cdef extern from *:
    """
    static inline int sub_overflows(int64_t a, int64_t b, int64_t *gap) { return __builtin_sub_overflow(a, b, gap); }
    """
    bint sub_overflows(int64_t a, int64_t b, int64_t *gap) nogil


cdef class RecordWriter:
    def __cinit__(self, Py_ssize_t max_size=INT32_MAX, base_timestamp=None):
        if not 0 <= max_size <= INT32_MAX:
            raise ValueError(f"a batch cannot be {max_size} bytes long")
        self.max_size = max_size
        if base_timestamp is not None:
            self.has_fixed_base = True
            self.fixed_base = base_timestamp
        self.clear()

    def __dealloc__(self):
        PyMem_Free(self.memory)

    cpdef clear(self):
        self.used = HEADER_SIZE
        self.count = 0
        self.last_offset_delta = -1
        self.base_timestamp = self.fixed_base if self.has_fixed_base else -1
        self.max_timestamp = -1

    @property
    def size(self):
        return self.used

    cdef int reserve(self, Py_ssize_t size) except -1:
        cdef Py_ssize_t room = self.room if self.room else 512
        cdef uint8_t *memory
        while room < size:
            room *= 2
        if room != self.room:
            memory = <uint8_t *> PyMem_Realloc(self.memory, room)
            if memory == NULL:
                raise MemoryError
            self.memory = memory
            self.room = room
        return 0

    cdef int add(self, int64_t offset_delta, int64_t timestamp, key, value, headers) except -1:
        """1 if taken, 0 if there was no room."""
        cdef Py_ssize_t key_size = -1, value_size = -1
        cdef int64_t base, gap, body, size
        cdef bytes tail = None
        cdef uint8_t *p
        if offset_delta <= self.last_offset_delta or offset_delta >= INT32_MAX:
            raise ValueError(f"offset delta {offset_delta} cannot follow {self.last_offset_delta}")
        base = timestamp if self.count == 0 and not self.has_fixed_base else self.base_timestamp
        if sub_overflows(timestamp, base, &gap):
            raise OverflowError("the timestamp does not fit 64 bits")
        if key is not None:
            if not PyBytes_CheckExact(key):
                key = bytes(memoryview(key))
            key_size = PyBytes_GET_SIZE(key)
        if value is not None:
            if not PyBytes_CheckExact(value):
                value = bytes(memoryview(value))
            value_size = PyBytes_GET_SIZE(value)
        body = 1 + size_of_varlong(gap) + size_of_varlong(offset_delta) + size_of_varlong(key_size)
        body += max(key_size, 0) + size_of_varlong(value_size) + max(value_size, 0)
        if headers:
            tail = headers if PyBytes_CheckExact(headers) else pack_headers(headers)
            body += PyBytes_GET_SIZE(tail)
        else:
            body += 1
        size = self.used + size_of_varlong(body) + body
        if size > (self.max_size if self.count else INT32_MAX):
            if not self.count:
                raise OverflowError("the record is larger than a batch can be")
            return 0
        if size > self.room:
            self.reserve(size)
        p = put_varlong(self.memory + self.used, body)
        p[0] = 0
        p = put_varlong(p + 1, gap)
        p = put_varlong(p, offset_delta)
        p = put_varlong(p, key_size)
        if key_size > 0:
            memcpy(p, PyBytes_AS_STRING(key), key_size)
            p += key_size
        p = put_varlong(p, value_size)
        if value_size > 0:
            memcpy(p, PyBytes_AS_STRING(value), value_size)
            p += value_size
        if tail is None:
            p[0] = 0
        else:
            memcpy(p, PyBytes_AS_STRING(tail), PyBytes_GET_SIZE(tail))
        self.used = size
        self.base_timestamp = base
        if self.count == 0 or timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self.last_offset_delta = <int32_t> offset_delta
        self.count += 1
        return 1

    def append(self, int64_t timestamp, key, value, headers=None):
        return self.add(<int64_t> self.last_offset_delta + 1, timestamp, key, value, headers) == 1

    def append_at(self, int64_t offset_delta, int64_t timestamp, key, value, headers=None):
        return self.add(offset_delta, timestamp, key, value, headers) == 1

    def extend(self, records):
        cdef Py_ssize_t taken = 0
        cdef int64_t delta
        cdef Record one
        for record in records:
            delta = <int64_t> self.last_offset_delta + 1
            if type(record) is Record:
                one = <Record> record
                if not self.add(delta, one.timestamp, one.key, one.value, one._headers):
                    break
            else:
                timestamp, key, value, headers = record
                if not self.add(delta, timestamp, key, value, headers):
                    break
            taken += 1
        return taken

    def body(self):
        if self.used == HEADER_SIZE:
            return b""
        return PyBytes_FromStringAndSize(<char *> self.memory + HEADER_SIZE, self.used - HEADER_SIZE)

    def pack(
        self,
        *,
        body=None,
        int64_t base_offset=0,
        int32_t partition_leader_epoch=-1,
        int16_t attributes=0,
        last_offset_delta=None,
        max_timestamp=None,
        int64_t producer_id=-1,
        int16_t producer_epoch=-1,
        int32_t base_sequence=-1,
    ):
        cdef Py_buffer view
        cdef Py_ssize_t content_size = self.used - HEADER_SIZE, last
        cdef int32_t delta = self.last_offset_delta if last_offset_delta is None else last_offset_delta
        cdef int64_t highest = self.max_timestamp if max_timestamp is None else max_timestamp
        cdef bytes batch
        cdef uint8_t *p
        if body is not None:
            open_range(body, &view, PyBUF_SIMPLE, 0, None, &last)
            content_size = view.len
        try:
            if content_size > INT32_MAX - HEADER_SIZE:
                raise OverflowError("the batch is larger than a batch can be")
            batch = PyBytes_FromStringAndSize(NULL, HEADER_SIZE + content_size)
            p = <uint8_t *> PyBytes_AS_STRING(batch)
            if content_size:
                memcpy(p + HEADER_SIZE, self.memory + HEADER_SIZE if body is None else <uint8_t *> view.buf, content_size)
        finally:
            if body is not None:
                PyBuffer_Release(&view)
        put64(p, base_offset)
        put32(p + LENGTH_AT, <int32_t> (HEADER_SIZE - PREFIX_SIZE + content_size))
        put32(p + LEADER_EPOCH_AT, partition_leader_epoch)
        p[MAGIC_AT] = MAGIC
        put16(p + ATTRIBUTES_AT, attributes)
        put32(p + LAST_OFFSET_DELTA_AT, delta)
        put64(p + BASE_TIMESTAMP_AT, self.base_timestamp)
        put64(p + MAX_TIMESTAMP_AT, highest)
        put64(p + PRODUCER_ID_AT, producer_id)
        put16(p + PRODUCER_EPOCH_AT, producer_epoch)
        put32(p + BASE_SEQUENCE_AT, base_sequence)
        put32(p + COUNT_AT, self.count)
        put32(p + CRC_AT, <int32_t> checksum(p + ATTRIBUTES_AT, HEADER_SIZE - ATTRIBUTES_AT + content_size))
        return batch


cdef bytes pack_headers(headers):
    """The count and the pairs, as they end a record."""
    cdef Py_ssize_t size = size_of_varlong(len(headers))
    cdef list pairs = []
    cdef bytes name, packed
    cdef uint8_t *p
    for key, value in headers:
        name = key.encode("utf-8", "surrogateescape")
        if value is not None and not PyBytes_CheckExact(value):
            value = bytes(memoryview(value))
        pairs.append((name, value))
        size += size_of_varlong(PyBytes_GET_SIZE(name)) + PyBytes_GET_SIZE(name)
        size += 1 if value is None else size_of_varlong(PyBytes_GET_SIZE(value)) + PyBytes_GET_SIZE(value)
    packed = PyBytes_FromStringAndSize(NULL, size)
    p = put_varlong(<uint8_t *> PyBytes_AS_STRING(packed), len(pairs))
    for key, value in pairs:
        p = put_sized(p, key)
        p = put_sized(p, value)
    return packed


cdef uint8_t *put_sized(uint8_t *p, content):
    if content is None:
        return put_varlong(p, -1)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(content)
    p = put_varlong(p, size)
    memcpy(p, PyBytes_AS_STRING(content), size)
    return p + size
