"""The fate of a batch and of its records, compiled. `reference/delivery.py` says what and why.

No lock: whether a batch is still under way is looked up, and acted on, without anything in between that could let
another thread run. That holds for the lists of callbacks because they hold records and functions that exist already.
"""

from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from libc.stdint cimport int64_t

from _thread import allocate_lock
from functools import partial
from time import monotonic

from moldau._speed.reference.delivery import RecordMetadata, logger
from moldau.types import TopicPartition

cdef extern from *:
    """
    static PyObject *new_tuple(PyTypeObject *type, Py_ssize_t size) { return type->tp_alloc(type, size); }
    """
    object new_tuple(PyTypeObject *type, Py_ssize_t size)

cdef int64_t NONE = -1
cdef dict NOTHING = {}


cdef inline void put(object target, Py_ssize_t at, object item) noexcept:
    Py_INCREF(item)
    PyTuple_SET_ITEM(target, at, item)


cdef class SentRecord:
    cdef Delivery followed(self):
        cdef Delivery delivery = <Delivery?> self.delivery
        while delivery.parts:
            for first, part in reversed(delivery.parts):
                if first <= self.index:
                    self.delivery = part
                    self.index -= first
                    break
            delivery = <Delivery?> self.delivery
        return delivery

    @property
    def is_done(self):
        return self.followed().done

    @property
    def exception(self):
        return self.followed().failure(self)

    @property
    def value(self):
        cdef Delivery delivery = self.followed()
        if not delivery.done or delivery.error is not None:
            return None
        return delivery.describe(self)

    def succeeded(self):
        cdef Delivery delivery = self.followed()
        return delivery.done and delivery.error is None

    def failed(self):
        cdef Delivery delivery = self.followed()
        return delivery.done and delivery.error is not None

    def add_callback(self, callback, *arguments, **options):
        return self.add(partial(callback, *arguments, **options) if arguments or options else callback, False)

    def add_errback(self, errback, *arguments, **options):
        return self.add(partial(errback, *arguments, **options) if arguments or options else errback, True)

    def add(self, callback, bint on_error):
        while not self.followed().keep(self, callback, on_error):
            if self.followed().done:
                self.told(callback, on_error)
                break
        return self

    def tell(self, callback, bint on_error):
        self.told(callback, on_error)

    cdef bint told(self, callback, bint on_error) except -1:
        cdef Delivery delivery = self.followed()
        cdef object error = delivery.failure(self)
        if (error is not None) is not on_error:
            return False
        try:
            callback(error if on_error else delivery.describe(self))
        except Exception:
            logger.exception("a callback of a future failed")
        return True


cdef class Delivery:
    def __init__(self, topic, partition):
        self.topic = topic
        self.partition = partition
        self.where = TopicPartition(topic, partition)
        self.base_offset = NONE
        self.append_time = NONE
        self.record_errors = NOTHING
        self.parts = ()
        self.callbacks = []
        self.errbacks = []
        self.gates = []

    def complete(self, int64_t base_offset=-1, int64_t append_time=-1, error=None, record_errors=None):
        cdef list wanted
        cdef Py_ssize_t at
        if self.done:
            return
        self.base_offset = base_offset
        self.append_time = append_time
        self.error = error
        self.record_errors = record_errors or NOTHING
        self.done = True
        wanted = self.callbacks if error is None else self.errbacks
        self.callbacks = self.errbacks = None
        try:
            for at in range(0, len(wanted), 2):
                (<SentRecord> wanted[at]).told(wanted[at + 1], error is not None)
        finally:
            self.end()

    def disown(self, error):
        self.callbacks = []
        self.errbacks = []
        self.complete(error=error)

    def described(self, records):
        cdef SentRecord record
        return [self.describe(record) for record in records]

    cdef object describe(self, SentRecord record):
        cdef object found = new_tuple(<PyTypeObject *> RecordMetadata, 9)
        put(found, 0, self.topic)
        put(found, 1, self.partition)
        put(found, 2, self.where)
        put(found, 3, NONE if self.base_offset == NONE else self.base_offset + record.index)
        put(found, 4, record.stamp if self.append_time == NONE else self.append_time)
        put(found, 5, None)
        put(found, 6, record.serialized_key_size)
        put(found, 7, record.serialized_value_size)
        put(found, 8, record.serialized_header_size)
        return found

    cdef object failure(self, SentRecord record):
        if self.error is None:
            return None
        return self.record_errors.get(record.index, self.error)

    def split(self, parts):
        cdef Py_ssize_t at
        cdef list callbacks = self.callbacks
        cdef list errbacks = self.errbacks
        cdef tuple given = tuple(parts)
        self.parts = given
        self.callbacks = []
        self.errbacks = []
        try:
            for at in range(0, len(callbacks), 2):
                callbacks[at].add(callbacks[at + 1], False)
            for at in range(0, len(errbacks), 2):
                errbacks[at].add(errbacks[at + 1], True)
        finally:
            self.end()

    cdef int end(self) except -1:
        self.over = True
        while self.gates:
            self.gates.pop().release()
        return 0

    def wait(self, timeout):
        if self.over:
            return True
        gate = allocate_lock()
        gate.acquire()
        self.gates.append(gate)
        if self.over or gate.acquire(True, -1 if timeout is None else max(0.0, timeout)):
            return True
        try:
            self.gates.remove(gate)
        except ValueError:
            pass
        return self.over

    def wait_to_the_end(self, deadline):
        if not self.wait(None if deadline is None else max(0.0, deadline - monotonic())):
            return False
        return all(part.wait_to_the_end(deadline) for _, part in self.parts)

    def register(self, SentRecord record not None, callback, bint on_error):
        return self.keep(record, callback, on_error)

    cdef bint keep(self, SentRecord record, callback, bint on_error) except -1:
        cdef list waiting
        if self.done or self.parts:
            return False
        waiting = self.errbacks if on_error else self.callbacks
        waiting.append(record)
        waiting.append(callback)
        return True
