"""The express way: a turn's small writes of all connections, read, written and answered together.

Most requests of a busy node are alike: one plain batch for one partition that this broker alone is in charge of. A turn
of the loop hands the ready descriptors over. Each is read once; the batches for one partition are judged where they
lie, numbered and written with one system call; every connection gets its answers with one more. No Python object is made
for a request, and the two calls for a partition (`replica/runs`) are shared by all who write to it in this turn.

Where a connection has TLS, its channel (`runtime/tls`) reads and writes instead, once each in a turn: what it decrypts
lies where a plain read would have put it.

Small offset commits are read and answered here too; what they come to is for `server/commit_runs`, which is called once
for all of them.

Everything else goes the readable way (`runtime/transport`, `server/connection`, `replica/appends`), which is the
specification of this one: a frame of another kind, a batch that has to be unpacked, corrected or refused, a partition
with followers. It is left untouched at the place where it was read, and all that follows it on its connection with it.
"""

import logging

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.ref cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from moldau._speed.codec cimport (
    LAST_OFFSET_DELTA_AT,
    LEADER_EPOCH_AT,
    MAX_TIMESTAMP_AT,
    PRODUCER_ID_AT,
    get16,
    get32,
    get64,
    header_at,
    put32,
    put64,
)
from moldau._speed.commits cimport encode_commit, read_commit
from moldau._speed.counts cimport Traffic
from moldau._speed.plain_write cimport (
    ASKS,
    BY_ID,
    COMMITS,
    DONE,
    FIRST_VERSION,
    LEFT,
    OPEN,
    UNREAD,
    WRITTEN,
    Slot,
    read_request,
    write_answer,
)
from moldau._speed.records cimport judge_plain
from moldau._speed.source cimport Source, skip_tags

logger = logging.getLogger("moldau.runtime")

cdef extern from *:
    """
    #include <sys/socket.h>
    #ifndef MSG_NOSIGNAL /* macOS; the interpreter ignores the signal anyway */
    #define MSG_NOSIGNAL 0
    #endif
    """
    enum:
        MSG_DONTWAIT
        MSG_NOSIGNAL
    ssize_t recv(int fd, void *to, size_t size, int flags) nogil
    ssize_t send(int fd, const void *data, size_t size, int flags) nogil

cdef extern from "<sys/uio.h>" nogil:
    struct iovec:
        void *iov_base
        size_t iov_len
    ssize_t pwritev(int fd, const iovec *parts, int count, int64_t position)

cdef enum:
    # As `runtime/readiness` calls it.
    READABLE = 1
    # Connections that are read before any of them is answered.
    MOST_SLOTS = 64
    # Answers that one of them gets at once; the longest has the name of its topic in it, of 249 bytes at most.
    OUT_SIZE = 4096
    LONGEST_ANSWER = 512
    # Frames of one connection in one turn.
    MOST_FRAMES = 64
    # What one read takes at most, and what must be free for another.
    READ_SIZE = 131072
    LEAST_ROOM = 32768
    PRODUCE = 0
    OFFSET_COMMIT = 8
    COMMITS_SINCE = 2
    FLEXIBLE_COMMITS = 8
    # The answer to a commit names what was asked for, and is shorter than that but for its header.
    LONGEST_COMMIT = 480
    # API key, version, correlation id and the length of the client id.
    REQUEST_HEADER = 10
    CLIENT_AT = 8
    # Versions of either kind of request that there may be, and buckets of `metrics/histogram`.
    MOST_VERSIONS = 32
    BUCKETS = 512
    PARTS = 3
    LINEAR = 32


cdef class Served:
    """How many requests went the express way, by API and version, and how long they took."""

    # Produce first, then OffsetCommit.
    cdef int64_t versions[2 * MOST_VERSIONS]
    # Microseconds until an answer was written down, from then until it had left, and both together, by bucket.
    cdef int64_t times[2 * PARTS * BUCKETS]
    # Served since the last answers left.
    cdef int64_t lately[2]

    def counts(self):
        """For each API the requests by version."""
        return {
            PRODUCE: [self.versions[version] for version in range(MOST_VERSIONS)],
            OFFSET_COMMIT: [self.versions[MOST_VERSIONS + version] for version in range(MOST_VERSIONS)],
        }

    def spreads(self):
        """For each API by bucket: local times, those of sending, and total ones."""
        cdef int start
        return {
            key: [
                [self.times[at] for at in range(start, start + BUCKETS)]
                for start in range(kind * PARTS * BUCKETS, (kind + 1) * PARTS * BUCKETS, BUCKETS)
            ]
            for kind, key in enumerate((PRODUCE, OFFSET_COMMIT))
        }

    cdef void count(self, int kind, int version) noexcept:
        self.versions[kind * MOST_VERSIONS + (version & (MOST_VERSIONS - 1))] += 1
        self.lately[kind] += 1

    cdef void note(self, int64_t begun, int64_t answered, int64_t sent) noexcept:
        """All that were served in this turn took as long as it."""
        cdef int kind
        cdef int64_t *times
        for kind in range(2):
            if self.lately[kind]:
                times = self.times + kind * PARTS * BUCKETS
                times[bucket_of(answered - begun)] += self.lately[kind]
                times[BUCKETS + bucket_of(sent - answered)] += self.lately[kind]
                times[2 * BUCKETS + bucket_of(sent - begun)] += self.lately[kind]
                self.lately[kind] = 0


cdef inline int bucket_of(int64_t nanoseconds) noexcept:
    cdef int64_t value = max(nanoseconds, <int64_t> 0) // 1000
    cdef int shift = 0
    while value >> shift >= LINEAR:
        shift += 1
    return min(<int> (value if shift == 0 else (shift << 4) + (value >> shift)), <int> BUCKETS - 1)


cdef inline int64_t nanoseconds() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t> now.tv_sec * 1000000000 + now.tv_nsec


cdef class Client:
    """One connection, and the partition it wrote to last."""

    cdef readonly object transport
    cdef readonly object receiver
    cdef int fd
    cdef object runs
    # Where what is served is counted.
    cdef Served served
    cdef int last_version
    # Who takes its offset commits, if they are taken here, and up to which version.
    cdef object commits
    cdef int last_commit
    cdef Py_ssize_t largest
    cdef object partition
    cdef bytes topic
    cdef bint by_id
    cdef int32_t index
    # What reads and writes the socket instead, if its bytes are encrypted.
    cdef object channel

    def __init__(self, int fd, transport, receiver, runs, channel):
        self.fd = fd
        self.channel = channel
        self.transport = transport
        self.receiver = receiver
        self.runs = runs
        self.served = <Served?> runs.served
        self.last_version = runs.last_version
        self.commits = runs.commits
        self.last_commit = -1 if runs.commits is None else runs.commits.last_version
        self.largest = transport._max_frame
        self.partition = None
        self.topic = b""


cdef class Express:
    """Called with who is ready; returns what it did not deal with."""

    cdef dict clients
    cdef object shared
    cdef object hand_over
    cdef bytearray memory
    cdef uint8_t *base
    cdef Py_ssize_t room
    cdef int count
    # Some of them go by way of a channel, for which the interpreter is needed.
    cdef bint wrapped
    cdef Slot slots[MOST_SLOTS]
    # The commit that a slot asks for, as `read_commit` found it.
    cdef list plans
    cdef iovec parts[MOST_SLOTS]
    cdef uint8_t out[MOST_SLOTS * OUT_SIZE]
    # Requests served so far, for whoever wants to know whether any was.
    cdef readonly int64_t served

    def __cinit__(self, shared not None, hand_over not None):
        # As long as there is a view of it nobody can make it longer or shorter.
        self.memory = shared.obj
        self.shared = shared
        self.hand_over = hand_over
        self.base = <uint8_t *> PyByteArray_AS_STRING(self.memory)
        self.room = PyByteArray_GET_SIZE(self.memory)
        self.clients = {}
        self.plans = [None] * MOST_SLOTS

    def add(self, int fd, transport, receiver, runs, channel=None, /):
        """What comes in on `fd` may be served here, by `runs` on behalf of `receiver`. A `channel` is who reads and
        writes it."""
        self.clients[fd] = Client(fd, transport, receiver, runs, channel)

    def remove(self, int fd):
        self.clients.pop(fd, None)

    def __call__(self, list ready):
        cdef list rest = [], waiting = []
        cdef Client client
        cdef Py_ssize_t next_up = 0
        for event in ready:
            fd, events = <tuple> event
            client = self.clients.get(fd)
            if client is None or events != READABLE:
                rest.append(event)
            else:
                waiting.append(client)
        while next_up < len(waiting):
            self.count = 0
            self.wrapped = False
            while next_up < len(waiting) and self.count < MOST_SLOTS:
                client = waiting[next_up]
                next_up += 1
                if is_free(client.transport):
                    self.slots[self.count].client = <PyObject *> client
                    self.slots[self.count].fd = client.fd
                    self.slots[self.count].wrapped = client.channel is not None
                    self.wrapped |= client.channel is not None
                    self.count += 1
                else:
                    rest.append((client.fd, READABLE))
            if self.wrapped:
                self.receive()
            else:
                with nogil:
                    self.receive()
            # For those who were not read there was no room: they come next.
            while self.count and self.slots[self.count - 1].state == UNREAD:
                self.count -= 1
                next_up -= 1
                while waiting[next_up] is not <Client> self.slots[self.count].client:
                    next_up -= 1
            try:
                self.serve()
            except Exception:
                logger.exception("requests of %d connections could not be served", self.count)
                self.give_up()
        return rest

    # ------------------------------------------------------------------------------------------ reading

    cdef void receive(self) noexcept nogil:
        """One read for each, one behind the other, as long as there is room."""
        cdef Py_ssize_t at = 0
        cdef ssize_t got
        cdef Slot *slot
        cdef int number
        for number in range(self.count):
            slot = &self.slots[number]
            slot.state = UNREAD
            if self.room - at < LEAST_ROOM:
                continue
            if slot.wrapped:
                got = self.unwrap(slot, at)
            else:
                got = recv(slot.fd, self.base + at, min(self.room - at, <Py_ssize_t> READ_SIZE), MSG_DONTWAIT)
            slot.partition = NULL
            slot.frames = 0
            slot.answered = 0
            slot.at = at
            slot.end = at
            # An end or an error shows again when the transport reads; nothing yet is nothing to do.
            slot.state = OPEN if got > 0 else (DONE if got < 0 and (slot.wrapped or is_passing(errno)) else LEFT)
            if got > 0:
                at += got
                slot.end = at

    cdef ssize_t unwrap(self, Slot *slot, Py_ssize_t at) noexcept with gil:
        """The same by way of a channel, which says again what is wrong when the transport asks."""
        cdef Py_ssize_t end = at + min(self.room - at, <Py_ssize_t> READ_SIZE)
        try:
            return (<Client> slot.client).channel.receive(self.shared[at:end])
        except BlockingIOError:
            return -1
        except Exception:
            return 0

    cdef int serve(self) except -1:
        """Frame by frame, as long as anybody has one that is served here; then the answers, then the rest."""
        cdef int number, asking, committing
        cdef int64_t begun = nanoseconds(), answered
        cdef Slot *slot
        while True:
            asking = committing = 0
            for number in range(self.count):
                slot = &self.slots[number]
                if slot.state == OPEN:
                    self.look(number)
                asking += slot.state == ASKS
                committing += slot.state == COMMITS
            if not asking and not committing:
                break
            if committing:
                self.commit()
            for number in range(self.count):
                if self.slots[number].state == ASKS:
                    self.write(number)
            for number in range(self.count):
                if self.slots[number].state == WRITTEN:
                    self.answer(number)
        answered = nanoseconds()
        if self.wrapped:
            self.send_answers()
        else:
            with nogil:
                self.send_answers()
        self.note_times(begun, answered, nanoseconds())
        self.finish()
        return 0

    cdef int look(self, int number) except -1:
        """Whether the next frame asks for something that is done here."""
        cdef Slot *slot = &self.slots[number]
        cdef Client client = <Client> slot.client
        cdef const uint8_t *head = self.base + slot.at
        cdef Py_ssize_t left = slot.end - slot.at, size, name
        cdef int key
        cdef bytes known
        cdef Source source
        if left == 0:
            slot.state = DONE
            return 0
        slot.state = LEFT
        if left < 4 + REQUEST_HEADER or slot.frames == MOST_FRAMES or OUT_SIZE - slot.answered < LONGEST_ANSWER:
            return 0
        size = get32(head)
        head += 4
        slot.version = get16(head + 2)
        key = get16(head)
        if size > left - 4 or size > client.largest or size < REQUEST_HEADER:
            return 0
        if key == PRODUCE:
            if slot.version < FIRST_VERSION or slot.version > client.last_version:
                return 0
        elif key != OFFSET_COMMIT or size > LONGEST_COMMIT:
            return 0
        elif slot.version < COMMITS_SINCE or slot.version > client.last_commit:
            return 0
        # The name under which the client comes was read when it was new; here it is the same as before.
        name = max(get16(head + CLIENT_AT), 0) + 2
        known = client.receiver.client_bytes
        if PyBytes_GET_SIZE(known) != name or size < CLIENT_AT + name:
            return 0
        if memcmp(head + CLIENT_AT, PyBytes_AS_STRING(known), name) != 0:
            return 0
        slot.correlation_id = get32(head + 4)
        slot.frame_end = slot.at + 4 + size
        source.base = self.base
        source.at = head + CLIENT_AT + name
        source.end = head + size
        source.bad = False
        if key == PRODUCE:
            if read_request(&source, slot) and self.find(client, slot):
                slot.state = ASKS
            return 0
        if slot.version >= FLEXIBLE_COMMITS:
            skip_tags(&source)
        plan = read_commit(&source, slot.version)
        if plan is not None:
            self.plans[number] = plan
            slot.state = COMMITS
        return 0

    cdef bint find(self, Client client, Slot *slot) except -1:
        cdef const char *topic = <const char *> self.base + slot.topic_at
        cdef bint by_id = slot.version >= BY_ID
        if (
            client.partition is None
            or client.index != slot.index
            or client.by_id != by_id
            or PyBytes_GET_SIZE(client.topic) != slot.topic_size
            or memcmp(topic, PyBytes_AS_STRING(client.topic), slot.topic_size) != 0
        ):
            client.topic = PyBytes_FromStringAndSize(topic, slot.topic_size)
            client.by_id = by_id
            client.index = slot.index
            try:
                client.partition = client.runs.find(
                    client.topic if by_id else PyUnicode_DecodeUTF8(topic, slot.topic_size, NULL), slot.index
                )
            except UnicodeDecodeError:
                client.partition = None
        slot.partition = <PyObject *> client.partition
        return client.partition is not None

    # ------------------------------------------------------------------------------------------ writing

    cdef int write(self, int first) except -1:
        """What all who ask for the partition of the first of them want to write."""
        cdef object partition = <object> self.slots[first].partition
        cdef object runs = (<Client> self.slots[first].client).runs
        cdef int number
        cdef Slot *slot
        while self.slots[first].state == ASKS:
            run = runs.open(partition)
            if run is None:
                for number in range(first, self.count):
                    slot = &self.slots[number]
                    if slot.state == ASKS and slot.partition == <PyObject *> partition:
                        slot.state = LEFT
                        # It may be another by now: the next request looks again.
                        (<Client> slot.client).partition = None
            else:
                self.write_run(first, partition, runs, <tuple> run)
            while first < self.count - 1 and (
                self.slots[first].state != ASKS or self.slots[first].partition != <PyObject *> partition
            ):
                first += 1
            if self.slots[first].partition != <PyObject *> partition:
                break
        return 0

    cdef int write_run(self, int first, object partition, object runs, tuple run) except -1:
        """As much of it as goes into one run (`storage/run`)."""
        cdef int fd = run[0], epoch = run[3], number, count = 0
        cdef int64_t position = run[1], offset = run[2], log_start = run[4]
        cdef int64_t segment_end = run[5], last_time = run[6], last_offset = run[7], largest = run[8]
        cdef bint needs_key = run[9]
        cdef int64_t earliest = run[10], latest = run[11]
        # How many more bytes may be there before a batch that gets an entry in the index: it is the first of a run.
        cdef int64_t unindexed = run[12], started = position
        cdef Traffic traffic = <Traffic?> run[13]
        cdef int64_t newest = INT64_MIN, timestamp, last
        cdef dict places = {}
        cdef list known = []
        cdef tuple first_batch = None, latest_batch = None
        cdef Slot *slot
        cdef uint8_t *batch
        for number in range(first, self.count):
            slot = &self.slots[number]
            if slot.state != ASKS or slot.partition != <PyObject *> partition:
                continue
            if count and position - started > unindexed:
                break
            batch = self.base + slot.batch
            last = offset + get32(batch + LAST_OFFSET_DELTA_AT)
            timestamp = get64(batch + MAX_TIMESTAMP_AT)
            if (
                slot.size > largest
                or judge_plain(batch, slot.size, needs_key, earliest, latest)
                or position + slot.size > segment_end
                or timestamp > last_time
                or last > last_offset
            ):
                slot.state = LEFT
                continue
            if get64(batch + PRODUCER_ID_AT) != -1:
                header = header_at(batch)
                if is_among(header.producer_id, known):
                    break
                if not runs.admits(partition, header):
                    slot.state = LEFT
                    continue
                known.append((header, offset, timestamp))
            put64(batch, offset)
            put32(batch + LEADER_EPOCH_AT, epoch)
            self.parts[count].iov_base = batch
            self.parts[count].iov_len = slot.size
            count += 1
            slot.base_offset = offset
            slot.log_start = log_start
            slot.state = WRITTEN
            places[offset] = position
            if timestamp > newest:
                newest = timestamp
                latest_batch = (timestamp, last)
                if count == 1:
                    first_batch = latest_batch
            offset = last + 1
            position += slot.size
        if count == 0:
            return 0
        if not self.put(fd, count, started, position - started):
            # Nothing counts of it. The readable way tries again, and says what is wrong if that fails too.
            runs.failed(partition)
            for number in range(first, self.count):
                slot = &self.slots[number]
                if slot.state == WRITTEN and slot.partition == <PyObject *> partition and slot.base_offset >= run[2]:
                    put64(self.base + slot.batch, 0)
                    slot.state = LEFT
            return 0
        traffic.produces += count
        traffic.bytes_in += position - started
        traffic.messages_in += offset - <int64_t> run[2]
        runs.close(partition, position, offset, first_batch, latest_batch, places, known)
        return 0

    cdef bint put(self, int fd, int count, int64_t position, int64_t size) noexcept:
        cdef ssize_t written
        with nogil:
            while True:
                written = pwritev(fd, self.parts, count, position)
                if written >= 0 or errno != EINTR:
                    break
        return written == size

    # ------------------------------------------------------------------------------------------ committing

    cdef int commit(self) except -1:
        """What everybody commits whose commits the same one takes."""
        cdef object taker = None
        cdef list numbers = [], asked = []
        cdef bytes answer
        cdef tuple plan
        cdef Slot *slot
        cdef int number
        for number in range(self.count):
            slot = &self.slots[number]
            if slot.state == COMMITS and (taker is None or (<Client> slot.client).commits is taker):
                taker = (<Client> slot.client).commits
                numbers.append(number)
                asked.append((slot.version, self.plans[number]))
        for number, taken in zip(numbers, taker.write(asked)):
            slot = &self.slots[number]
            plan = self.plans[number]
            self.plans[number] = None
            slot.state = LEFT
            if taken:
                answer = encode_commit(slot.version, slot.correlation_id, plan[4], 0)
                memcpy(
                    self.out + <Py_ssize_t> number * OUT_SIZE + slot.answered,
                    PyBytes_AS_STRING(answer),
                    PyBytes_GET_SIZE(answer),
                )
                slot.answered += PyBytes_GET_SIZE(answer)
                (<Client> slot.client).served.count(1, slot.version)
                self.served_one(slot)
        return 0

    # ------------------------------------------------------------------------------------------ answering

    cdef void answer(self, int number) noexcept:
        cdef Slot *slot = &self.slots[number]
        cdef uint8_t *start = self.out + <Py_ssize_t> number * OUT_SIZE + slot.answered
        if slot.acks != 0:
            slot.answered += write_answer(start, slot, self.base + slot.topic_at)
        (<Client> slot.client).served.count(0, slot.version)
        self.served_one(slot)

    cdef void served_one(self, Slot *slot) noexcept:
        slot.at = slot.frame_end
        slot.frames += 1
        slot.state = OPEN
        self.served += 1

    cdef void note_times(self, int64_t begun, int64_t answered, int64_t sent) noexcept:
        cdef int number
        cdef Served served
        for number in range(self.count):
            served = (<Client> self.slots[number].client).served
            if served.lately[0] or served.lately[1]:
                served.note(begun, answered, sent)

    cdef void send_answers(self) noexcept nogil:
        cdef Slot *slot
        cdef ssize_t sent
        cdef int number
        for number in range(self.count):
            slot = &self.slots[number]
            slot.sent = 0
            if slot.wrapped and slot.answered:
                slot.sent = self.wrap(number)
            elif slot.answered:
                sent = send(
                    slot.fd, self.out + <Py_ssize_t> number * OUT_SIZE, slot.answered, MSG_DONTWAIT | MSG_NOSIGNAL
                )
                slot.sent = max(sent, 0)

    cdef ssize_t wrap(self, int number) noexcept with gil:
        """The same by way of a channel, which knows what of it is on its way when the transport goes on."""
        cdef Slot *slot = &self.slots[number]
        cdef const char *out = <const char *> self.out + <Py_ssize_t> number * OUT_SIZE
        try:
            return (<Client> slot.client).channel.send(PyBytes_FromStringAndSize(out, slot.answered), 0)
        except Exception:
            return 0

    cdef int finish(self) except -1:
        """What the peer did not take yet, and what came in besides, is for the transport."""
        cdef Slot *slot
        cdef Client client
        cdef const char *out
        cdef int number
        for number in range(self.count):
            slot = &self.slots[number]
            client = <Client> slot.client
            if slot.sent < slot.answered:
                out = <const char *> self.out + <Py_ssize_t> number * OUT_SIZE
                client.transport.send([PyBytes_FromStringAndSize(out + slot.sent, slot.answered - slot.sent)])
            if slot.state != LEFT:
                client.transport.activity += 1
                if slot.wrapped and client.channel.more:
                    client.transport.look_again()
            elif slot.at < slot.end:
                self.hand_over(client.transport, self.shared, slot.at, slot.end)
        # The ended ones last: they are read once more, into the memory in which all the others lay.
        for number in range(self.count):
            slot = &self.slots[number]
            if slot.state == LEFT and slot.at == slot.end:
                self.hand_over((<Client> slot.client).transport, self.shared, slot.at, slot.end)
        return 0

    cdef void give_up(self) except *:
        """Nobody knows what became of their requests, and nobody may wait for an answer for ever."""
        cdef int number
        for number in range(self.count):
            (<Client> self.slots[number].client).transport.close("its requests could not be served")


cdef inline bint is_passing(int code) noexcept nogil:
    return code == EAGAIN or code == EINTR


cdef bint is_free(object transport) except -1:
    """Whether nothing is unfinished on the connection, in either direction."""
    return (
        transport._delivering
        and transport._backlog is None
        and transport._large is None
        and not transport._stash
        and not transport._queue
        and transport._first_read is transport._shared
    )


cdef bint is_among(int64_t producer_id, list known) except -1:
    for header, _, _ in known:
        if header.producer_id == producer_id:
            return True
    return False
