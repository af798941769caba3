"""Plain fetches: a Fetch request without a session, for some partitions of one topic, from its bytes to its answer's.

What a reader in the midst of a log asks for is found with a search in the mapped index and a look at one header or
two, and short records are read straight into the answer, which then leaves with one system call.

Everything else goes the readable way (`server/apis/fetch`, `replica/reads`, `storage/log`), which is the specification
of this one: sessions, followers, refusals, waiting, batches of an old format, a segment or an index that is not open,
an index that does not fit, a limit inside a segment, aborted transactions. Nothing has been changed then.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.ref cimport PyObject, Py_XDECREF, Py_XINCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from moldau._speed.codec cimport (
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LENGTH_AT,
    PREFIX_SIZE,
    check_batch,
    get32,
    get64,
)
from moldau._speed.counts cimport Traffic
from moldau._speed.lookup cimport ENTRY_SIZE, POSITION_AT, count_up_to
from moldau._speed.plain_fetch cimport (
    BY_ID,
    FIRST_VERSION,
    LAST_VERSION,
    MOST_PARTITIONS,
    Asked,
    Fields,
    Part,
    Request,
    read_request,
    write_fields,
)
from moldau._speed.source cimport Source

from moldau.errors import KafkaError

cdef extern from "<unistd.h>" nogil:
    ssize_t pread(int fd, void *to, size_t size, int64_t position)

cdef enum:
    # What one look at the file brings: a little more than an index interval.
    CHUNK = 5120
    # Batches from this size on are stepped over header by header.
    LARGE = 1024
    # Records up to this size are copied into the answer; more of them stay in their file until the network sends them.
    MOST_COPIED = 65536


# ------------------------------------------------------------------------------------------------ finding the batches

cdef inline bint is_header(const uint8_t *p, int64_t left) noexcept nogil:
    """Whether the header of a sane batch stands at `p`, and the batch ends within `left` bytes."""
    cdef int64_t size = <int64_t> get32(p + LENGTH_AT) + PREFIX_SIZE
    return HEADER_SIZE <= size <= left and check_batch(p, <Py_ssize_t> size, False) == 0


cdef bint find_batch(
    int fd, const uint8_t *entries, Py_ssize_t count, int64_t base, int64_t end, int64_t offset,
    int64_t *position, int64_t *size
) noexcept nogil:
    """The first batch that ends at or after `offset`; False where only the readable way can tell."""
    cdef uint8_t chunk[CHUNK]
    cdef Py_ssize_t slot = count_up_to(entries, count, 0, offset - base)
    cdef int64_t start = get32(entries + (slot - 1) * ENTRY_SIZE + POSITION_AT) if slot else 0
    cdef int64_t stop = end, at = start, inside, whole, first
    cdef bint step = False
    cdef ssize_t got
    if start < 0 or start >= end:
        return False
    if slot < count:
        stop = get32(entries + slot * ENTRY_SIZE + POSITION_AT)
        if stop <= start or stop >= end:
            return False
        if stop - start > CHUNK - HEADER_SIZE:
            # Large batches: most often it is the one of the next entry.
            step = True
            if pread(fd, chunk, HEADER_SIZE, stop) != HEADER_SIZE or not is_header(chunk, end - stop):
                return False
            first = get64(chunk)
            if first + get32(chunk + LAST_OFFSET_DELTA_AT) != base + get32(entries + slot * ENTRY_SIZE):
                return False
            if first <= offset:
                position[0] = stop
                size[0] = <int64_t> get32(chunk + LENGTH_AT) + PREFIX_SIZE
                return True
    while at < end:
        got = pread(fd, chunk, HEADER_SIZE if step else <size_t> min(end - at, <int64_t> CHUNK), at)
        if got < HEADER_SIZE:
            return False
        inside = 0
        whole = 0
        while got - inside >= HEADER_SIZE:
            if not is_header(chunk + inside, end - at - inside):
                return False
            first = get64(chunk + inside)
            whole = <int64_t> get32(chunk + inside + LENGTH_AT) + PREFIX_SIZE
            if first + get32(chunk + inside + LAST_OFFSET_DELTA_AT) >= offset:
                # An entry that points behind the offset is wrong.
                if start and at + inside == start and first > offset:
                    return False
                position[0] = at + inside
                size[0] = whole
                return True
            inside += whole
        at += inside
        step = whole >= LARGE
    return False


cdef bint locate(object local, object segments, int64_t offset, int64_t limit, int64_t log_end, Part *part,
                 int64_t *first_size) except -1:
    """Where the batches from `offset` on begin, and how many bytes of their segment may be read; the size of the first
    batch if it had to be looked at, else 0. False where the readable way has to."""
    cdef Py_buffer view
    cdef Py_ssize_t entries, count
    cdef int64_t base, end
    cdef bint found
    cdef list bases
    segment = segments.active
    known = None
    first_size[0] = 0
    if offset >= segment.base_offset:
        known = (<dict> local.recent).get(offset)
        if known is None:
            known = (<dict> local.older).get(offset)
    else:
        bases = segments._bases
        count = floor(bases, offset)
        if count == 0:
            return False
        segment = (<list> segments._segments)[count - 1]
        # Up to the limit, which must not lie in this segment.
        if limit < <int64_t> bases[count]:
            return False
    file = segment.file
    end = segment.size
    if file is None or (limit < log_end and segment is segments.active):
        return False
    part.fd = file.fileno()
    if part.fd < 0:
        return False
    if known is not None:
        part.position = known
    else:
        index = segment.offset_index
        entries = index.entries
        if index._map is None and not (index._growing and entries == 0):
            return False
        base = segment.base_offset
        PyObject_GetBuffer(index._view, &view, PyBUF_SIMPLE)
        try:
            if entries * ENTRY_SIZE > view.len:
                return False
            with nogil:
                found = find_batch(
                    part.fd, <const uint8_t *> view.buf, entries, base, end, offset, &part.position, first_size
                )
        finally:
            PyBuffer_Release(&view)
        if not found:
            return False
        if segment is not segments.active:
            segments.used(segment)
    part.length = end - part.position
    Py_XINCREF(<PyObject *> file)
    part.file = <PyObject *> file
    return True


cdef Py_ssize_t floor(list bases, int64_t offset) except -1:
    """How many of the segments begin at or before `offset`."""
    cdef Py_ssize_t low = 0, high = len(bases), middle
    while low < high:
        middle = (low + high) >> 1
        if <int64_t> bases[middle] <= offset:
            low = middle + 1
        else:
            high = middle
    return low


cdef bint read_partition(object partition, Asked *asked, bint committed, int64_t max_bytes, bint at_least_one,
                         Part *part) except -1:
    """False where the readable way has to, for an error perhaps."""
    cdef int64_t limit, log_end, first_size
    cdef uint8_t header[HEADER_SIZE]
    if not partition.is_leader or (asked.leader_epoch != -1 and asked.leader_epoch != partition.leader_epoch):
        return False
    log = partition.log
    local = log.local
    part.partition = asked.partition
    part.high_watermark = local.high_watermark
    part.last_stable = local.last_stable_offset
    part.log_start = local.log_start_offset
    log_end = local.log_end_offset
    if asked.offset < part.log_start or asked.offset > log_end:
        return False
    if asked.fetched_epoch >= 0:
        try:
            if partition._diverging(asked.offset, asked.fetched_epoch) is not None:
                return False
        except KafkaError:
            return False
    limit = part.last_stable if committed else part.high_watermark
    if asked.offset >= limit:
        return True
    segments = log.segments
    if not locate(local, segments, asked.offset, limit, log_end, part, &first_size):
        return False
    if part.length > max_bytes:
        if not first_size:
            if pread(part.fd, header, HEADER_SIZE, part.position) != HEADER_SIZE or not is_header(header, part.length):
                return False
            first_size = <int64_t> get32(header + LENGTH_AT) + PREFIX_SIZE
        if first_size <= max_bytes:
            part.length = max_bytes
        elif at_least_one:
            part.length = first_size
        else:
            part.length = 0
    return not committed or not part.length or is_settled(segments, asked.offset, part, log_end)


cdef bint is_settled(object segments, int64_t offset, Part *part, int64_t log_end) except -1:
    """Whether no transaction that reaches into what is read was aborted."""
    try:
        segment = segments.floor(offset)
        end = segments.end_offset_before(segment, part.position + part.length, log_end)
        return not segments.aborted_between(offset, end)
    except Exception:
        return False  # an index that cannot be read: the readable way meets it again, and says what is wrong


# ------------------------------------------------------------------------------------------------ writing the answer

cdef bytes with_records(Fields *fields, Request *r, Part *parts, int64_t total):
    """The answer with its records in it; None if they could not be read."""
    cdef bytes answer = PyBytes_FromStringAndSize(NULL, fields.size + total)
    cdef uint8_t *p = <uint8_t *> PyBytes_AS_STRING(answer)
    cdef Py_ssize_t taken = 0, at
    cdef int number
    cdef bint whole = True
    with nogil:
        for number in range(r.count):
            at = fields.records_at[number]
            memcpy(p, fields.bytes + taken, at - taken)
            p += at - taken
            taken = at
            if parts[number].length and whole:
                whole = pread(parts[number].fd, p, parts[number].length, parts[number].position) == parts[number].length
            p += parts[number].length
        memcpy(p, fields.bytes + taken, fields.size - taken)
    return answer if whole else None


cdef list in_chunks(Fields *fields, Request *r, Part *parts, object file_slice):
    """The answer whose records stay in their files until they are sent."""
    cdef list chunks = []
    cdef Py_ssize_t taken = 0, at
    cdef int number
    for number in range(r.count):
        if parts[number].length:
            at = fields.records_at[number]
            chunks.append(PyBytes_FromStringAndSize(<const char *> fields.bytes + taken, at - taken))
            chunks.append(file_slice(<object> parts[number].file, parts[number].position, parts[number].length))
            taken = at
    chunks.append(PyBytes_FromStringAndSize(<const char *> fields.bytes + taken, fields.size - taken))
    return chunks


# ------------------------------------------------------------------------------------------------ the whole

def read_plain(
    object replicas, object file_slice, object data, Py_ssize_t start, Py_ssize_t end, int version, int correlation_id,
    int64_t most_bytes
):
    """The chunks of a whole answer, with its length, to the request in `data[start:end]`; None if it is not for this
    file. `most_bytes` is what the broker gives at most, `file_slice` makes a chunk of a file, a position and a length."""
    cdef Py_buffer view
    cdef Source s
    cdef Request r
    if version < FIRST_VERSION or version > LAST_VERSION:
        return None
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if start < 0 or end > view.len or start > end:
            return None
        s.base = <const uint8_t *> view.buf
        s.at = s.base + start
        s.end = s.base + end
        s.bad = False
        r.version = version
        if not read_request(&s, &r):
            return None
        return serve(replicas, file_slice, &r, correlation_id, most_bytes)
    finally:
        PyBuffer_Release(&view)


cdef object serve(object replicas, object file_slice, Request *r, int32_t correlation_id, int64_t most_bytes):
    cdef Part parts[MOST_PARTITIONS]
    cdef Fields fields
    cdef int64_t left = min(<int64_t> r.max_bytes, most_bytes), total = 0
    cdef int64_t min_bytes = min(<int64_t> r.min_bytes, left)
    cdef int number, done = 0
    cdef Traffic traffic
    hosted = find_topic(replicas, r)
    if hosted is None:
        return None
    cdef dict partitions = hosted.partitions
    try:
        for number in range(r.count):
            partition = partitions.get(r.asked[number].partition)
            if partition is None:
                return None
            parts[number].length = 0
            parts[number].file = NULL
            done = number + 1
            if not read_partition(
                partition, &r.asked[number], r.committed, min(<int64_t> r.asked[number].max_bytes, left), total == 0,
                &parts[number]
            ):
                return None
            total += parts[number].length
            left = max(<int64_t> 0, left - parts[number].length)
        if total < min_bytes and r.max_wait > 0:
            return None
        write_fields(&fields, r, parts, correlation_id, total)
        if total > MOST_COPIED:
            chunks = in_chunks(&fields, r, parts, file_slice)
        else:
            answer = with_records(&fields, r, parts, total)
            if answer is None:
                return None
            chunks = [answer]
        traffic = <Traffic?> hosted.traffic
        traffic.fetches += r.count
        traffic.bytes_out += total
        return chunks
    finally:
        for number in range(done):
            Py_XDECREF(parts[number].file)


cdef object find_topic(object replicas, Request *r):
    if r.version >= BY_ID:
        return (<dict> replicas.by_id).get(PyBytes_FromStringAndSize(<const char *> r.topic, 16))
    try:
        return (<dict> replicas.by_name).get(PyUnicode_DecodeUTF8(<const char *> r.topic, r.topic_size, NULL))
    except UnicodeDecodeError:
        return None
