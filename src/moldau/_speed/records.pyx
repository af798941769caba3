"""The records inside a batch, read, compiled. `reference/records.py` says what and why."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from cython cimport freelist, no_gc
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t

from moldau._speed.codec cimport (
    ATTRIBUTES_AT,
    BASE_SEQUENCE_AT,
    BASE_TIMESTAMP_AT,
    COMPRESSION,
    CONTROL,
    COUNT_AT,
    CRC_AT,
    FAULT_CHECKSUM,
    FAULT_COUNTS,
    FAULT_RECORD,
    FAULT_TRAILING,
    FLAGS_AT,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LENGTH_AT,
    MAX_TIMESTAMP_AT,
    PREFIX_SIZE,
    PRODUCER_ID_AT,
    BatchHeader,
    check_batch,
    check_frame,
    checksum_from,
    frame_of,
    get16,
    get32,
    get64,
    header_at,
    next_record,
    open_range,
    record_frame,
    record_parts,
    take_header,
)

from moldau._speed.faults import fault

cdef extern from "walk.h" nogil:
    enum:
        REFUSED_NAMED
    ctypedef struct refused_record:
        int64_t timestamp
        int32_t index
        int32_t keyless
    ctypedef struct record_walk:
        record_frame frame
        int consecutive
        int needs_key
        int64_t earliest
        int64_t latest
        int64_t lowest
        int64_t highest
        int32_t index
        int32_t first_keyless
        int32_t refused
        refused_record *named
    void walk_begin(record_walk *walk)
    void walk_end(record_walk *walk)
    const uint8_t *walk_until(
        record_walk *walk, const uint8_t *p, const uint8_t *limit, const uint8_t *end, int *fault)
    int walk_finish(record_walk *walk, const uint8_t *p, const uint8_t *end)
    int walk_may_refuse(const record_walk *walk)
    void walk_refusals(record_walk *walk, const uint8_t *p, const uint8_t *end)
    int walk_window(record_walk *walk, const uint8_t *p, const uint8_t *end, int64_t before, int64_t *begun)

# Below this many bytes a walk is over before another thread could make use of the GIL.
cdef enum:
    SMALL_BODY = 65536

# So many bytes are checksummed and then walked while they are still in the processor's first cache.
cdef enum:
    STRIDE = 24576


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
    cdef readonly int32_t records
    cdef readonly int32_t first_without_key
    cdef readonly int32_t refused
    cdef readonly tuple refusals

    def __init__(
        self,
        int32_t records,
        int64_t min_timestamp,
        int64_t max_timestamp,
        int32_t first_without_key,
        int32_t refused=0,
        tuple refusals=(),
    ):
        self.records = records
        self.min_timestamp = min_timestamp
        self.max_timestamp = max_timestamp
        self.first_without_key = first_without_key
        self.refused = refused
        self.refusals = refusals

    def __eq__(self, other):
        if type(other) is not RecordsSummary:
            return NotImplemented
        return summary_fields(self) == summary_fields(other)

    def __hash__(self):
        return hash(summary_fields(self))

    def __repr__(self):
        return (
            "RecordsSummary(records=%r, min_timestamp=%r, max_timestamp=%r, first_without_key=%r, refused=%r, "
            "refusals=%r)" % summary_fields(self)
        )


cdef tuple summary_fields(RecordsSummary summary):
    return (
        summary.records, summary.min_timestamp, summary.max_timestamp, summary.first_without_key, summary.refused,
        summary.refusals,
    )


cdef RecordsSummary summary_of(record_walk *walk):
    cdef RecordsSummary summary = RecordsSummary.__new__(RecordsSummary)
    cdef int32_t index
    summary.records = walk.index
    summary.min_timestamp = walk.lowest if walk.index else -1
    summary.max_timestamp = walk.highest if walk.index else -1
    summary.first_without_key = walk.first_keyless
    summary.refused = walk.refused
    if walk.refused and walk.named != NULL:
        summary.refusals = tuple([
            (walk.named[index].index, walk.named[index].timestamp, walk.named[index].keyless != 0)
            for index in range(min(walk.refused, <int32_t> REFUSED_NAMED))
        ])
    else:
        summary.refusals = ()
    return summary


cdef void ask(
    record_walk *walk, BatchHeader header, bint consecutive, bint needs_key, int64_t earliest, int64_t latest,
    bint own_times,
) noexcept:
    walk.frame = frame_of(header)
    if own_times:
        walk.frame.has_append_time = 0
    walk.consecutive = consecutive
    walk.needs_key = needs_key
    walk.earliest = earliest
    walk.latest = latest
    walk_begin(walk)


cdef int walk_all(record_walk *walk, const uint8_t **p, const uint8_t *end) noexcept nogil:
    cdef const uint8_t *first = p[0]
    cdef int code = 0
    p[0] = walk_until(walk, p[0], end, end, &code)
    if not code:
        code = walk_finish(walk, p[0], end)
    if not code and walk_may_refuse(walk):
        walk_refusals(walk, first, end)
    return code


def check_records(
    BatchHeader header not None,
    data not None,
    Py_ssize_t start=0,
    end=None,
    *,
    bint consecutive=True,
    bint needs_key=False,
    int64_t earliest=INT64_MIN,
    int64_t latest=INT64_MAX,
    bint own_times=False,
):
    cdef Py_buffer view
    cdef const uint8_t *p
    cdef Py_ssize_t last
    cdef record_walk walk
    cdef int code
    ask(&walk, header, consecutive, needs_key, earliest, latest, own_times)
    if consecutive and walk.frame.count != <int64_t> walk.frame.last_offset_delta + 1:
        raise fault(FAULT_COUNTS, start)
    open_range(data, &view, PyBUF_SIMPLE, start, end, &last)
    try:
        code = check_frame(&walk.frame, last - start)
        if code:
            raise fault(code, start)
        p = <const uint8_t *> view.buf + start
        if last - start < SMALL_BODY:
            code = walk_all(&walk, &p, <const uint8_t *> view.buf + last)
        else:
            with nogil:
                code = walk_all(&walk, &p, <const uint8_t *> view.buf + last)
        if code:
            raise fault(code, p - <const uint8_t *> view.buf)
        return summary_of(&walk)
    finally:
        walk_end(&walk)
        PyBuffer_Release(&view)


cdef int sum_and_walk(record_walk *walk, const uint8_t *batch, Py_ssize_t size, const uint8_t **p) noexcept nogil:
    """Checksum and records of a batch in one pass over its bytes; the checksum is judged first."""
    cdef const uint8_t *end = batch + size
    cdef const uint8_t *at = batch + ATTRIBUTES_AT
    cdef Py_ssize_t step
    cdef uint32_t value = 0
    cdef int code = 0
    while at < end:
        step = min(end - at, <Py_ssize_t> STRIDE)
        value = checksum_from(value, at, step)
        at += step
        if not code:
            p[0] = walk_until(walk, p[0], at, end, &code)
    if value != <uint32_t> get32(batch + CRC_AT):
        return FAULT_CHECKSUM
    if not code:
        code = walk_finish(walk, p[0], end)
    if not code and walk_may_refuse(walk):
        walk_refusals(walk, batch + HEADER_SIZE, end)
    return code


cdef inline bint has_gaps(const uint8_t *batch) noexcept nogil:
    return get32(batch + COUNT_AT) != <int64_t> get32(batch + LAST_OFFSET_DELTA_AT) + 1


def open_batch(
    data not None,
    Py_ssize_t start,
    Py_ssize_t end,
    *,
    bint needs_key=False,
    int64_t earliest=INT64_MIN,
    int64_t latest=INT64_MAX,
    bint own_times=False,
):
    cdef Py_buffer view
    cdef const uint8_t *batch
    cdef const uint8_t *p
    cdef Py_ssize_t last, size
    cdef record_walk walk
    cdef BatchHeader header
    cdef int code
    open_range(data, &view, PyBUF_SIMPLE, start, end, &last)
    walk.named = NULL
    try:
        batch = <const uint8_t *> view.buf + start
        code = check_batch(batch, last - start, False)
        if code or batch[FLAGS_AT] & (COMPRESSION | CONTROL) or has_gaps(batch):
            code = check_batch(batch, last - start, True)
            if not code and not batch[FLAGS_AT] & (COMPRESSION | CONTROL):
                code = FAULT_COUNTS
            if code:
                raise fault(code, start)
            return header_at(batch), None
        header = header_at(batch)
        size = <Py_ssize_t> header.length + PREFIX_SIZE
        p = batch + HEADER_SIZE
        ask(&walk, header, True, needs_key, earliest, latest, own_times)
        if size < SMALL_BODY:
            code = sum_and_walk(&walk, batch, size, &p)
        else:
            with nogil:
                code = sum_and_walk(&walk, batch, size, &p)
        if code:
            raise fault(code, (batch if code == FAULT_CHECKSUM else p) - <const uint8_t *> view.buf)
        return header, summary_of(&walk)
    finally:
        walk_end(&walk)
        PyBuffer_Release(&view)


cdef int judge_plain(
    const uint8_t *batch, Py_ssize_t size, bint needs_key, int64_t earliest, int64_t latest
) noexcept nogil:
    """0 if the bytes are one plain batch that a client may write as it is: nothing to unpack, to correct or to refuse.

    Whatever this does not know is left to `storage/validator`, which says what is wrong with it, if anything is.
    """
    cdef record_walk walk
    cdef const uint8_t *p = batch + HEADER_SIZE
    cdef int code
    if (
        check_batch(batch, size, False)
        or get32(batch + LENGTH_AT) != size - PREFIX_SIZE
        or get16(batch + ATTRIBUTES_AT)
        or get64(batch)
        or has_gaps(batch)
        or (get64(batch + PRODUCER_ID_AT) != -1 and get32(batch + BASE_SEQUENCE_AT) < 0)
    ):
        return -1
    walk.frame.base_offset = 0
    walk.frame.base_timestamp = get64(batch + BASE_TIMESTAMP_AT)
    walk.frame.append_time = -1
    walk.frame.has_append_time = 0
    walk.frame.last_offset_delta = get32(batch + LAST_OFFSET_DELTA_AT)
    walk.frame.count = get32(batch + COUNT_AT)
    walk.consecutive = 1
    walk.needs_key = needs_key
    walk.earliest = earliest
    walk.latest = latest
    walk_begin(&walk)
    code = sum_and_walk(&walk, batch, size, &p)
    if not code and (walk.refused or max(walk.highest, <int64_t> -1) != get64(batch + MAX_TIMESTAMP_AT)):
        code = -1
    walk_end(&walk)
    return code


cdef class RecordWalk:
    cdef record_walk _walk
    cdef int64_t _passed
    cdef int64_t _begun

    def __cinit__(
        self,
        BatchHeader header not None,
        *,
        bint consecutive=True,
        bint needs_key=False,
        int64_t earliest=INT64_MIN,
        int64_t latest=INT64_MAX,
        bint own_times=False,
    ):
        ask(&self._walk, header, consecutive, needs_key, earliest, latest, own_times)
        cdef int code = check_frame(&self._walk.frame, INT64_MAX)
        if code or (consecutive and self._walk.frame.count != <int64_t> self._walk.frame.last_offset_delta + 1):
            raise fault(FAULT_COUNTS, 0)

    def __dealloc__(self):
        walk_end(&self._walk)

    @property
    def position(self):
        return self._begun

    def feed(self, data not None):
        cdef Py_buffer view
        cdef Py_ssize_t last
        cdef int code
        open_range(data, &view, PyBUF_SIMPLE, 0, None, &last)
        with nogil:
            code = walk_window(
                &self._walk, <const uint8_t *> view.buf, <const uint8_t *> view.buf + last, self._passed, &self._begun
            )
        PyBuffer_Release(&view)
        self._passed += last
        if code:
            raise fault(code, self._begun)

    def finish(self):
        if self._walk.index < self._walk.frame.count:
            raise fault(FAULT_RECORD, self._begun)
        return summary_of(&self._walk)
