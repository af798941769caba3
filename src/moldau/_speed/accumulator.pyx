"""Where a producer's records wait to be sent, compiled. `reference/accumulator.py` says what and why.

No lock: a method that touches lanes calls nothing that could let another thread run before it is done, except
`open_batch` and `wake`, which stand where the state is whole.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.object cimport PyTypeObject
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from moldau._speed.delivery cimport SentRecord
from moldau._speed.writer cimport RecordWriter, pack_headers

from collections import deque
from random import getrandbits

cdef extern from "time.h" nogil:
    struct timespec:
        int64_t tv_sec
        long tv_nsec
    int clock_gettime(int clock, timespec *now)
    int CLOCK_REALTIME

cdef extern from *:
    """
    static PyObject *make_instance(PyTypeObject *type, PyObject *nothing) {
        /* Not for the collector: a record is in a cycle only while its batch waits with a callback for it, and every
           batch ends. Hundreds of thousands of them would make it run again and again, over all of them. */
        PyObject *made = type->tp_new(type, nothing, NULL);
        if (made != NULL && PyObject_GC_IsTracked(made))
            PyObject_GC_UnTrack(made);
        return made;
    }
    """
    object make_instance(PyTypeObject *type, tuple nothing)


cdef int64_t now_ms() noexcept:
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return now.tv_sec * 1000 + now.tv_nsec // 1000000


cdef uint32_t hash_of(const uint8_t *p, Py_ssize_t length) noexcept nogil:
    cdef uint32_t value = <uint32_t> 0x9747B28C ^ <uint32_t> length
    cdef uint32_t word
    while length >= 4:
        word = p[0] | <uint32_t> p[1] << 8 | <uint32_t> p[2] << 16 | <uint32_t> p[3] << 24
        word *= <uint32_t> 0x5BD1E995
        word ^= word >> 24
        word *= <uint32_t> 0x5BD1E995
        value = (value * <uint32_t> 0x5BD1E995) ^ word
        p += 4
        length -= 4
    if length == 3:
        value ^= <uint32_t> p[2] << 16
    if length >= 2:
        value ^= <uint32_t> p[1] << 8
    if length >= 1:
        value ^= p[0]
        value *= <uint32_t> 0x5BD1E995
    value ^= value >> 13
    value *= <uint32_t> 0x5BD1E995
    return value ^ (value >> 15)


def murmur2(data not None):
    cdef bytes content = data if PyBytes_CheckExact(data) else bytes(memoryview(data))
    return hash_of(<const uint8_t *> PyBytes_AS_STRING(content), PyBytes_GET_SIZE(content))


cdef class Lane:
    cdef readonly object topic
    cdef readonly int32_t partition
    cdef public object owner
    cdef public RecordWriter batch
    cdef public object delivery
    cdef readonly object waiting
    cdef public bint active
    cdef public int64_t queued

    def __init__(self, topic, int32_t partition, owner=None):
        self.topic = topic
        self.partition = partition
        self.owner = owner
        self.waiting = deque()

    cpdef seal(self):
        batch = self.batch
        self.batch = None
        self.delivery = None
        if batch is not None:
            self.waiting.append(batch)

    def taken(self, int64_t size):
        self.queued -= size


cdef class Lanes:
    """The lanes of one topic, and the one that records without a key go to at present."""

    cdef list lanes
    cdef list available
    cdef Py_ssize_t count
    cdef Py_ssize_t sticky
    cdef Py_ssize_t room


cdef class Accumulator:
    cdef public object key_serializer
    cdef public object value_serializer
    cdef public bint halted
    cdef public bint armed
    cdef public int64_t used
    cdef public int64_t records
    cdef public int64_t memory
    cdef public list active
    cdef object future_type
    cdef object open_batch
    cdef object wake
    cdef Py_ssize_t ready_size
    cdef readonly Py_ssize_t max_record
    cdef bint adaptive
    cdef bint ignore_keys
    cdef uint64_t dice
    cdef dict topics

    def __init__(
        self,
        future_type,
        open_batch,
        wake,
        *,
        Py_ssize_t ready_size,
        Py_ssize_t max_record,
        int64_t memory,
        bint adaptive=True,
        bint ignore_keys=False,
    ):
        if not issubclass(future_type, SentRecord):
            raise TypeError("futures are made of SentRecord")
        self.future_type = future_type
        self.open_batch = open_batch
        self.wake = wake
        self.ready_size = ready_size
        self.max_record = max_record
        self.memory = memory
        self.adaptive = adaptive
        self.ignore_keys = ignore_keys
        self.dice = getrandbits(64) | 1
        self.armed = True
        self.active = []
        self.topics = {}

    def set_topic(self, topic, lanes, available):
        cdef Lanes found = Lanes.__new__(Lanes)
        found.lanes = list(lanes)
        found.available = list(available)
        found.count = len(found.lanes)
        found.sticky = -1
        self.topics[topic] = found

    def set_available(self, topic, available):
        cdef Lanes found = self.topics.get(topic)
        if found is not None:
            found.available = list(available)
            if found.sticky not in found.available:
                found.sticky = -1

    def knows(self, topic):
        return topic in self.topics

    def release(self, int64_t size):
        self.used -= size

    def take_active(self):
        cdef list active = self.active
        cdef Lane lane
        self.active = []
        for lane in active:
            lane.active = False
        return active

    def keep_active(self, Lane lane not None):
        if not lane.active:
            lane.active = True
            self.active.append(lane)

    def send(self, topic, value=None, key=None, headers=None, partition=None, timestamp_ms=None):
        cdef Lanes found = self.topics.get(topic)
        if found is None or self.halted or (key is None and value is None):
            return None
        if self.key_serializer is not None:
            key = self.key_serializer(key)
        if self.value_serializer is not None:
            value = self.value_serializer(value)
        return self.put(topic, value, key, headers, partition, timestamp_ms)

    def append(self, topic, value, key, headers=None, partition=None, timestamp_ms=None):
        return self.put(topic, value, key, headers, partition, timestamp_ms)

    cdef put(self, topic, value, key, headers, partition, timestamp_ms):
        cdef Lanes found
        cdef Lane lane
        cdef RecordWriter batch
        cdef SentRecord future
        cdef Py_ssize_t key_size = -1, value_size = -1, header_size = -1, size = 0, before, index
        cdef int64_t stamp = now_ms() if timestamp_ms is None else timestamp_ms
        cdef bint opened = False
        if key is not None:
            if not PyBytes_CheckExact(key):
                key = bytes(memoryview(key))
            key_size = PyBytes_GET_SIZE(key)
            size += key_size
        if value is not None:
            if not PyBytes_CheckExact(value):
                value = bytes(memoryview(value))
            value_size = PyBytes_GET_SIZE(value)
            size += value_size
        if headers:
            header_size = size_of_headers(headers)
            size += header_size
            headers = pack_headers(headers)
        if partition is not None:
            index = partition
        # Made here, because making an object may set off the garbage collector, which may run anything.
        future = <SentRecord> make_instance(<PyTypeObject *> self.future_type, ())
        # Looked up after the last thing that may run foreign code: what is decided below is true until the end.
        found = self.topics.get(topic)
        if found is None or self.halted or size > self.max_record or self.used + size > self.memory:
            return None
        if partition is None:
            index = self.choose(found, key, key_size)
        if index < 0 or index >= found.count:
            return None
        lane = <Lane> found.lanes[index]
        while True:
            batch = lane.batch
            if batch is None:
                batch = self.open(lane)
                opened = True
            before = batch.used
            if batch.add(<int64_t> batch.last_offset_delta + 1, stamp, key, value, headers):
                break
            lane.seal()
        self.used += batch.used - before
        lane.queued += batch.used - before
        self.records += 1
        if partition is None and (key_size < 0 or self.ignore_keys):
            found.room -= batch.used - before
        future.delivery = lane.delivery
        future.index = batch.count - 1
        future.stamp = stamp
        future.serialized_key_size = <int32_t> key_size
        future.serialized_value_size = <int32_t> value_size
        future.serialized_header_size = <int32_t> header_size
        if self.armed and (opened or before < self.ready_size <= batch.used):
            self.armed = False
            self.wake()
        return future

    cdef RecordWriter open(self, Lane lane):
        batch = self.open_batch(lane)
        if lane.batch is not None:
            # Another thread opened one while ours was being made.
            return lane.batch
        lane.batch = <RecordWriter?> batch
        lane.delivery = batch.delivery
        if not lane.active:
            lane.active = True
            self.active.append(lane)
        return lane.batch

    cdef Py_ssize_t choose(self, Lanes found, key, Py_ssize_t key_size):
        if key_size >= 0 and not self.ignore_keys:
            if not found.count:
                return -1
            return (hash_of(<const uint8_t *> PyBytes_AS_STRING(key), key_size) & 0x7FFFFFFF) % found.count
        if found.sticky < 0 or found.room <= 0:
            found.sticky = self.roll(found)
            found.room = self.ready_size
        return found.sticky

    cdef Py_ssize_t roll(self, Lanes found):
        cdef int64_t longest = 0, total = 0, at
        cdef Py_ssize_t index
        cdef Py_ssize_t several = len(found.available)
        if not several:
            return -1
        if not self.adaptive:
            return found.available[self.random() % <uint64_t> several]
        for index in found.available:
            longest = max(longest, self.length(found, index))
        for index in found.available:
            total += longest + 1 - self.length(found, index)
        at = <int64_t> (self.random() % <uint64_t> total)
        for index in found.available:
            at -= longest + 1 - self.length(found, index)
            if at < 0:
                break
        return index

    cdef int64_t length(self, Lanes found, Py_ssize_t index):
        return (<Lane> found.lanes[index]).queued // self.ready_size

    cdef uint64_t random(self) noexcept:
        # xorshift64*: not for secrets, and different in each producer.
        self.dice ^= self.dice >> 12
        self.dice ^= self.dice << 25
        self.dice ^= self.dice >> 27
        return (self.dice * <uint64_t> 0x2545F4914F6CDD1D) >> 16


cdef Py_ssize_t size_of_headers(headers) except -1:
    cdef Py_ssize_t total = 0
    if not isinstance(headers, (list, tuple)):
        raise TypeError("headers must be a list of (str, bytes) pairs")
    for pair in headers:
        if not isinstance(pair, tuple) or len(pair) != 2 or not PyUnicode_Check(pair[0]):
            raise TypeError("headers must be a list of (str, bytes) pairs")
        if pair[1] is not None:
            if not isinstance(pair[1], bytes):
                raise TypeError("headers must be a list of (str, bytes) pairs")
            total += len(pair[1])
        total += len((<str> pair[0]).encode("utf-8", "surrogateescape"))
    return total
