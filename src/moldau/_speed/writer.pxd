# The C face of the record writer: what the accumulator appends with.

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef class RecordWriter:
    # The batch grows in `memory` behind room for its header, so that packing an uncompressed one copies it once.
    cdef uint8_t *memory
    cdef Py_ssize_t used
    cdef Py_ssize_t room
    cdef Py_ssize_t max_size
    cdef bint has_fixed_base
    cdef int64_t fixed_base
    cdef readonly int64_t base_timestamp
    cdef readonly int64_t max_timestamp
    cdef readonly int32_t count
    cdef readonly int32_t last_offset_delta

    cpdef clear(self)
    cdef int reserve(self, Py_ssize_t size) except -1
    # `headers` are pairs, or what `pack_headers` made of them.
    cdef int add(self, int64_t offset_delta, int64_t timestamp, key, value, headers) except -1

cdef bytes pack_headers(headers)
