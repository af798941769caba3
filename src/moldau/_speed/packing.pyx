"""Columns of records into batches, compiled. `reference/packing.py` says what and why.

All checks of the buffers are made when the packer is built; the walks afterwards read without asking. They run without
the GIL: `assign` sorts the rows by partition (a counting sort), `fill` first measures how many rows fit, makes room
once, and then writes them.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from moldau._speed.accumulator cimport hash_of
from moldau._speed.codec cimport put_varlong, size_of_varlong
from moldau._speed.writer cimport RecordWriter

from moldau._speed.reference.packing import NoSuchPartition

cdef extern from *:
    """
    static inline int sub_overflow64(int64_t a, int64_t b, int64_t *gap) { return __builtin_sub_overflow(a, b, gap); }
    /* Rounded down, also before 1970. */
    static inline int64_t to_milliseconds(int64_t us) { return us / 1000 - (us % 1000 < 0); }
    """
    bint sub_overflow64(int64_t a, int64_t b, int64_t *gap) nogil
    int64_t to_milliseconds(int64_t us) nogil

# As in the twin.
cdef enum:
    ROW_OVERHEAD = 8

cdef enum:
    SOUND
    SHORT_VALIDITY
    SHORT_BYTES
    SHORT_NUMBERS
    BAD_OFFSETS
    NO_HEADER_KEY

_SENTENCES = {
    SHORT_VALIDITY: "the validity bits of a column end too early",
    SHORT_BYTES: "a column of bytes ends too early",
    SHORT_NUMBERS: "a column of numbers ends too early",
    BAD_OFFSETS: "the offsets of a column point outside its data",
    NO_HEADER_KEY: "a header has no key",
}


cdef struct Column:
    bint present
    const uint8_t *validity  # NULL: every row is valid
    const uint8_t *offsets  # NULL for numbers
    const uint8_t *data
    Py_ssize_t start


cdef inline int32_t number_at(const uint8_t *p, Py_ssize_t index) noexcept nogil:
    cdef int32_t value
    memcpy(&value, p + 4 * index, 4)
    return value


cdef inline bint is_valid(const Column *column, Py_ssize_t row) noexcept nogil:
    cdef Py_ssize_t at = column.start + row
    return column.validity == NULL or (column.validity[at >> 3] >> (at & 7)) & 1


cdef inline const uint8_t *bytes_at(const Column *column, Py_ssize_t row, int64_t *size) noexcept nogil:
    """The size is -1 where the row is null or the column is missing."""
    cdef int32_t first
    if not column.present or not is_valid(column, row):
        size[0] = -1
        return NULL
    first = number_at(column.offsets, column.start + row)
    size[0] = number_at(column.offsets, column.start + row + 1) - first
    return column.data + first


cdef inline uint64_t mix(uint64_t state, uint64_t word) noexcept nogil:
    state = (state ^ word) * <uint64_t> 0x9E3779B97F4A7C15
    return state ^ (state >> 32)


cdef inline uint64_t mix_bytes(uint64_t state, const Column *column, Py_ssize_t row) noexcept nogil:
    cdef int64_t size, at = 0
    cdef uint64_t word
    cdef const uint8_t *content = bytes_at(column, row, &size)
    state = mix(state, <uint64_t> size)
    while at + 8 <= size:
        memcpy(&word, content + at, 8)
        state = mix(state, word)
        at += 8
    if at < size:
        word = 0
        memcpy(&word, content + at, size - at)
        state = mix(state, word)
    return state


cdef int check_offsets(const Column *column, Py_ssize_t rows, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t at
    cdef int32_t before = 0, here
    for at in range(column.start, column.start + rows + 1):
        here = number_at(column.offsets, at)
        if here < before or here > size:
            return BAD_OFFSETS
        before = here
    return SOUND


cdef class RowPacker:
    cdef Py_ssize_t rows
    cdef Py_ssize_t selected
    cdef Py_ssize_t count
    cdef Column keys
    cdef Column values
    cdef Column headers
    cdef Column header_keys
    cdef Column header_values
    cdef Column partitions
    cdef Column timestamps
    cdef const uint8_t *select
    # Three each of keys, values, header keys and header values, two each of headers, partitions and timestamps, and the
    # selection.
    cdef Py_buffer views[19]
    cdef int opened
    # Rows in the order of their partitions; those of partition p are order[starts[p]] to order[starts[p + 1]].
    cdef int32_t *order
    cdef int32_t *starts
    cdef int32_t *cursors
    cdef bint walking

    def __cinit__(self, rows, key, value, headers=None, partition=None, select=None, timestamp=None):
        cdef Py_ssize_t length, entries
        if not 0 <= rows < INT32_MAX:
            raise ValueError("a batch of columns has fewer than 2 billion rows")
        self.rows = rows
        self.count = 0
        if key is not None:
            self.open_bytes(&self.keys, self.rows, key.validity, key.offsets, key.data, key.start)
        if value is not None:
            self.open_bytes(&self.values, self.rows, value.validity, value.offsets, value.data, value.start)
        if headers is not None:
            self.open_headers(headers)
        if partition is not None:
            self.open_numbers(&self.partitions, partition, 4)
        if timestamp is not None:
            self.open_numbers(&self.timestamps, timestamp, 8)
        self.selected = self.rows
        if select is not None:
            self.select = self.open(select, &length)
            self.selected = length // 4
            for entries in range(self.selected):
                if not 0 <= number_at(self.select, entries) < self.rows:
                    raise ValueError("a row is selected that is not there")
            if self.select == NULL:
                # An empty buffer may lie nowhere, which must not be taken for "all rows".
                self.select = <const uint8_t *> b""

    def __dealloc__(self):
        cdef int each
        for each in range(self.opened):
            PyBuffer_Release(&self.views[each])
        PyMem_RawFree(self.order)
        PyMem_RawFree(self.starts)
        PyMem_RawFree(self.cursors)

    cdef const uint8_t *open(self, data, Py_ssize_t *length) except? NULL:
        PyObject_GetBuffer(data, &self.views[self.opened], PyBUF_SIMPLE)
        self.opened += 1
        length[0] = self.views[self.opened - 1].len
        return <const uint8_t *> self.views[self.opened - 1].buf

    cdef int open_validity(self, Column *column, Py_ssize_t rows, validity, start, int fault) except -1:
        cdef Py_ssize_t length
        if start < 0:
            raise ValueError(_SENTENCES[fault])
        # No start beyond what any buffer could hold, so that nothing below can overflow.
        if start > INT32_MAX:
            raise ValueError(_SENTENCES[SHORT_VALIDITY])
        column.start = start
        if validity is not None:
            column.validity = self.open(validity, &length)
            if 8 * length < column.start + rows:
                raise ValueError(_SENTENCES[SHORT_VALIDITY])
        return 0

    cdef int open_offsets(self, Column *column, Py_ssize_t rows, offsets, Py_ssize_t size) except -1:
        cdef Py_ssize_t length
        cdef int fault = SOUND
        column.offsets = self.open(offsets, &length)
        if rows:
            if length // 4 < column.start + rows + 1:
                raise ValueError(_SENTENCES[SHORT_BYTES])
            with nogil:
                fault = check_offsets(column, rows, size)
            if fault != SOUND:
                raise ValueError(_SENTENCES[fault])
        column.present = True
        return 0

    cdef int open_bytes(self, Column *column, Py_ssize_t rows, validity, offsets, data, start) except -1:
        cdef Py_ssize_t size
        self.open_validity(column, rows, validity, start, SHORT_VALIDITY)
        column.data = self.open(data, &size)
        return self.open_offsets(column, rows, offsets, size)

    cdef int open_numbers(self, Column *column, given, Py_ssize_t width) except -1:
        cdef Py_ssize_t length
        self.open_validity(column, self.rows, given.validity, given.start, SHORT_NUMBERS)
        column.data = self.open(given.data, &length)
        if length < width * (column.start + self.rows):
            raise ValueError(_SENTENCES[SHORT_NUMBERS])
        column.present = True
        return 0

    cdef int open_headers(self, given) except -1:
        cdef Py_ssize_t entries, row, entry
        cdef int fault = SOUND
        self.open_validity(&self.headers, self.rows, given.validity, given.start, SHORT_VALIDITY)
        if not 0 <= given.entries < INT32_MAX:
            raise ValueError(_SENTENCES[SHORT_BYTES])
        entries = given.entries
        self.open_offsets(&self.headers, self.rows, given.offsets, entries)
        keys, values = given.keys, given.values
        self.open_bytes(&self.header_keys, entries, keys.validity, keys.offsets, keys.data, keys.start)
        self.open_bytes(&self.header_values, entries, values.validity, values.offsets, values.data, values.start)
        if self.header_keys.validity == NULL:
            return 0
        with nogil:
            for row in range(self.rows):
                if is_valid(&self.headers, row):
                    for entry in range(
                        number_at(self.headers.offsets, self.headers.start + row),
                        number_at(self.headers.offsets, self.headers.start + row + 1),
                    ):
                        if not is_valid(&self.header_keys, entry):
                            fault = NO_HEADER_KEY
        if fault != SOUND:
            raise ValueError(_SENTENCES[fault])
        return 0

    def assign(self, count, sticky, turn, room, stick, bint by_key=True):
        cdef Py_ssize_t several = len(sticky), at, row
        cdef int64_t left = room, share = stick, size
        cdef Py_ssize_t place
        cdef int32_t partitions, where = 0
        cdef int32_t *choices
        cdef int32_t *chosen
        cdef int32_t *starts
        cdef int32_t *cursors
        cdef int32_t *order
        cdef const uint8_t *key
        cdef bint refused = False
        if not 0 < count <= INT32_MAX:
            raise ValueError("a topic has at least one partition")
        if not several or any(not 0 <= one < count for one in sticky) or not 0 <= turn < several:
            raise ValueError("rows without a key need partitions to go to")
        if self.walking:
            raise RuntimeError("another thread is using this packer")
        partitions = count
        place = turn
        choices = <int32_t *> PyMem_RawMalloc(4 * several)
        chosen = <int32_t *> PyMem_RawMalloc(4 * max(self.selected, 1))
        order = <int32_t *> PyMem_RawMalloc(4 * max(self.selected, 1))
        starts = <int32_t *> PyMem_RawCalloc(<size_t> partitions + 1, 4)
        cursors = <int32_t *> PyMem_RawMalloc(4 * <size_t> partitions)
        try:
            if choices == NULL or chosen == NULL or order == NULL or starts == NULL or cursors == NULL:
                raise MemoryError
            for at in range(several):
                choices[at] = sticky[at]
            self.walking = True
            with nogil:
                for at in range(self.selected):
                    row = at if self.select == NULL else number_at(self.select, at)
                    if self.partitions.present and is_valid(&self.partitions, row):
                        where = number_at(self.partitions.data, self.partitions.start + row)
                        if where < 0 or where >= partitions:
                            refused = True
                            break
                    else:
                        key = bytes_at(&self.keys, row, &size)
                        if size >= 0 and by_key:
                            where = <int32_t> ((hash_of(key, size) & 0x7FFFFFFF) % partitions)
                        else:
                            if left <= 0:
                                place = place + 1 if place + 1 < several else 0
                                left = share
                            where = choices[place]
                            bytes_at(&self.values, row, &size)
                            left -= max(size, 0) + ROW_OVERHEAD
                    chosen[at] = where
                    starts[where + 1] += 1
                if not refused:
                    for at in range(partitions):
                        starts[at + 1] += starts[at]
                        cursors[at] = starts[at]
                    for at in range(self.selected):
                        where = chosen[at]
                        order[cursors[where]] = <int32_t> (at if self.select == NULL else number_at(self.select, at))
                        cursors[where] += 1
                    for at in range(partitions):
                        cursors[at] = starts[at]
            self.walking = False
            if refused:
                raise NoSuchPartition(where, count)
            self.order, order = order, self.order
            self.starts, starts = starts, self.starts
            self.cursors, cursors = cursors, self.cursors
            self.count = partitions
        finally:
            PyMem_RawFree(choices)
            PyMem_RawFree(chosen)
            PyMem_RawFree(order)
            PyMem_RawFree(starts)
            PyMem_RawFree(cursors)
        return place, left

    def left(self, partition):
        self.check(partition)
        return self.starts[<Py_ssize_t> partition + 1] - self.cursors[<Py_ssize_t> partition]

    def fill(self, partition, RecordWriter writer not None, int64_t timestamp):
        cdef Py_ssize_t where, first, last, at
        cdef int64_t base, gap, delta, used, body, limit, moment = timestamp, latest
        cdef bint timed = self.timestamps.present, overflowed = False
        cdef uint8_t *p
        self.check(partition)
        if self.walking:
            raise RuntimeError("another thread is using this packer")
        where = partition
        first = self.cursors[where]
        last = self.starts[where + 1]
        if first == last:
            return 0
        if timed:
            moment = self.moment_of(self.order[first], timestamp)
        base = moment if writer.count == 0 and not writer.has_fixed_base else writer.base_timestamp
        if sub_overflow64(moment, base, &gap):
            raise OverflowError("the timestamp does not fit 64 bits")
        latest = moment if writer.count == 0 else max(writer.max_timestamp, moment)
        used = writer.used
        delta = <int64_t> writer.last_offset_delta + 1
        self.walking = True
        with nogil:
            for at in range(first, last):
                if timed:
                    moment = self.moment_of(self.order[at], timestamp)
                    if sub_overflow64(moment, base, &gap):
                        overflowed = True
                        break
                body = self.size_of_row(self.order[at], gap, delta + at - first)
                body += size_of_varlong(body)
                limit = writer.max_size if writer.count or at > first else INT32_MAX
                if used + body > limit or delta + at - first >= INT32_MAX:
                    last = at
                    break
                used += body
        self.walking = False
        if overflowed:
            raise OverflowError("the timestamp does not fit 64 bits")
        if last == first:
            if not writer.count:
                raise OverflowError("the record is larger than a batch can be")
            return 0
        if used > writer.room:
            writer.reserve(used)
        p = writer.memory + writer.used
        self.walking = True
        with nogil:
            for at in range(first, last):
                if timed:
                    moment = self.moment_of(self.order[at], timestamp)
                    gap = moment - base
                    if moment > latest:
                        latest = moment
                p = self.put_row(p, self.order[at], gap, delta + at - first)
        self.walking = False
        writer.max_timestamp = latest
        writer.used = used
        writer.base_timestamp = base
        writer.count += <int32_t> (last - first)
        writer.last_offset_delta += <int32_t> (last - first)
        self.cursors[where] = <int32_t> last
        return last - first

    def digest(self, uint64_t seed):
        cdef uint64_t total = 0
        cdef Py_ssize_t at
        if self.walking:
            raise RuntimeError("another thread is using this packer")
        self.walking = True
        with nogil:
            for at in range(self.selected):
                total += self.digest_of(at if self.select == NULL else number_at(self.select, at), seed)
        self.walking = False
        return self.selected, total

    cdef uint64_t digest_of(self, Py_ssize_t row, uint64_t state) noexcept nogil:
        cdef Py_ssize_t entry, first = 0, last = 0
        cdef int64_t number
        state = mix_bytes(state, &self.keys, row)
        state = mix_bytes(state, &self.values, row)
        if self.headers.present and is_valid(&self.headers, row):
            first = number_at(self.headers.offsets, self.headers.start + row)
            last = number_at(self.headers.offsets, self.headers.start + row + 1)
        state = mix(state, last - first)
        for entry in range(first, last):
            state = mix_bytes(state, &self.header_keys, entry)
            state = mix_bytes(state, &self.header_values, entry)
        if self.partitions.present and is_valid(&self.partitions, row):
            state = mix(state, number_at(self.partitions.data, self.partitions.start + row))
        if self.timestamps.present and is_valid(&self.timestamps, row):
            memcpy(&number, self.timestamps.data + 8 * (self.timestamps.start + row), 8)
            state = mix(state, <uint64_t> number)
        return mix(state, state >> 29)

    cdef int check(self, partition) except -1:
        if not 0 <= partition < self.count:
            raise ValueError("rows have not been assigned to this partition")
        return 0

    cdef inline int64_t moment_of(self, Py_ssize_t row, int64_t otherwise) noexcept nogil:
        cdef int64_t value
        if not is_valid(&self.timestamps, row):
            return otherwise
        memcpy(&value, self.timestamps.data + 8 * (self.timestamps.start + row), 8)
        return to_milliseconds(value)

    cdef int64_t size_of_row(self, Py_ssize_t row, int64_t gap, int64_t delta) noexcept nogil:
        """The record without its length."""
        cdef int64_t key_size, value_size, size
        cdef Py_ssize_t entry, first, last
        bytes_at(&self.keys, row, &key_size)
        bytes_at(&self.values, row, &value_size)
        size = 1 + size_of_varlong(gap) + size_of_varlong(delta)
        size += size_of_varlong(key_size) + max(key_size, 0) + size_of_varlong(value_size) + max(value_size, 0)
        if not self.headers.present or not is_valid(&self.headers, row):
            return size + 1
        first = number_at(self.headers.offsets, self.headers.start + row)
        last = number_at(self.headers.offsets, self.headers.start + row + 1)
        size += size_of_varlong(last - first)
        for entry in range(first, last):
            bytes_at(&self.header_keys, entry, &key_size)
            bytes_at(&self.header_values, entry, &value_size)
            size += size_of_varlong(key_size) + key_size + size_of_varlong(value_size) + max(value_size, 0)
        return size

    cdef uint8_t *put_row(self, uint8_t *p, Py_ssize_t row, int64_t gap, int64_t delta) noexcept nogil:
        cdef Py_ssize_t entry, first, last
        p = put_varlong(p, self.size_of_row(row, gap, delta))
        p[0] = 0
        p = put_varlong(p + 1, gap)
        p = put_varlong(p, delta)
        p = put_bytes(p, &self.keys, row)
        p = put_bytes(p, &self.values, row)
        if not self.headers.present or not is_valid(&self.headers, row):
            p[0] = 0
            return p + 1
        first = number_at(self.headers.offsets, self.headers.start + row)
        last = number_at(self.headers.offsets, self.headers.start + row + 1)
        p = put_varlong(p, last - first)
        for entry in range(first, last):
            p = put_bytes(p, &self.header_keys, entry)
            p = put_bytes(p, &self.header_values, entry)
        return p


cdef inline uint8_t *put_bytes(uint8_t *p, const Column *column, Py_ssize_t row) noexcept nogil:
    cdef int64_t size
    cdef const uint8_t *content = bytes_at(column, row, &size)
    p = put_varlong(p, size)
    if size > 0:
        memcpy(p, content, size)
        p += size
    return p
