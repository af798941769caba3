# The C face of the kernels: what other .pyx files beside this one cimport.

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

cdef extern from "wire.h" nogil:
    int16_t get16(const uint8_t *p)
    int32_t get32(const uint8_t *p)
    int64_t get64(const uint8_t *p)
    void put16(uint8_t *p, int16_t value)
    void put32(uint8_t *p, int32_t value)
    void put64(uint8_t *p, int64_t value)
    const uint8_t *take_unsigned_varint(const uint8_t *p, const uint8_t *end, uint32_t *out)
    const uint8_t *take_varint(const uint8_t *p, const uint8_t *end, int32_t *out)
    const uint8_t *take_varlong(const uint8_t *p, const uint8_t *end, int64_t *out)
    uint8_t *put_varlong(uint8_t *p, int64_t value)
    int size_of_varlong(int64_t value)

cdef extern from "layout.h" nogil:
    enum:
        LENGTH_AT
        LEADER_EPOCH_AT
        MAGIC_AT
        CRC_AT
        ATTRIBUTES_AT
        FLAGS_AT
        LAST_OFFSET_DELTA_AT
        BASE_TIMESTAMP_AT
        MAX_TIMESTAMP_AT
        PRODUCER_ID_AT
        PRODUCER_EPOCH_AT
        BASE_SEQUENCE_AT
        COUNT_AT
        HEADER_SIZE
        PREFIX_SIZE
        MAGIC
        SMALLEST_RECORD
        COMPRESSION
        TIMESTAMP_TYPE
        TRANSACTIONAL
        CONTROL
        DELETE_HORIZON

cdef extern from "record.h" nogil:
    enum:
        FAULT_NONE
        FAULT_SHORT
        FAULT_SIZE
        FAULT_MAGIC
        FAULT_CHECKSUM
        FAULT_COUNTS
        FAULT_RECORD
        FAULT_TRAILING
    ctypedef struct record_frame:
        int64_t base_offset
        int64_t base_timestamp
        int64_t append_time
        int32_t last_offset_delta
        int32_t count
        int has_append_time
    ctypedef struct record_parts:
        int64_t offset
        int64_t timestamp
        int32_t key_size
        int32_t value_size
        int32_t header_count
        const uint8_t *key
        const uint8_t *value
        const uint8_t *headers
    const uint8_t *take_header(
        const uint8_t *p, const uint8_t *end,
        const uint8_t **key, int32_t *key_size, const uint8_t **value, int32_t *value_size)
    int check_frame(const record_frame *frame, int64_t size)
    const uint8_t *next_record(
        const record_frame *frame, const uint8_t *p, const uint8_t *end, int32_t expected,
        record_parts *record, int *fault)

cdef class BatchHeader:
    cdef readonly int64_t base_offset
    cdef readonly int64_t base_timestamp
    cdef readonly int64_t max_timestamp
    cdef readonly int64_t producer_id
    cdef readonly int32_t length
    cdef readonly int32_t partition_leader_epoch
    cdef readonly uint32_t crc
    cdef readonly int32_t last_offset_delta
    cdef readonly int32_t base_sequence
    cdef readonly int32_t count
    cdef readonly int16_t attributes
    cdef readonly int16_t producer_epoch
    cdef readonly int8_t magic

cdef uint32_t checksum(const uint8_t *p, size_t size) noexcept nogil
cdef uint32_t checksum_from(uint32_t value, const uint8_t *p, size_t size) noexcept nogil
cdef int check_batch(const uint8_t *p, Py_ssize_t left, bint check_crc) noexcept nogil
cdef BatchHeader header_at(const uint8_t *p)
cdef int open_range(object data, Py_buffer *view, int flags, Py_ssize_t start, object end, Py_ssize_t *stop) except -1
cdef record_frame frame_of(BatchHeader header) noexcept
