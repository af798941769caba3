"""What a follower that waits at the end of a log is answered as soon as there is something: producers wait for him.

His session says what he reads; the answer holds what is new of it, records and all, in one piece. As with the plain
fetches of consumers (`plain_read`) the readable way is the specification (`replica/reads`, `server/fetch_sessions`),
and is left whatever is not plain: a refusal, a log that may have parted from ours, a replica that catches up and may be
throttled, more records than fit a short answer. Nothing has been changed then.
"""

from cpython.ref cimport PyObject, Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uint8_t

from moldau._speed.codec cimport put32
from moldau._speed.counts cimport Traffic
from moldau._speed.frames cimport Sink
from moldau._speed.plain_fetch cimport Part
from moldau._speed.plain_read cimport locate

cdef extern from "<unistd.h>" nogil:
    ssize_t pread(int fd, void *to, size_t size, int64_t position)

cdef enum:
    # From this version on topics go by their ids, and a follower says where he is in the words that are read here.
    FIRST_VERSION = 13
    LAST_VERSION = 18
    MOST_PARTITIONS = 64
    # Records up to this size are copied into the answer.
    MOST_COPIED = 65536


def answer_follower(
    object replicas, object session, int64_t session_epoch, list asked, int32_t follower, int version,
    int32_t correlation_id, int64_t max_bytes
):
    """The chunks of a whole answer, with its length, to the fetch of `asked` by which the session came to this epoch;
    None if it is not for this file."""
    cdef Part parts[MOST_PARTITIONS]
    cdef Py_ssize_t count = len(asked), place, done = 0
    cdef int64_t left = max_bytes, total = 0
    cdef list cached = []
    cdef list traffics = []
    if version < FIRST_VERSION or version > LAST_VERSION or count > MOST_PARTITIONS or session.epoch != session_epoch:
        return None
    remembered = session._partitions
    try:
        for place in range(count):
            parts[place].file = NULL
            done = place + 1
            known = (<dict> remembered).get((asked[place][0], asked[place][1]))
            if known is None or not look(replicas, asked[place], follower, left, &parts[place], traffics):
                return None
            cached.append(known)
            total += parts[place].length
            left -= parts[place].length
        if total > MOST_COPIED:
            return None
        answer = write(session, asked, cached, parts, version, correlation_id)
        if answer is None:
            return None
        for place in range(count):
            count_read(<Traffic?> traffics[place], parts[place].length)
            tell(session, asked[place], cached[place], &parts[place])
        return [answer]
    finally:
        for place in range(done):
            Py_XDECREF(parts[place].file)


cdef bint look(object replicas, object asked, int32_t follower, int64_t left, Part *part, list traffics) except -1:
    """Finds what there is of one partition; False where only the readable way can tell."""
    cdef int64_t offset, log_end, most, first_size, leader_epoch, fetched_epoch
    topic, index, offset, most, leader_epoch, _, fetched_epoch = asked
    hosted = (<dict> replicas.by_id).get(topic)
    partition = None if hosted is None else (<dict> hosted.partitions).get(index)
    if partition is None or not partition.is_leader or follower not in partition.isr:
        return False
    if (leader_epoch != -1 and leader_epoch != partition.leader_epoch) or follower not in partition.followers:
        return False
    log = partition.log
    local = log.local
    log_end = local.log_end_offset
    part.partition = index
    part.high_watermark = local.high_watermark
    part.last_stable = local.last_stable_offset
    part.log_start = local.log_start_offset
    part.length = 0
    if offset < part.log_start or offset > log_end:
        return False
    # With another last epoch the logs may have parted.
    if fetched_epoch >= 0 and fetched_epoch != log.epochs.latest_epoch:
        return False
    if offset < log_end:
        if not locate(local, log.segments, offset, log_end, log_end, part, &first_size):
            return False
        if part.length <= 0 or part.length > min(most, left):
            return False
    traffics.append(hosted.traffic)
    return True


cdef inline bint is_new(object cached, Part *part) except -1:
    """Whether there is something to say of a partition that the follower was not told before."""
    return part.length > 0 or cached.high_watermark != part.high_watermark or cached.log_start_offset != part.log_start


cdef bytes write(object session, list asked, list cached, Part *parts, int version, int32_t correlation_id):
    """None if the records could not be read."""
    cdef Sink out = Sink()
    cdef Py_ssize_t count = len(asked), place = 0, other, runs = 0, rows
    cdef list told = [number for number in range(count) if is_new(cached[number], &parts[number])]
    cdef Part *part
    count = len(told)
    for place in range(count):
        if place == 0 or asked[told[place]][0] != asked[told[place - 1]][0]:
            runs += 1
    out.int32(0)
    out.int32(correlation_id)
    out.varint(0)
    out.int32(0)
    out.int16(0)
    out.int32(session.id)
    out.count(runs, True)
    place = 0
    while place < count:
        topic = asked[told[place]][0]
        rows = 1
        while place + rows < count and asked[told[place + rows]][0] == topic:
            rows += 1
        out.topic(topic, True, True)
        out.count(rows, True)
        for other in range(place, place + rows):
            part = &parts[<Py_ssize_t> told[other]]
            out.int32(part.partition)
            out.int16(0)
            out.int64(part.high_watermark)
            out.int64(part.last_stable)
            out.int64(part.log_start)
            out.varint(0)  # transactions are the business of consumers
            out.int32(-1)
            out.count(part.length, True)
            if part.length and not read_records(out.more(part.length), part):
                return None
            out.varint(0)
        out.varint(0)
        place += rows
    out.varint(0)
    put32(out.start, <int32_t> (out.size - 4))
    return out.taken()


cdef inline bint read_records(uint8_t *to, Part *part) noexcept:
    return pread(part.fd, to, <size_t> part.length, part.position) == part.length


cdef inline int count_read(Traffic traffic, int64_t size) except -1:
    traffic.fetches += 1
    traffic.replica_bytes_out += size
    return 0


cdef int tell(object session, object asked, object cached, Part *part) except -1:
    """From now on this counts as told; who got records comes last in the next answer (`FetchSession.select`)."""
    if is_new(cached, part):
        cached.high_watermark = part.high_watermark
        cached.log_start_offset = part.log_start
        if part.length > 0:
            session.move_back((asked[0], asked[1]))
    return 0


def read_at_end(object partition, object asked, int32_t follower, int64_t broker_epoch, int64_t now_ms):
    """The result (as `replica/reads` has it) for a follower in sync who stands at the end of a log, and stood there
    when he came last: most of the partitions of most fetches. He is noted down as having been here now. None, and
    nothing has happened, if there is more to it."""
    cdef int64_t offset, leader_epoch, log_start, fetched_epoch
    topic, index, offset, _, leader_epoch, log_start, fetched_epoch = asked
    if not partition.is_leader or follower not in partition.isr:
        return None
    if leader_epoch != -1 and leader_epoch != partition.leader_epoch:
        return None
    known = (<dict> partition.followers).get(follower)
    log = partition.log
    local = log.local
    if known is None or known.end_offset != offset or local.log_end_offset != offset:
        return None
    if fetched_epoch >= 0 and fetched_epoch != log.epochs.latest_epoch:
        return None
    known.fetched(offset, log_start, offset, broker_epoch, now_ms)
    return (
        topic, index, 0, local.high_watermark, local.last_stable_offset, local.log_start_offset, None, -1, b"",
    )


def follower_at_end(object replicas, list asked, int32_t follower, int64_t broker_epoch):
    """A follower in sync asks for partitions of which he has everything: he is noted down as having been here now, in
    the partitions whose high watermark that moves as well. A list of these; None, and nothing has happened, if there is
    more to it."""
    cdef Py_ssize_t count = len(asked), place
    cdef int64_t offset, leader_epoch, fetched_epoch, log_start, now_ms
    cdef list partitions, moved
    if count == 0 or count > MOST_PARTITIONS or replicas.arrivals:
        return None
    rules = replicas.replication.isr
    if broker_epoch != -1 and rules.is_stale(follower, broker_epoch):
        return None
    watched = <dict> replicas.deletes.watched
    by_id = <dict> replicas.by_id
    partitions = []
    for place in range(count):
        topic, index, offset, _, leader_epoch, _, fetched_epoch = asked[place]
        hosted = by_id.get(topic)
        partition = None if hosted is None else (<dict> hosted.partitions).get(index)
        if partition is None or not partition.is_leader or follower not in partition.isr or partition in watched:
            return None
        if leader_epoch != -1 and leader_epoch != partition.leader_epoch:
            return None
        log = partition.log
        if follower not in <dict> partition.followers or log.local.log_end_offset != offset:
            return None
        if fetched_epoch >= 0 and fetched_epoch != log.epochs.latest_epoch:
            return None
        partitions.append(partition)
    now_ms = rules.now_ms()
    moved = []
    for place in range(count):
        partition = partitions[place]
        known = (<dict> partition.followers)[follower]
        _, _, offset, _, _, log_start, _ = asked[place]
        reached = known.end_offset
        known.fetched(offset, log_start, offset, broker_epoch, now_ms)
        if reached != offset and partition.advance_high_watermark():
            moved.append(partition)
    return moved
