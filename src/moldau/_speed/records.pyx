"""The records inside a batch, read, compiled. `reference/records.py` says what and why."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from cython cimport freelist, no_gc
from libc.stdint cimport int32_t, int64_t, uint8_t

from moldau._speed.codec cimport (
    FAULT_COUNTS,
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

# Below this many bytes a walk is over before another thread could make use of the GIL.
cdef enum:
    SMALL_BODY = 65536


# no_gc: it holds bytes and, for headers, a list of pairs of text and bytes, which cannot lead back to it. Ten
# thousand of them per fetched batch would otherwise set off the collector all the time.
@no_gc
@freelist(256)
cdef class Record:
    def __init__(self, int64_t offset, int64_t timestamp, key, value, headers=None):
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self._headers = headers

    @property
    def headers(self):
        # Most records have none: the list is made when somebody looks.
        if self._headers is None:
            self._headers = []
        return self._headers

    def __eq__(self, other):
        if type(other) is not Record:
            return NotImplemented
        cdef Record that = other
        return (
            self.offset == that.offset
            and self.timestamp == that.timestamp
            and self.key == that.key
            and self.value == that.value
            and self.headers == that.headers
        )

    __hash__ = None

    def __repr__(self):
        return (
            f"Record(offset={self.offset}, timestamp={self.timestamp}, key={self.key!r}, value={self.value!r}, "
            f"headers={self.headers!r})"
        )


cdef inline object bytes_or_none(const uint8_t *p, int32_t size):
    if size < 0:
        return None
    return PyBytes_FromStringAndSize(<const char *> p, size)


cdef list headers_of(record_parts *record, const uint8_t *end):
    """`next_record` has walked them before; another look guards against memory that changes meanwhile."""
    cdef int32_t key_size = 0, value_size = 0, index
    cdef const uint8_t *key = NULL
    cdef const uint8_t *value = NULL
    cdef const uint8_t *p = record.headers
    cdef list headers = []
    for index in range(record.header_count):
        p = take_header(p, end, &key, &key_size, &value, &value_size)
        if p == NULL:
            break
        headers.append((
            PyUnicode_DecodeUTF8(<char *> key, key_size, "surrogateescape"),
            bytes_or_none(value, value_size),
        ))
    return headers


def decode_records(BatchHeader header not None, data not None, Py_ssize_t start=0, end=None):
    cdef Py_buffer view
    cdef const uint8_t *p
    cdef const uint8_t *stop
    cdef const uint8_t *after
    cdef Py_ssize_t last
    cdef int32_t index
    cdef int code
    cdef record_frame frame = frame_of(header)
    cdef record_parts parts
    cdef Record record
    cdef list records
    open_range(data, &view, PyBUF_SIMPLE, start, end, &last)
    try:
        p = <const uint8_t *> view.buf + start
        stop = <const uint8_t *> view.buf + last
        code = check_frame(&frame, last - start)
        if code:
            raise fault(code, start)
        records = PyList_New(frame.count)
        for index in range(frame.count):
            after = next_record(&frame, p, stop, -1, &parts, &code)
            if after == NULL:
                raise fault(code, p - <const uint8_t *> view.buf)
            record = Record.__new__(Record)
            record.offset = parts.offset
            record.timestamp = parts.timestamp
            record.key = bytes_or_none(parts.key, parts.key_size)
            record.value = bytes_or_none(parts.value, parts.value_size)
            if parts.header_count:
                record._headers = headers_of(&parts, after)
            Py_INCREF(record)
            PyList_SET_ITEM(records, index, record)
            p = after
        if p != stop:
            raise fault(FAULT_TRAILING, p - <const uint8_t *> view.buf)
        return records
    finally:
        PyBuffer_Release(&view)


@freelist(8)
cdef class RecordsSummary:
    cdef readonly int64_t min_timestamp
    cdef readonly int64_t max_timestamp
    cdef readonly int64_t offset_of_max_timestamp
    cdef readonly int32_t records
    cdef readonly int32_t first_without_key

    def __init__(
        self,
        int32_t records,
        int64_t min_timestamp,
        int64_t max_timestamp,
        int64_t offset_of_max_timestamp,
        int32_t first_without_key,
    ):
        self.records = records
        self.min_timestamp = min_timestamp
        self.max_timestamp = max_timestamp
        self.offset_of_max_timestamp = offset_of_max_timestamp
        self.first_without_key = first_without_key

    def __eq__(self, other):
        if type(other) is not RecordsSummary:
            return NotImplemented
        return summary_fields(self) == summary_fields(other)

    def __hash__(self):
        return hash(summary_fields(self))

    def __repr__(self):
        return (
            "RecordsSummary(records=%d, min_timestamp=%d, max_timestamp=%d, offset_of_max_timestamp=%d, "
            "first_without_key=%d)" % summary_fields(self)
        )


cdef tuple summary_fields(RecordsSummary summary):
    return (
        summary.records, summary.min_timestamp, summary.max_timestamp, summary.offset_of_max_timestamp,
        summary.first_without_key,
    )


cdef struct Summary:
    int64_t lowest
    int64_t highest
    int64_t offset_of_highest
    int32_t keyless


cdef const uint8_t *summarize(
    const record_frame *frame, const uint8_t *p, const uint8_t *stop, bint consecutive, Summary *summary, int *code
) noexcept nogil:
    """The position after the last record, or of the one at fault."""
    cdef record_parts parts
    cdef const uint8_t *after
    cdef int32_t index
    for index in range(frame.count):
        after = next_record(frame, p, stop, index if consecutive else -1, &parts, code)
        if after == NULL:
            return p
        if index == 0 or parts.timestamp < summary.lowest:
            summary.lowest = parts.timestamp
        if index == 0 or parts.timestamp > summary.highest:
            summary.highest = parts.timestamp
            summary.offset_of_highest = parts.offset
        if parts.key_size < 0 and summary.keyless < 0:
            summary.keyless = index
        p = after
    if p != stop:
        code[0] = FAULT_TRAILING
    return p


def check_records(BatchHeader header not None, data not None, Py_ssize_t start=0, end=None, *, bint consecutive=True):
    cdef Py_buffer view
    cdef const uint8_t *p
    cdef Py_ssize_t last
    cdef record_frame frame = frame_of(header)
    cdef Summary summary = Summary(-1, -1, -1, -1)
    cdef int code
    if consecutive and frame.count != <int64_t> frame.last_offset_delta + 1:
        raise fault(FAULT_COUNTS, start)
    open_range(data, &view, PyBUF_SIMPLE, start, end, &last)
    try:
        code = check_frame(&frame, last - start)
        if code:
            raise fault(code, start)
        p = <const uint8_t *> view.buf + start
        if last - start < SMALL_BODY:
            p = summarize(&frame, p, p + (last - start), consecutive, &summary, &code)
        else:
            with nogil:
                p = summarize(&frame, p, p + (last - start), consecutive, &summary, &code)
        if code:
            raise fault(code, p - <const uint8_t *> view.buf)
    finally:
        PyBuffer_Release(&view)
    cdef RecordsSummary result = RecordsSummary.__new__(RecordsSummary)
    result.records = frame.count
    result.min_timestamp = summary.lowest
    result.max_timestamp = summary.highest
    result.offset_of_max_timestamp = summary.offset_of_highest
    result.first_without_key = summary.keyless
    return result
