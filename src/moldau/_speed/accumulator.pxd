# The C face of the accumulator: Java's hash of a key, for other kernels that choose partitions.

from libc.stdint cimport uint8_t, uint32_t

cdef uint32_t hash_of(const uint8_t *p, Py_ssize_t length) noexcept nogil
