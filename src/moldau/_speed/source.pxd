"""A range of bytes read from its start to its end, for parsers that give up instead of raising."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t

from moldau._speed.codec cimport get16, get32, get64


cdef struct Source:
    const uint8_t *base
    const uint8_t *at
    const uint8_t *end
    bint bad            # set once anything did not fit; everything read after that is zero


cdef inline bint has(Source *s, Py_ssize_t count) noexcept nogil:
    if s.bad or count < 0 or s.end - s.at < count:
        s.bad = True
        return False
    return True


cdef inline int16_t take16(Source *s) noexcept nogil:
    if not has(s, 2):
        return 0
    s.at += 2
    return get16(s.at - 2)


cdef inline int32_t take32(Source *s) noexcept nogil:
    if not has(s, 4):
        return 0
    s.at += 4
    return get32(s.at - 4)


cdef inline int64_t take64(Source *s) noexcept nogil:
    if not has(s, 8):
        return 0
    s.at += 8
    return get64(s.at - 8)


cdef inline int8_t take8(Source *s) noexcept nogil:
    if not has(s, 1):
        return 0
    s.at += 1
    return <int8_t>(s.at - 1)[0]


cdef inline int64_t take_unsigned(Source *s) noexcept nogil:
    cdef uint64_t value = 0
    cdef int shift = 0
    cdef uint8_t byte
    while shift < 35:
        if not has(s, 1):
            return 0
        byte = s.at[0]
        s.at += 1
        value |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0x7FFFFFFF:
                s.bad = True
                return 0
            return <int64_t>value
        shift += 7
    s.bad = True
    return 0


cdef inline int64_t take_count(Source *s, bint flexible) noexcept nogil:
    """The length of an array; -1 for null. Each element takes at least one byte, which bounds it by the frame."""
    cdef int64_t count = take_unsigned(s) - 1 if flexible else take32(s)
    if count < -1 or count > s.end - s.at:
        s.bad = True
    return count


cdef inline void skip_tags(Source *s) noexcept nogil:
    """Only an empty set of tagged fields is a case for this file."""
    if take_unsigned(s) != 0:
        s.bad = True
