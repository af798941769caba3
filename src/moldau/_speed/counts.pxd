"""Shared with the kernels that serve requests from end to end, and count them where they do."""

from libc.stdint cimport int64_t


cdef class Traffic:
    cdef public int64_t produces
    cdef public int64_t failed_produces
    cdef public int64_t bytes_in
    cdef public int64_t messages_in
    cdef public int64_t fetches
    cdef public int64_t failed_fetches
    cdef public int64_t bytes_out
    cdef public int64_t replica_bytes_out
    cpdef void took(self, int64_t size, int64_t records) noexcept
    cpdef void refused(self) noexcept
    cpdef void gave(self, int64_t size) noexcept
