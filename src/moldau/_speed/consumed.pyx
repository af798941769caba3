"""Records as a consumer hands them out, compiled. `reference/consumed.py` says what and why."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from cython cimport freelist, no_gc
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from moldau._speed.codec cimport (
    FAULT_TRAILING,
    BatchHeader,
    check_frame,
    frame_of,
    next_record,
    open_range,
    record_frame,
    record_parts,
    take_header,
)

from moldau._speed.faults import fault


# no_gc as for Record: an application would have to put a record inside its own value to make a cycle.
@no_gc
@freelist(1024)
cdef class ConsumerRecord:
    cdef public object topic
    cdef public object key
    cdef public object value
    cdef list _headers
    cdef public int64_t offset
    cdef public int64_t timestamp
    cdef public int32_t partition
    cdef public int32_t leader_epoch
    cdef public int32_t serialized_key_size
    cdef public int32_t serialized_value_size
    cdef public int32_t serialized_header_size
    cdef public int8_t timestamp_type

    _fields = (
        "topic", "partition", "leader_epoch", "offset", "timestamp", "timestamp_type", "key", "value", "headers",
        "checksum", "serialized_key_size", "serialized_value_size", "serialized_header_size",
    )

    def __init__(
        self,
        topic,
        int32_t partition,
        int32_t leader_epoch,
        int64_t offset,
        int64_t timestamp,
        int8_t timestamp_type,
        key,
        value,
        headers=None,
        checksum=None,
        int32_t serialized_key_size=-1,
        int32_t serialized_value_size=-1,
        int32_t serialized_header_size=-1,
    ):
        self.topic = topic
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.offset = offset
        self.timestamp = timestamp
        self.timestamp_type = timestamp_type
        self.key = key
        self.value = value
        self._headers = headers
        self.serialized_key_size = serialized_key_size
        self.serialized_value_size = serialized_value_size
        self.serialized_header_size = serialized_header_size

    @property
    def headers(self):
        if self._headers is None:
            self._headers = []
        return self._headers

    @headers.setter
    def headers(self, list headers):
        self._headers = headers

    @property
    def checksum(self):
        return None

    def _asdict(self):
        return {name: getattr(self, name) for name in self._fields}

    def __iter__(self):
        return iter([getattr(self, name) for name in self._fields])

    def __len__(self):
        return 13

    def __getitem__(self, index):
        return tuple(self)[index]

    def __eq__(self, other):
        if type(other) is not ConsumerRecord and not isinstance(other, tuple):
            return NotImplemented
        return tuple(self) == tuple(other)

    __hash__ = None

    def __repr__(self):
        return f"ConsumerRecord({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"


cdef inline object bytes_or_none(const uint8_t *p, int32_t size):
    if size < 0:
        return None
    return PyBytes_FromStringAndSize(<const char *> p, size)


cdef class BatchCursor:
    cdef Py_buffer view
    cdef bint opened
    cdef const uint8_t *next
    cdef const uint8_t *stop
    cdef int32_t left
    cdef int64_t first_offset
    cdef record_frame frame
    cdef object topic
    cdef object key_deserializer
    cdef object value_deserializer
    cdef int32_t partition
    cdef int32_t leader_epoch
    cdef int8_t timestamp_type

    def __init__(
        self,
        BatchHeader header not None,
        data not None,
        Py_ssize_t start,
        Py_ssize_t end,
        topic,
        int32_t partition,
        int64_t first_offset,
        key_deserializer=None,
        value_deserializer=None,
    ):
        cdef Py_ssize_t last
        cdef int code
        open_range(data, &self.view, PyBUF_SIMPLE, start, end, &last)
        self.opened = True
        self.frame = frame_of(header)
        code = check_frame(&self.frame, last - start)
        if code:
            raise fault(code, start)
        self.next = <const uint8_t *> self.view.buf + start
        self.stop = <const uint8_t *> self.view.buf + last
        self.left = self.frame.count
        self.first_offset = first_offset
        self.topic = topic
        self.partition = partition
        self.leader_epoch = header.partition_leader_epoch
        self.timestamp_type = header.attributes >> 3 & 1
        self.key_deserializer = key_deserializer
        self.value_deserializer = value_deserializer

    def __dealloc__(self):
        if self.opened:
            PyBuffer_Release(&self.view)

    @property
    def done(self):
        return self.left == 0

    def take(self, Py_ssize_t most):
        cdef list records = []
        cdef record_parts parts
        cdef ConsumerRecord record
        cdef const uint8_t *after
        cdef int code = 0
        while self.left and most > 0:
            after = next_record(&self.frame, self.next, self.stop, -1, &parts, &code)
            if after == NULL:
                raise fault(code, self.next - <const uint8_t *> self.view.buf)
            if parts.offset >= self.first_offset:
                record = ConsumerRecord.__new__(ConsumerRecord)
                record.topic = self.topic
                record.partition = self.partition
                record.leader_epoch = self.leader_epoch
                record.timestamp_type = self.timestamp_type
                record.offset = parts.offset
                record.timestamp = parts.timestamp
                record.serialized_key_size = max(-1, parts.key_size)
                record.serialized_value_size = max(-1, parts.value_size)
                record.key = bytes_or_none(parts.key, parts.key_size)
                record.value = bytes_or_none(parts.value, parts.value_size)
                if self.key_deserializer is not None:
                    record.key = self.key_deserializer(record.key)
                if self.value_deserializer is not None:
                    record.value = self.value_deserializer(record.value)
                record.serialized_header_size = -1
                if parts.header_count:
                    read_headers(record, &parts, after)
                records.append(record)
                most -= 1
            self.next = after
            self.left -= 1
        if not self.left and self.next != self.stop:
            raise fault(FAULT_TRAILING, self.next - <const uint8_t *> self.view.buf)
        return records


cdef int read_headers(ConsumerRecord record, record_parts *parts, const uint8_t *end) except -1:
    cdef int32_t key_size = 0, value_size = 0, index, total = 0
    cdef const uint8_t *key = NULL
    cdef const uint8_t *value = NULL
    cdef const uint8_t *p = parts.headers
    cdef list headers = []
    for index in range(parts.header_count):
        p = take_header(p, end, &key, &key_size, &value, &value_size)
        if p == NULL:
            break
        headers.append((
            PyUnicode_DecodeUTF8(<char *> key, key_size, "surrogateescape"),
            bytes_or_none(value, value_size),
        ))
        total += key_size + max(value_size, 0)
    record._headers = headers
    record.serialized_header_size = total
    return 0
