# The C face of a sent record, for the accumulator that makes one per record.

from libc.stdint cimport int32_t, int64_t


cdef class SentRecord:
    cdef public object delivery
    cdef public int64_t stamp
    cdef public int32_t index
    cdef public int32_t serialized_key_size
    cdef public int32_t serialized_value_size
    cdef public int32_t serialized_header_size

    cdef Delivery followed(self)
    cdef bint told(self, callback, bint on_error) except -1


cdef class Delivery:
    cdef readonly object topic
    cdef readonly object partition
    cdef readonly bint done
    cdef readonly int64_t base_offset
    cdef readonly int64_t append_time
    cdef readonly object error
    cdef readonly object record_errors
    cdef readonly tuple parts
    cdef object where
    cdef list callbacks
    cdef list errbacks
    cdef list gates
    cdef bint over

    cdef bint keep(self, SentRecord record, callback, bint on_error) except -1
    cdef object describe(self, SentRecord record)
    cdef object failure(self, SentRecord record)
    cdef int end(self) except -1
