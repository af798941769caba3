from libc.stdint cimport int64_t, uint8_t

cdef class Record:
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp
    cdef readonly object key
    cdef readonly object value
    cdef list _headers  # None until somebody looks, for those that have none

cdef int judge_plain(
    const uint8_t *batch, Py_ssize_t size, bint needs_key, int64_t earliest, int64_t latest
) noexcept nogil
