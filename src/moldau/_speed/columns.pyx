"""Records as columns in Arrow's memory layout, compiled. `reference/columns.py` says what and why.

The walk runs without the GIL: before a batch every buffer gets room for the most it could need, so nothing inside the
loop allocates or checks capacity. What a damaged batch left behind the last row is simply written over by the next.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport INT32_MAX, INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

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
from moldau._speed.reference.columns import Columns, HeaderColumns


cdef struct Memory:
    uint8_t *start
    Py_ssize_t room


# Rows of bytes or null; validity and offsets follow from the number of rows.
cdef struct BytesColumn:
    Memory validity
    Memory offsets
    Memory data
    int64_t size


cdef int reserve(Memory *memory, Py_ssize_t size) except -1:
    if size <= memory.room:
        return 0
    cdef Py_ssize_t room = max(size, 2 * memory.room)
    cdef uint8_t *start = <uint8_t *> PyMem_RawRealloc(memory.start, room)
    if start == NULL:
        raise MemoryError
    memory.start = start
    memory.room = room
    return 0


cdef int reserve_rows(BytesColumn *column, Py_ssize_t rows, Py_ssize_t more) except -1:
    """Room for `rows` rows in all and `more` bytes of new data."""
    reserve(&column.validity, (rows + 7) // 8)
    reserve(&column.offsets, 4 * (rows + 1))
    reserve(&column.data, column.size + more)
    (<int32_t *> column.offsets.start)[0] = 0
    return 0


cdef inline void put_row(BytesColumn *column, Py_ssize_t row, const uint8_t *value, int32_t size) noexcept nogil:
    cdef uint8_t bit = <uint8_t> (1 << (row & 7))
    cdef uint8_t *valid = column.validity.start + (row >> 3)
    if size > 0:
        memcpy(column.data.start + column.size, value, size)
        column.size += size
    (<int32_t *> column.offsets.start)[row + 1] = <int32_t> column.size
    valid[0] = (valid[0] & (bit - 1)) | (bit if size >= 0 else 0)


cdef inline int64_t as_microseconds(int64_t timestamp) noexcept nogil:
    """Times beyond what microseconds can say become the last ones they can."""
    if timestamp > INT64_MAX // 1000:
        return INT64_MAX
    if timestamp < INT64_MIN // 1000:
        return INT64_MIN
    return timestamp * 1000


cdef void free_column(BytesColumn *column) noexcept:
    PyMem_RawFree(column.validity.start)
    PyMem_RawFree(column.offsets.start)
    PyMem_RawFree(column.data.start)


cdef class Sealed:
    """Memory that left the builder; readers see it through the buffer protocol without a copy."""

    cdef uint8_t *start
    cdef Py_ssize_t size

    def __dealloc__(self):
        PyMem_RawFree(self.start)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.start, self.size, True, flags)


cdef object seal(Memory *memory, Py_ssize_t size):
    cdef Sealed sealed = Sealed.__new__(Sealed)
    cdef uint8_t *start = <uint8_t *> PyMem_RawRealloc(memory.start, max(size, 1))
    if start == NULL:
        raise MemoryError
    sealed.start = start
    sealed.size = size
    memory.start = NULL
    memory.room = 0
    return memoryview(sealed)


cdef object seal_validity(Memory *memory, Py_ssize_t rows):
    """A damaged batch may have left bits behind the last row; they would be the only trace of it."""
    if rows & 7:
        memory.start[rows >> 3] &= (1 << (rows & 7)) - 1
    return seal(memory, (rows + 7) // 8)


cdef tuple seal_column(BytesColumn *column, Py_ssize_t rows):
    """Validity, offsets and data; nothing at all (`rows` is -1) where the column was left out."""
    if rows < 0:
        nothing = memoryview(b"")
        return nothing, nothing, nothing
    return (
        seal_validity(&column.validity, rows),
        seal(&column.offsets, 4 * (rows + 1)),
        seal(&column.data, column.size),
    )


cdef class ColumnBuilder:
    cdef Memory offset
    cdef Memory timestamp
    cdef Memory header_offsets
    cdef BytesColumn keys
    cdef BytesColumn values
    cdef BytesColumn header_keys
    cdef BytesColumn header_values
    cdef Py_ssize_t row_count
    cdef Py_ssize_t header_count
    cdef bint with_headers
    cdef bint with_keys
    cdef bint with_values
    cdef bint microseconds
    cdef bint walking

    def __cinit__(self, *, bint headers=False, bint keys=True, bint values=True, bint microseconds=False):
        self.with_headers = headers
        self.with_keys = keys
        self.with_values = values
        self.microseconds = microseconds

    def __dealloc__(self):
        PyMem_RawFree(self.offset.start)
        PyMem_RawFree(self.timestamp.start)
        PyMem_RawFree(self.header_offsets.start)
        free_column(&self.keys)
        free_column(&self.values)
        free_column(&self.header_keys)
        free_column(&self.header_values)

    @property
    def rows(self):
        return self.row_count

    @property
    def size(self):
        return self.keys.size + self.values.size + self.header_keys.size + self.header_values.size

    def append(
        self,
        BatchHeader header not None,
        data not None,
        Py_ssize_t start=0,
        end=None,
        *,
        int64_t first_offset=0,
        int64_t end_offset=INT64_MAX,
    ):
        cdef Py_buffer view
        cdef const uint8_t *p
        cdef const uint8_t *stop
        cdef Py_ssize_t last, before = self.row_count
        cdef record_frame frame = frame_of(header)
        cdef int code
        if self.walking:
            raise RuntimeError("another thread is appending to these columns")
        open_range(data, &view, PyBUF_SIMPLE, start, end, &last)
        try:
            if self.size + (last - start) > INT32_MAX or self.row_count + <int64_t> frame.count >= INT32_MAX:
                raise OverflowError("a column would pass 2 GiB")
            code = check_frame(&frame, last - start)
            if code:
                raise fault(code, start)
            self.make_room(frame.count, last - start)
            p = <const uint8_t *> view.buf + start
            stop = <const uint8_t *> view.buf + last
            self.walking = True
            with nogil:
                p = self.walk(&frame, p, stop, first_offset, end_offset, &code)
            self.walking = False
            if code:
                raise fault(code, p - <const uint8_t *> view.buf)
        finally:
            PyBuffer_Release(&view)
        return self.row_count - before

    cdef int make_room(self, Py_ssize_t rows, Py_ssize_t size) except -1:
        rows += self.row_count
        reserve(&self.offset, 8 * rows)
        reserve(&self.timestamp, 8 * rows)
        if self.with_keys:
            reserve_rows(&self.keys, rows, size)
        if self.with_values:
            reserve_rows(&self.values, rows, size)
        if self.with_headers:
            reserve(&self.header_offsets, 4 * (rows + 1))
            (<int32_t *> self.header_offsets.start)[0] = 0
            # A header takes at least two bytes: its lengths.
            reserve_rows(&self.header_keys, self.header_count + size // 2, size)
            reserve_rows(&self.header_values, self.header_count + size // 2, size)
        return 0

    cdef const uint8_t *walk(
        self,
        const record_frame *frame,
        const uint8_t *p,
        const uint8_t *stop,
        int64_t first_offset,
        int64_t end_offset,
        int *code,
    ) noexcept nogil:
        """The position after the last record, or of the one at fault; then nothing has been added."""
        cdef record_parts parts
        cdef const uint8_t *after
        cdef int32_t index
        cdef int64_t *offset = <int64_t *> self.offset.start
        cdef int64_t *timestamp = <int64_t *> self.timestamp.start
        cdef BytesColumn keys = self.keys, values = self.values
        cdef BytesColumn header_keys = self.header_keys, header_values = self.header_values
        cdef Py_ssize_t row = self.row_count, header_row = self.header_count
        for index in range(frame.count):
            after = next_record(frame, p, stop, -1, &parts, code)
            if after == NULL:
                return p
            if first_offset <= parts.offset < end_offset:
                offset[row] = parts.offset
                timestamp[row] = as_microseconds(parts.timestamp) if self.microseconds else parts.timestamp
                if self.with_keys:
                    put_row(&keys, row, parts.key, parts.key_size)
                if self.with_values:
                    put_row(&values, row, parts.value, parts.value_size)
                row += 1
                if self.with_headers:
                    header_row = put_headers(&parts, after, &header_keys, &header_values, header_row)
                    (<int32_t *> self.header_offsets.start)[row] = <int32_t> header_row
            p = after
        if p != stop:
            code[0] = FAULT_TRAILING
            return p
        self.keys, self.values = keys, values
        self.header_keys, self.header_values = header_keys, header_values
        self.row_count, self.header_count = row, header_row
        return p

    def finish(self):
        if self.walking:
            raise RuntimeError("another thread is appending to these columns")
        self.make_room(0, 0)
        headers = None
        if self.with_headers:
            headers = HeaderColumns(
                seal(&self.header_offsets, 4 * (self.row_count + 1)),
                seal(&self.header_keys.offsets, 4 * (self.header_count + 1)),
                seal(&self.header_keys.data, self.header_keys.size),
                seal_validity(&self.header_values.validity, self.header_count),
                seal(&self.header_values.offsets, 4 * (self.header_count + 1)),
                seal(&self.header_values.data, self.header_values.size),
            )
        columns = Columns(
            self.row_count,
            seal(&self.offset, 8 * self.row_count),
            seal(&self.timestamp, 8 * self.row_count),
            *seal_column(&self.keys, self.row_count if self.with_keys else -1),
            *seal_column(&self.values, self.row_count if self.with_values else -1),
            headers,
        )
        self.keys.size = self.values.size = self.header_keys.size = self.header_values.size = 0
        self.row_count = self.header_count = 0
        return columns


cdef Py_ssize_t put_headers(
    const record_parts *parts, const uint8_t *end, BytesColumn *keys, BytesColumn *values, Py_ssize_t row
) noexcept nogil:
    """The row after the last header. They were walked before; another look guards against memory that changes meanwhile."""
    cdef const uint8_t *p = parts.headers
    cdef const uint8_t *key
    cdef const uint8_t *value
    cdef int32_t key_size, value_size, index
    for index in range(parts.header_count):
        p = take_header(p, end, &key, &key_size, &value, &value_size)
        if p == NULL:
            break
        put_row(keys, row, key, key_size)
        put_row(values, row, value, value_size)
        row += 1
    return row
