"""Compaction of record batches, compiled. `reference/compaction.py` says what each part does and why.

Everything that loops over records runs without the GIL, so that a thread that compacts does not slow down the loop.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy

from moldau._speed.codec cimport (
    ATTRIBUTES_AT,
    BASE_TIMESTAMP_AT,
    COMPRESSION,
    CONTROL,
    COUNT_AT,
    CRC_AT,
    DELETE_HORIZON,
    FAULT_NONE,
    FAULT_SHORT,
    FAULT_TRAILING,
    FLAGS_AT,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LENGTH_AT,
    MAX_TIMESTAMP_AT,
    PREFIX_SIZE,
    TIMESTAMP_TYPE,
    TRANSACTIONAL,
    check_batch,
    check_frame,
    checksum,
    get32,
    get64,
    next_record,
    open_range,
    put32,
    put64,
    put_varlong,
    record_frame,
    record_parts,
    size_of_varlong,
    take_varint,
    take_varlong,
)

from moldau._speed.faults import fault
from moldau._speed.reference.compaction import Mark

cdef extern from "siphash.h" nogil:
    void siphash128(const uint8_t *p, size_t size, uint64_t k0, uint64_t k1, uint64_t *low, uint64_t *high)

cdef extern from *:
    """
    static inline int sub_overflows64(int64_t a, int64_t b, int64_t *gap) { return __builtin_sub_overflow(a, b, gap); }
    static inline uint64_t slot_of(uint64_t hash, uint64_t slots)
    {
        return (uint64_t)(((unsigned __int128)hash * slots) >> 64);
    }
    """
    bint sub_overflows64(int64_t a, int64_t b, int64_t *gap) nogil
    uint64_t slot_of(uint64_t hash, uint64_t slots) nogil

cdef enum:
    # Attributes that need more than the map to decide: a codec, a transaction, a control batch.
    SPECIAL = COMPRESSION | TRANSACTIONAL | CONTROL
    DISCARD = 1
    KEEP_RECORDS = 2
    SET_HORIZON = 4
    KEEP_EMPTY = 8
    FAULT_FULL = -1
    FAULT_MEMORY = -2
    FAULT_TIMESTAMP = 8

cdef struct Slot:
    uint64_t low
    uint64_t high
    int64_t end  # the offset plus one, so that memory full of zeros is an empty map


cdef record_frame frame_at(const uint8_t *p) noexcept nogil:
    cdef record_frame frame
    frame.base_offset = get64(p)
    frame.base_timestamp = get64(p + BASE_TIMESTAMP_AT)
    frame.append_time = get64(p + MAX_TIMESTAMP_AT)
    frame.has_append_time = (p[FLAGS_AT] & TIMESTAMP_TYPE) != 0
    frame.last_offset_delta = get32(p + LAST_OFFSET_DELTA_AT)
    frame.count = get32(p + COUNT_AT)
    return frame


cdef class OffsetMap:
    cdef Slot *memory
    cdef uint64_t k0, k1
    cdef readonly int64_t slots
    cdef readonly int64_t limit
    cdef readonly int64_t size
    cdef readonly bint full

    def __cinit__(self, int64_t slots, int64_t limit, seed not None):
        if slots < 1 or not 1 <= limit <= slots or len(seed) != 16:
            raise ValueError(f"a map of {slots} slots cannot take {limit} keys with this seed")
        self.memory = <Slot *> calloc(slots, sizeof(Slot))
        if self.memory == NULL:
            raise MemoryError
        self.slots = slots
        self.limit = limit
        self.k0 = int.from_bytes(seed[:8], "little")
        self.k1 = int.from_bytes(seed[8:], "little")

    def __dealloc__(self):
        free(self.memory)

    def close(self):
        cdef Slot *memory = self.memory
        self.memory = NULL
        self.slots = self.limit = self.size = 0
        with nogil:
            free(memory)

    cdef inline Slot *find(self, const uint8_t *key, int32_t size) noexcept nogil:
        """The slot of the key, or the empty one where it would go; NULL when all are taken by others."""
        cdef uint64_t low, high
        siphash128(key, size, self.k0, self.k1, &low, &high)
        cdef int64_t at = slot_of(low, self.slots), left = self.slots
        cdef Slot *slot
        while left:
            slot = self.memory + at
            if slot.end == 0:
                slot.low = low
                slot.high = high
                return slot
            if slot.low == low and slot.high == high:
                return slot
            at += 1
            if at == self.slots:
                at = 0
            left -= 1
        return NULL

    cdef inline int enter(self, const uint8_t *key, int32_t size, int64_t offset) noexcept nogil:
        cdef Slot *slot = self.find(key, size)
        if slot == NULL:
            return FAULT_FULL
        if slot.end == 0:
            if self.size >= self.limit:
                return FAULT_FULL
            self.size += 1
        if offset >= slot.end:
            slot.end = offset + 1
        return FAULT_NONE

    cdef int64_t latest(self, const uint8_t *key, int32_t size) noexcept nogil:
        cdef Slot *slot = self.find(key, size)
        return -1 if slot == NULL else slot.end - 1

    def put(self, bytes key not None, int64_t offset):
        return self.enter(key, <int32_t> len(key), offset) == FAULT_NONE

    def get(self, bytes key not None):
        return self.latest(key, <int32_t> len(key))

    cdef const uint8_t *enter_records(
        self, record_frame *frame, const uint8_t *p, const uint8_t *stop, int64_t first_offset, int *code
    ) noexcept nogil:
        """The position after the records, or of the one at fault."""
        cdef record_parts parts
        cdef const uint8_t *after
        cdef int32_t index
        code[0] = check_frame(frame, stop - p)
        if code[0]:
            return p
        for index in range(frame.count):
            after = next_record(frame, p, stop, -1, &parts, code)
            if after == NULL:
                return p
            if parts.key_size >= 0 and parts.offset >= first_offset:
                code[0] = self.enter(parts.key, parts.key_size, parts.offset)
                if code[0]:
                    return p
            p = after
        if p != stop:
            code[0] = FAULT_TRAILING
        return p

    def index_batches(self, data not None, Py_ssize_t start, Py_ssize_t end, int64_t first_offset):
        cdef Py_buffer view
        cdef Py_ssize_t stop, position = start, size
        cdef const uint8_t *p
        cdef const uint8_t *at = NULL
        cdef record_frame frame
        cdef int code = FAULT_NONE
        open_range(data, &view, PyBUF_SIMPLE, start, end, &stop)
        try:
            with nogil:
                while position < stop:
                    p = <const uint8_t *> view.buf + position
                    at = p
                    code = check_batch(p, stop - position, True)
                    if code or p[FLAGS_AT] & SPECIAL:
                        break
                    size = <Py_ssize_t> get32(p + LENGTH_AT) + PREFIX_SIZE
                    frame = frame_at(p)
                    at = self.enter_records(&frame, p + HEADER_SIZE, p + size, first_offset, &code)
                    if code:
                        break
                    position += size
            if code == FAULT_FULL:
                self.full = True
            elif code and code != FAULT_SHORT:
                raise fault(code, at - <const uint8_t *> view.buf)
            return position
        finally:
            PyBuffer_Release(&view)

    def index_records(self, header, data not None, Py_ssize_t start, Py_ssize_t end, int64_t first_offset):
        cdef Py_buffer view
        cdef Py_ssize_t stop
        cdef const uint8_t *p
        cdef record_frame frame
        cdef int code = FAULT_NONE
        frame.base_offset = header.base_offset
        frame.base_timestamp = header.base_timestamp
        frame.append_time = header.max_timestamp
        frame.has_append_time = header.timestamp_type
        frame.last_offset_delta = header.last_offset_delta
        frame.count = header.count
        open_range(data, &view, PyBUF_SIMPLE, start, end, &stop)
        try:
            with nogil:
                p = <const uint8_t *> view.buf
                p = self.enter_records(&frame, p + start, p + stop, first_offset, &code)
            if code == FAULT_FULL:
                self.full = True
                return False
            if code:
                raise fault(code, p - <const uint8_t *> view.buf)
            return True
        finally:
            PyBuffer_Release(&view)


cdef struct Selection:
    int32_t count
    bint tombstones
    int64_t max_timestamp
    Py_ssize_t size  # of the selected records as they stand


cdef class BatchFilter:
    cdef OffsetMap map
    cdef int64_t latest_offset, now_ms, delete_retention_ms, index_interval
    cdef int64_t *kept
    cdef Py_ssize_t kept_count
    cdef uint8_t *memory
    cdef Py_ssize_t used, room, taken
    cdef uint8_t *chosen
    cdef Py_ssize_t chosen_room
    cdef int64_t *marks
    cdef Py_ssize_t mark_count, mark_room
    cdef int64_t since_mark
    cdef readonly int64_t position
    cdef readonly int64_t last_offset
    cdef readonly int64_t max_timestamp
    cdef readonly int64_t max_timestamp_offset
    cdef readonly int64_t records_read
    cdef readonly int64_t records_kept

    def __cinit__(
        self,
        OffsetMap map not None,
        int64_t latest_offset,
        kept_empty,
        *,
        int64_t now_ms,
        int64_t delete_retention_ms,
        int64_t index_interval,
    ):
        cdef Py_ssize_t index
        offsets = sorted(kept_empty)
        self.map = map
        self.latest_offset = latest_offset
        self.now_ms = now_ms
        self.delete_retention_ms = delete_retention_ms
        self.index_interval = index_interval
        self.last_offset = -1
        self.max_timestamp = -1
        self.max_timestamp_offset = -1
        self.kept_count = len(offsets)
        self.kept = <int64_t *> calloc(max(1, self.kept_count), sizeof(int64_t))
        if self.kept == NULL:
            raise MemoryError
        for index in range(self.kept_count):
            self.kept[index] = offsets[index]

    def __dealloc__(self):
        free(self.kept)
        free(self.memory)
        free(self.chosen)
        free(self.marks)

    cdef bint keeps_empty(self, int64_t last_offset) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self.kept_count, middle
        while low < high:
            middle = (low + high) // 2
            if self.kept[middle] < last_offset:
                low = middle + 1
            else:
                high = middle
        return low < self.kept_count and self.kept[low] == last_offset

    cdef int reserve(self, Py_ssize_t size) noexcept nogil:
        cdef Py_ssize_t room = self.room if self.room else 65536
        cdef uint8_t *memory
        if self.used + size <= self.room:
            return FAULT_NONE
        while room < self.used + size:
            room *= 2
        memory = <uint8_t *> realloc(self.memory, room)
        if memory == NULL:
            return FAULT_MEMORY
        self.memory = memory
        self.room = room
        return FAULT_NONE

    cdef int note(self, const uint8_t *batch, Py_ssize_t size) noexcept nogil:
        """Counts a batch that has just been written to the end of the output."""
        cdef int64_t last_offset = get64(batch) + get32(batch + LAST_OFFSET_DELTA_AT), timestamp = get64(batch + MAX_TIMESTAMP_AT)
        cdef int64_t *marks
        self.last_offset = last_offset
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
            self.max_timestamp_offset = last_offset
        if self.since_mark > self.index_interval:
            if self.mark_count == self.mark_room:
                self.mark_room = self.mark_room * 2 if self.mark_room else 64
                marks = <int64_t *> realloc(self.marks, self.mark_room * 4 * sizeof(int64_t))
                if marks == NULL:
                    return FAULT_MEMORY
                self.marks = marks
            marks = self.marks + 4 * self.mark_count
            marks[0] = last_offset
            marks[1] = self.position
            marks[2] = self.max_timestamp
            marks[3] = self.max_timestamp_offset
            self.mark_count += 1
            self.since_mark = 0
        self.since_mark += size
        self.position += size
        self.used += size
        return FAULT_NONE

    cdef int copy(self, const uint8_t *batch, Py_ssize_t size) noexcept nogil:
        cdef int code = self.reserve(size)
        if code:
            return code
        memcpy(self.memory + self.used, batch, size)
        return self.note(self.memory + self.used, size)

    cdef bint retains(self, record_parts *parts, bint drop_tombstones) noexcept nogil:
        if parts.offset > self.latest_offset:
            return True
        if parts.key_size < 0 or (parts.value_size < 0 and drop_tombstones):
            return False
        return parts.offset >= self.map.latest(parts.key, parts.key_size)

    cdef int select(
        self, const uint8_t *batch, Py_ssize_t size, int flags, Selection *found, const uint8_t **at
    ) noexcept nogil:
        """Marks in `chosen` which records stay."""
        cdef record_frame frame = frame_at(batch)
        cdef record_parts parts
        cdef const uint8_t *p = batch + HEADER_SIZE
        cdef const uint8_t *stop = batch + size
        cdef const uint8_t *after
        cdef uint8_t *chosen
        cdef int32_t index
        cdef int code = check_frame(&frame, stop - p)
        cdef bint drop_tombstones = batch[FLAGS_AT] & DELETE_HORIZON and self.now_ms >= frame.base_timestamp
        at[0] = p
        if code:
            return code
        if frame.count > self.chosen_room:
            chosen = <uint8_t *> realloc(self.chosen, frame.count)
            if chosen == NULL:
                return FAULT_MEMORY
            self.chosen = chosen
            self.chosen_room = frame.count
        found.count = 0
        found.tombstones = False
        found.max_timestamp = -1
        found.size = 0
        for index in range(frame.count):
            after = next_record(&frame, p, stop, -1, &parts, &code)
            at[0] = p
            if after == NULL:
                return code
            self.chosen[index] = (flags & KEEP_RECORDS) != 0 or self.retains(&parts, drop_tombstones)
            if self.chosen[index]:
                if found.count == 0 or parts.timestamp > found.max_timestamp:
                    found.max_timestamp = parts.timestamp
                found.count += 1
                found.size += after - p
                if parts.value_size < 0:
                    found.tombstones = True
            p = after
        at[0] = p
        self.records_read += frame.count
        self.records_kept += found.count
        return FAULT_TRAILING if p != stop else FAULT_NONE

    cdef int add(self, const uint8_t *batch, Py_ssize_t size, int flags, const uint8_t **at) noexcept nogil:
        cdef Selection found
        cdef int code = FAULT_NONE
        cdef bint has_horizon = (batch[FLAGS_AT] & DELETE_HORIZON) != 0
        cdef bint sets_horizon
        if flags & DISCARD:
            found.count = 0
            self.records_read += get32(batch + COUNT_AT)
        else:
            code = self.select(batch, size, flags, &found, at)
        if code:
            return code
        if found.count == 0:
            if flags & KEEP_EMPTY or self.keeps_empty(get64(batch) + get32(batch + LAST_OFFSET_DELTA_AT)):
                return self.add_empty(batch)
            return FAULT_NONE
        # A control record is no tombstone, whatever its value.
        sets_horizon = not has_horizon and (flags & SET_HORIZON or (found.tombstones and not flags & KEEP_RECORDS))
        if found.count == get32(batch + COUNT_AT) and not sets_horizon:
            return self.copy(batch, size)
        # A record can grow by nine bytes of timestamp and one of length.
        code = self.reserve(HEADER_SIZE + found.size + (10 * <Py_ssize_t> found.count if sets_horizon else 0))
        if code:
            return code
        return self.rebuild(batch, size, &found, sets_horizon)

    cdef int rebuild(self, const uint8_t *batch, Py_ssize_t size, Selection *found, bint sets_horizon) noexcept nogil:
        """Writes the chosen records behind a copy of the header; their bytes change only with a new base timestamp."""
        cdef uint8_t *head = self.memory + self.used
        cdef uint8_t *out = head + HEADER_SIZE
        cdef const uint8_t *p = batch + HEADER_SIZE
        cdef const uint8_t *body
        cdef const uint8_t *rest
        cdef int32_t index, length = 0
        cdef int64_t base = get64(batch + BASE_TIMESTAMP_AT), horizon = self.now_ms + self.delete_retention_ms, delta = 0
        memcpy(head, batch, HEADER_SIZE)
        for index in range(get32(batch + COUNT_AT)):
            body = take_varint(p, batch + size, &length)
            if self.chosen[index]:
                if not sets_horizon:
                    memcpy(out, p, body + length - p)
                    out += body + length - p
                else:
                    rest = take_varlong(body + 1, body + length, &delta)
                    if sub_overflows64(base + delta, horizon, &delta):
                        return FAULT_TIMESTAMP
                    out = put_varlong(out, (body + length - rest) + 1 + size_of_varlong(delta))
                    out[0] = body[0]
                    out = put_varlong(out + 1, delta)
                    memcpy(out, rest, body + length - rest)
                    out += body + length - rest
            p = body + length
        if out - head > INT32_MAX:
            return FAULT_MEMORY
        put32(head + LENGTH_AT, <int32_t> (out - head - PREFIX_SIZE))
        if sets_horizon:
            head[FLAGS_AT] = head[FLAGS_AT] | DELETE_HORIZON
            put64(head + BASE_TIMESTAMP_AT, horizon)
        if not head[FLAGS_AT] & TIMESTAMP_TYPE:
            put64(head + MAX_TIMESTAMP_AT, found.max_timestamp)
        put32(head + COUNT_AT, found.count)
        put32(head + CRC_AT, <int32_t> checksum(head + ATTRIBUTES_AT, out - head - ATTRIBUTES_AT))
        return self.note(head, out - head)

    cdef int add_empty(self, const uint8_t *batch) noexcept nogil:
        cdef uint8_t *head
        cdef int code = self.reserve(HEADER_SIZE)
        if code:
            return code
        head = self.memory + self.used
        memcpy(head, batch, HEADER_SIZE)
        put32(head + LENGTH_AT, HEADER_SIZE - PREFIX_SIZE)
        head[ATTRIBUTES_AT] = 0
        head[FLAGS_AT] = batch[FLAGS_AT] & (TIMESTAMP_TYPE | TRANSACTIONAL | CONTROL)
        put64(head + BASE_TIMESTAMP_AT, -1)
        put32(head + COUNT_AT, 0)
        put32(head + CRC_AT, <int32_t> checksum(head + ATTRIBUTES_AT, HEADER_SIZE - ATTRIBUTES_AT))
        return self.note(head, HEADER_SIZE)

    def add_batches(self, data not None, Py_ssize_t start, Py_ssize_t end):
        cdef Py_buffer view
        cdef Py_ssize_t stop, position = start, size
        cdef const uint8_t *p
        cdef const uint8_t *at = NULL
        cdef int code = FAULT_NONE
        open_range(data, &view, PyBUF_SIMPLE, start, end, &stop)
        try:
            with nogil:
                while position < stop:
                    p = <const uint8_t *> view.buf + position
                    at = p
                    code = check_batch(p, stop - position, True)
                    if code or p[FLAGS_AT] & SPECIAL:
                        break
                    size = <Py_ssize_t> get32(p + LENGTH_AT) + PREFIX_SIZE
                    code = self.add(p, size, 0, &at)
                    if code:
                        break
                    position += size
            if code and code != FAULT_SHORT:
                self.refuse(code, at - <const uint8_t *> view.buf)
            return position
        finally:
            PyBuffer_Release(&view)

    def add_batch(
        self,
        data not None,
        Py_ssize_t start,
        Py_ssize_t end,
        *,
        bint discard=False,
        bint keep_records=False,
        bint set_horizon=False,
        bint keep_empty=False,
    ):
        cdef Py_buffer view
        cdef Py_ssize_t stop
        cdef const uint8_t *p
        cdef const uint8_t *at = NULL
        cdef int code
        cdef int flags = (
            (DISCARD if discard else 0)
            | (KEEP_RECORDS if keep_records else 0)
            | (SET_HORIZON if set_horizon else 0)
            | (KEEP_EMPTY if keep_empty else 0)
        )
        open_range(data, &view, PyBUF_SIMPLE, start, end, &stop)
        try:
            with nogil:
                p = <const uint8_t *> view.buf + start
                at = p
                code = check_batch(p, stop - start, False)
                if not code:
                    code = self.add(p, <Py_ssize_t> get32(p + LENGTH_AT) + PREFIX_SIZE, flags, &at)
            if code:
                self.refuse(code, at - <const uint8_t *> view.buf)
        finally:
            PyBuffer_Release(&view)

    def copy_batch(self, data not None, Py_ssize_t start, Py_ssize_t end):
        cdef Py_buffer view
        cdef Py_ssize_t stop
        cdef int code
        open_range(data, &view, PyBUF_SIMPLE, start, end, &stop)
        try:
            code = check_batch(<const uint8_t *> view.buf + start, stop - start, False)
            if not code:
                code = self.copy(<const uint8_t *> view.buf + start, stop - start)
            if code:
                self.refuse(code, start)
        finally:
            PyBuffer_Release(&view)

    def select_batch(self, data not None, Py_ssize_t start, Py_ssize_t end):
        """None if the batch stays as it is."""
        cdef BatchFilter part = BatchFilter(
            self.map,
            self.latest_offset,
            (),
            now_ms=self.now_ms,
            delete_retention_ms=self.delete_retention_ms,
            index_interval=INT64_MAX,
        )
        part.add_batch(data, start, end)
        self.records_read += part.records_read
        self.records_kept += part.records_kept
        if part.used == end - start and bytes(data[start:end]) == part.output():
            return None
        return part.output()

    cdef bytes output(self):
        return PyBytes_FromStringAndSize(<char *> self.memory, self.used) if self.used else b""

    def take(self):
        """What was written since the last `take`, valid until the next batch is added, and the marks in it."""
        cdef Py_ssize_t index
        cdef list marks = []
        for index in range(self.mark_count):
            marks.append(
                Mark(
                    self.marks[4 * index],
                    self.marks[4 * index + 1],
                    self.marks[4 * index + 2],
                    self.marks[4 * index + 3],
                )
            )
        self.taken = self.used
        data = memoryview(self) if self.used else memoryview(b"")
        self.used = 0
        self.mark_count = 0
        return data, marks

    def __getbuffer__(self, Py_buffer *view, int flags):
        # The view holds on to the filter, so its memory stays; what is in it is the caller's promise.
        PyBuffer_FillInfo(view, self, self.memory, self.taken, 1, flags)

    @property
    def pending(self):
        return self.used

    cdef refuse(self, int code, Py_ssize_t position):
        if code == FAULT_MEMORY:
            raise MemoryError
        raise fault(code, position)
