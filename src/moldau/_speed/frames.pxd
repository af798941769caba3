# What other kernels read and write frames with.

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t

from moldau._speed.source cimport Source

cdef object take_string(Source *s, bint flexible, bint nullable)
cdef object take_topic(Source *s, bint flexible, bint by_id)


cdef class Sink:
    cdef uint8_t *start
    cdef Py_ssize_t size
    cdef Py_ssize_t capacity

    cdef uint8_t *more(self, Py_ssize_t count) except NULL
    cdef int int16(self, int16_t value) except -1
    cdef int int32(self, int32_t value) except -1
    cdef int int64(self, int64_t value) except -1
    cdef int varint(self, uint64_t value) except -1
    cdef int count(self, int64_t count, bint flexible) except -1
    cdef int topic(self, object topic, bint flexible, bint by_id) except -1
    cdef bytes taken(self)
