from libc.stdint cimport int64_t

cdef class Record:
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp
    cdef readonly object key
    cdef readonly object value
    cdef list _headers  # None until somebody looks, for those that have none
