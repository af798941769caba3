# What the express way reads and answers offset commits with.

from moldau._speed.source cimport Source

cdef object read_commit(Source *s, int version)
cpdef bytes encode_commit(int version, int correlation_id, list topics, int error)
