"""The search in an offset index, for the kernels beside this one."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from moldau._speed.codec cimport get32

cdef enum:
    ENTRY_SIZE = 8
    POSITION_AT = 4


cdef inline Py_ssize_t count_up_to(const uint8_t *entries, Py_ssize_t count, Py_ssize_t column, int64_t value) noexcept nogil:
    """How many of the entries have at most `value` in the column; both only grow."""
    cdef Py_ssize_t low = 0, high = count, middle
    while low < high:
        middle = (low + high) >> 1
        if get32(entries + middle * ENTRY_SIZE + column) <= value:
            low = middle + 1
        else:
            high = middle
    return low
