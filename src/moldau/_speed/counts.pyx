"""What comes in and goes out by topic: numbers that every request moves, so they are kept as machine words."""

from libc.stdint cimport int64_t


cdef class Traffic:
    """Of one topic on this broker, since it holds a partition of it."""

    cpdef void took(self, int64_t size, int64_t records) noexcept:
        """A batch was appended."""
        self.produces += 1
        self.bytes_in += size
        self.messages_in += records

    cpdef void refused(self) noexcept:
        self.produces += 1
        self.failed_produces += 1

    cpdef void gave(self, int64_t size) noexcept:
        """A partition was read for a client."""
        self.fetches += 1
        self.bytes_out += size


def count_reads(list traffics not None, list results not None, bint follower):
    """What a fetch came to: `results` as `replica/reads` has them, and the traffic of each one's topic, if known."""
    cdef Traffic traffic
    cdef tuple result
    cdef Py_ssize_t place
    for place in range(min(len(traffics), len(results))):
        found = traffics[place]
        if found is None:
            continue
        traffic = <Traffic?> found
        result = <tuple> results[place]
        traffic.fetches += 1
        if result[2]:
            traffic.failed_fetches += 1
        elif follower:
            traffic.replica_bytes_out += len(result[8])
        else:
            traffic.bytes_out += len(result[8])
