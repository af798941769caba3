"""Checksum, header and walk of record batches, compiled. `reference/codec.py` says what each function does and why."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_FromStringAndSize
from cython cimport freelist
from libc.stdint cimport INT32_MAX, INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint32_t

from moldau._speed.faults import fault

cdef extern from "crc32c.h" nogil:
    ctypedef uint32_t (*crc32c_function)(uint32_t, const uint8_t *, size_t) noexcept nogil
    crc32c_function crc32c_choose()
    uint32_t crc32c_narrow(uint32_t start, const uint8_t *p, size_t size)
    uint32_t crc32c_tables(uint32_t start, const uint8_t *p, size_t size)

cdef extern from "memory.h":
    int keep_freed(int largest, int spare)

cdef crc32c_function crc32c_best = crc32c_choose()


cdef uint32_t checksum(const uint8_t *p, size_t size) noexcept nogil:
    return crc32c_best(0, p, size)


cdef uint32_t checksum_from(uint32_t value, const uint8_t *p, size_t size) noexcept nogil:
    return crc32c_best(value, p, size)


cdef int open_range(object data, Py_buffer *view, int flags, Py_ssize_t start, object end, Py_ssize_t *stop) except -1:
    """Opens the buffer; the caller releases it. A range outside of it is a mistake of the caller: ValueError."""
    PyObject_GetBuffer(data, view, flags)
    cdef Py_ssize_t last = view.len
    try:
        if end is not None:
            last = end
        if not 0 <= start <= last <= view.len:
            raise ValueError(f"the range {start}..{last} lies outside a buffer of {view.len} bytes")
    except BaseException:
        PyBuffer_Release(view)
        raise
    stop[0] = last
    return 0


def raw_memory(Py_ssize_t size):
    return PyByteArray_FromStringAndSize(NULL, size)


def keep_freed_memory(int largest, int spare):
    return keep_freed(largest, spare) != 0


def crc32c(data not None, Py_ssize_t start=0, end=None, uint32_t value=0):
    cdef Py_buffer view
    cdef Py_ssize_t stop
    open_range(data, &view, PyBUF_SIMPLE, start, end, &stop)
    value = crc32c_best(value, <const uint8_t *> view.buf + start, stop - start)
    PyBuffer_Release(&view)
    return value


def crc32c_without_instruction(data not None):
    """The way of machines that have no instruction for it; here so that it can be tested on those that have."""
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    cdef uint32_t value = crc32c_tables(0, <const uint8_t *> view.buf, view.len)
    PyBuffer_Release(&view)
    return value


def crc32c_by_instruction(data not None):
    """The way of machines that have the instruction and nothing wider; here for the same reason."""
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    cdef uint32_t value = crc32c_narrow(0, <const uint8_t *> view.buf, view.len)
    PyBuffer_Release(&view)
    return value


@freelist(64)
cdef class BatchHeader:
    def __init__(
        self,
        int64_t base_offset,
        int32_t length,
        int32_t partition_leader_epoch,
        int8_t magic,
        uint32_t crc,
        int16_t attributes,
        int32_t last_offset_delta,
        int64_t base_timestamp,
        int64_t max_timestamp,
        int64_t producer_id,
        int16_t producer_epoch,
        int32_t base_sequence,
        int32_t count,
    ):
        self.base_offset = base_offset
        self.length = length
        self.partition_leader_epoch = partition_leader_epoch
        self.magic = magic
        self.crc = crc
        self.attributes = attributes
        self.last_offset_delta = last_offset_delta
        self.base_timestamp = base_timestamp
        self.max_timestamp = max_timestamp
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.count = count

    @property
    def size(self):
        return <int64_t> self.length + PREFIX_SIZE

    @property
    def last_offset(self):
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self):
        return self.base_offset + self.last_offset_delta + 1

    @property
    def compression(self):
        return self.attributes & COMPRESSION

    @property
    def timestamp_type(self):
        return (self.attributes & TIMESTAMP_TYPE) >> 3

    @property
    def is_transactional(self):
        return (self.attributes & TRANSACTIONAL) != 0

    @property
    def is_control(self):
        return (self.attributes & CONTROL) != 0

    @property
    def has_delete_horizon(self):
        return (self.attributes & DELETE_HORIZON) != 0

    @property
    def last_sequence(self):
        if self.base_sequence < 0:
            return -1
        return (<int64_t> self.base_sequence + self.last_offset_delta) & INT32_MAX

    def __eq__(self, other):
        if type(other) is not BatchHeader:
            return NotImplemented
        return fields_of(self) == fields_of(other)

    def __hash__(self):
        return hash(fields_of(self))

    def __repr__(self):
        return (
            "BatchHeader(base_offset=%d, length=%d, partition_leader_epoch=%d, magic=%d, crc=%d, attributes=%d, "
            "last_offset_delta=%d, base_timestamp=%d, max_timestamp=%d, producer_id=%d, producer_epoch=%d, "
            "base_sequence=%d, count=%d)" % fields_of(self)
        )


cdef tuple fields_of(BatchHeader header):
    return (
        header.base_offset, header.length, header.partition_leader_epoch, header.magic, header.crc,
        header.attributes, header.last_offset_delta, header.base_timestamp, header.max_timestamp,
        header.producer_id, header.producer_epoch, header.base_sequence, header.count,
    )


cdef BatchHeader header_at(const uint8_t *p):
    cdef BatchHeader header = BatchHeader.__new__(BatchHeader)
    header.base_offset = get64(p)
    header.length = get32(p + LENGTH_AT)
    header.partition_leader_epoch = get32(p + LEADER_EPOCH_AT)
    header.magic = <int8_t> p[MAGIC_AT]
    header.crc = <uint32_t> get32(p + CRC_AT)
    header.attributes = get16(p + ATTRIBUTES_AT)
    header.last_offset_delta = get32(p + LAST_OFFSET_DELTA_AT)
    header.base_timestamp = get64(p + BASE_TIMESTAMP_AT)
    header.max_timestamp = get64(p + MAX_TIMESTAMP_AT)
    header.producer_id = get64(p + PRODUCER_ID_AT)
    header.producer_epoch = get16(p + PRODUCER_EPOCH_AT)
    header.base_sequence = get32(p + BASE_SEQUENCE_AT)
    header.count = get32(p + COUNT_AT)
    return header


cdef record_frame frame_of(BatchHeader header) noexcept:
    cdef record_frame frame
    frame.base_offset = header.base_offset
    frame.base_timestamp = header.base_timestamp
    frame.append_time = header.max_timestamp
    frame.has_append_time = (header.attributes & TIMESTAMP_TYPE) != 0
    frame.last_offset_delta = header.last_offset_delta
    frame.count = header.count
    return frame


cdef inline int check_prefix(const uint8_t *p, Py_ssize_t left) noexcept nogil:
    if left >= 17:
        if p[MAGIC_AT] != MAGIC:
            return FAULT_MAGIC
        if get32(p + LENGTH_AT) < HEADER_SIZE - PREFIX_SIZE:
            return FAULT_SIZE
    if left < HEADER_SIZE:
        return FAULT_SHORT
    return FAULT_NONE


cdef inline int check_counts(const uint8_t *p) noexcept nogil:
    cdef int64_t base_offset = get64(p)
    cdef int64_t last_offset_delta = get32(p + LAST_OFFSET_DELTA_AT)
    cdef int64_t count = get32(p + COUNT_AT)
    if base_offset < 0 or last_offset_delta < 0 or last_offset_delta == INT32_MAX:
        return FAULT_COUNTS
    if base_offset >= INT64_MAX - last_offset_delta or count < 0 or count > last_offset_delta + 1:
        return FAULT_COUNTS
    if not (p[FLAGS_AT] & COMPRESSION) and count * SMALLEST_RECORD > <int64_t> get32(p + LENGTH_AT) + PREFIX_SIZE - HEADER_SIZE:
        return FAULT_COUNTS
    return FAULT_NONE


cdef int check_batch(const uint8_t *p, Py_ssize_t left, bint check_crc) noexcept nogil:
    """FAULT_NONE if a whole and sane batch stands at `p`."""
    cdef int code = check_prefix(p, left)
    if code:
        return code
    cdef Py_ssize_t size = <Py_ssize_t> get32(p + LENGTH_AT) + PREFIX_SIZE
    if size > left:
        return FAULT_SHORT
    if check_crc and checksum(p + ATTRIBUTES_AT, size - ATTRIBUTES_AT) != <uint32_t> get32(p + CRC_AT):
        return FAULT_CHECKSUM
    return check_counts(p)


def read_header(data not None, Py_ssize_t position=0):
    cdef Py_buffer view
    cdef const uint8_t *p
    cdef int code
    if position < 0:
        raise ValueError(f"the position {position} is negative")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        p = <const uint8_t *> view.buf + position
        code = check_prefix(p, view.len - position)
        if not code:
            code = check_counts(p)
        if code:
            raise fault(code, position)
        return header_at(p)
    finally:
        PyBuffer_Release(&view)


def scan_batches(data not None, Py_ssize_t start=0, end=None, *, bint check_crc=True, bint allow_partial=False):
    cdef Py_buffer view
    cdef const uint8_t *base
    cdef Py_ssize_t position = start, stop
    cdef BatchHeader header
    cdef int code
    cdef list headers = []
    open_range(data, &view, PyBUF_SIMPLE, start, end, &stop)
    try:
        base = <const uint8_t *> view.buf
        while position < stop:
            code = check_batch(base + position, stop - position, check_crc)
            if code:
                if code == FAULT_SHORT and allow_partial:
                    break
                raise fault(code, position)
            header = header_at(base + position)
            headers.append(header)
            position += <Py_ssize_t> header.length + PREFIX_SIZE
        return headers
    finally:
        PyBuffer_Release(&view)


cdef void stamp(uint8_t *p, bint log_append_time, int64_t max_timestamp) noexcept nogil:
    p[FLAGS_AT] = p[FLAGS_AT] | TIMESTAMP_TYPE if log_append_time else p[FLAGS_AT] & ~TIMESTAMP_TYPE
    put64(p + MAX_TIMESTAMP_AT, max_timestamp)
    put32(p + CRC_AT, <int32_t> checksum(p + ATTRIBUTES_AT, <size_t> get32(p + LENGTH_AT) + PREFIX_SIZE - ATTRIBUTES_AT))


def assign_offsets(
    data not None,
    Py_ssize_t start,
    Py_ssize_t end,
    int64_t first_offset,
    int32_t leader_epoch,
    *,
    append_time=None,
):
    cdef Py_buffer view
    cdef uint8_t *p
    cdef Py_ssize_t position = start, stop, size
    cdef int64_t offset = first_offset, delta, now = 0
    cdef bint stamped = append_time is not None
    cdef int code
    if stamped:
        now = append_time
    open_range(data, &view, PyBUF_WRITABLE, start, end, &stop)
    try:
        while position < stop:
            p = <uint8_t *> view.buf + position
            code = check_prefix(p, stop - position)
            if code:
                raise fault(code, position)
            size = <Py_ssize_t> get32(p + LENGTH_AT) + PREFIX_SIZE
            delta = get32(p + LAST_OFFSET_DELTA_AT)
            if size > stop - position:
                raise fault(FAULT_SHORT, position)
            if delta < 0 or offset < 0 or offset >= INT64_MAX - delta:
                raise fault(FAULT_COUNTS, position)
            put64(p, offset)
            put32(p + LEADER_EPOCH_AT, leader_epoch)
            if stamped:
                stamp(p, True, now)
            offset += delta + 1
            position += size
        return offset
    finally:
        PyBuffer_Release(&view)


def set_max_timestamp(data not None, Py_ssize_t position, bint timestamp_type, int64_t max_timestamp):
    cdef Py_buffer view
    cdef uint8_t *p
    cdef int code
    if position < 0:
        raise ValueError(f"the position {position} is negative")
    PyObject_GetBuffer(data, &view, PyBUF_WRITABLE)
    try:
        p = <uint8_t *> view.buf + position
        code = check_batch(p, view.len - position, False)
        if code:
            raise fault(code, position)
        stamp(p, timestamp_type, max_timestamp)
    finally:
        PyBuffer_Release(&view)
