# Where batches lie, for other kernels that read them.

from libc.stdint cimport int64_t

from moldau._speed.plain_fetch cimport Part

cdef bint locate(
    object local, object segments, int64_t offset, int64_t limit, int64_t log_end, Part *part, int64_t *first_size
) except -1
