"""Records as a consumer hands them out, compiled. `reference/consumed.py` says what and why."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t

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
from moldau._speed.reference.consumed import ConsumerRecord


cdef extern from *:
    """
    static PyObject *new_tuple(PyTypeObject *type, Py_ssize_t size) { return type->tp_alloc(type, size); }

    /* Not for the collector: an application would have to put a record inside its own value to make a cycle. Thousands
       of them per poll would otherwise set it off all the time. */
    static void leave_alone(PyObject *made) {
        if (PyObject_GC_IsTracked(made))
            PyObject_GC_UnTrack(made);
    }
    """
    object new_tuple(PyTypeObject *type, Py_ssize_t size)
    void leave_alone(object made)


cdef extern from "Python.h":
    # Both return whether it was enabled.
    int PyGC_Disable()
    int PyGC_Enable()


cdef inline void put(object target, Py_ssize_t at, object item) noexcept:
    Py_INCREF(item)
    PyTuple_SET_ITEM(target, at, item)


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
    cdef object partition
    cdef object leader_epoch
    cdef object timestamp_type
    cdef object timestamp
    cdef object value_size
    cdef int64_t last_timestamp
    cdef int32_t last_value_size

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
        cdef bint enabled
        if self.key_deserializer is not None or self.value_deserializer is not None:
            self.append_records(records, most)
            return records
        # The collector counts what is made, tracked or not, and would come by every few hundred records to find nothing;
        # every so often it would go over all objects of the program. It comes by once, when all of them are made. Nobody
        # else runs meanwhile, so nobody sees that it is switched off.
        enabled = PyGC_Disable()
        try:
            self.append_records(records, most)
        finally:
            if enabled:
                PyGC_Enable()
        return records

    cdef int append_records(self, list records, Py_ssize_t most) except -1:
        cdef record_parts parts
        cdef const uint8_t *after
        cdef int code = 0
        while self.left and most > 0:
            after = next_record(&self.frame, self.next, self.stop, -1, &parts, &code)
            if after == NULL:
                raise fault(code, self.next - <const uint8_t *> self.view.buf)
            if parts.offset >= self.first_offset:
                records.append(self.record(&parts, after))
                most -= 1
            self.next = after
            self.left -= 1
        if not self.left and self.next != self.stop:
            raise fault(FAULT_TRAILING, self.next - <const uint8_t *> self.view.buf)
        return 0

    cdef object record(self, record_parts *parts, const uint8_t *end):
        cdef object key = bytes_or_none(parts.key, parts.key_size)
        cdef object value = bytes_or_none(parts.value, parts.value_size)
        cdef list headers = []
        cdef int32_t header_size = -1
        cdef object made
        cdef bint plain = self.key_deserializer is None and self.value_deserializer is None
        if self.key_deserializer is not None:
            key = self.key_deserializer(key)
        if self.value_deserializer is not None:
            value = self.value_deserializer(value)
        if parts.header_count:
            header_size = read_headers(headers, parts, end)
        # What records of a batch have in common is made once.
        if parts.timestamp != self.last_timestamp or self.timestamp is None:
            self.last_timestamp = parts.timestamp
            self.timestamp = parts.timestamp
        if parts.value_size != self.last_value_size or self.value_size is None:
            self.last_value_size = parts.value_size
            self.value_size = max(-1, parts.value_size)
        made = new_tuple(<PyTypeObject *> ConsumerRecord, 13)
        put(made, 0, self.topic)
        put(made, 1, self.partition)
        put(made, 2, self.leader_epoch)
        put(made, 3, parts.offset)
        put(made, 4, self.timestamp)
        put(made, 5, self.timestamp_type)
        put(made, 6, key)
        put(made, 7, value)
        put(made, 8, headers)
        put(made, 9, None)
        put(made, 10, max(-1, parts.key_size))
        put(made, 11, self.value_size)
        put(made, 12, header_size)
        if plain:
            leave_alone(headers)
            leave_alone(made)
        return made


cdef int32_t read_headers(list headers, record_parts *parts, const uint8_t *end) except -2:
    cdef int32_t key_size = 0, value_size = 0, index, total = 0
    cdef const uint8_t *key = NULL
    cdef const uint8_t *value = NULL
    cdef const uint8_t *p = parts.headers
    for index in range(parts.header_count):
        p = take_header(p, end, &key, &key_size, &value, &value_size)
        if p == NULL:
            break
        headers.append((
            PyUnicode_DecodeUTF8(<char *> key, key_size, "surrogateescape"),
            bytes_or_none(value, value_size),
        ))
        total += key_size + max(value_size, 0)
    return total
