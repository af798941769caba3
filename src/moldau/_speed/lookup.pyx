"""The search in an offset index: a binary search over its bytes. The twin in `reference` says what is meant."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t

from moldau._speed.lookup cimport ENTRY_SIZE, POSITION_AT, count_up_to


cdef Py_ssize_t search(object view, Py_ssize_t count, Py_ssize_t column, int64_t value) except -1:
    cdef Py_buffer buffer
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    try:
        if count < 0 or count * ENTRY_SIZE > buffer.len:
            raise ValueError(f"there are no {count} entries in {buffer.len} bytes")
        return count_up_to(<const uint8_t *> buffer.buf, count, column, value)
    finally:
        PyBuffer_Release(&buffer)


def entries_up_to(view not None, Py_ssize_t count, int64_t offset):
    return search(view, count, 0, offset)


def entries_before(view not None, Py_ssize_t count, int64_t position):
    return search(view, count, POSITION_AT, position - 1)
