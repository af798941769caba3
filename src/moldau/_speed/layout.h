/* `layout.py` for the compiled kernels: the same names and numbers, held equal by a test. */
#ifndef MOLDAU_LAYOUT_H
#define MOLDAU_LAYOUT_H

enum {
    LENGTH_AT = 8,
    LEADER_EPOCH_AT = 12,
    MAGIC_AT = 16,
    CRC_AT = 17,
    ATTRIBUTES_AT = 21,
    FLAGS_AT = 22,
    LAST_OFFSET_DELTA_AT = 23,
    BASE_TIMESTAMP_AT = 27,
    MAX_TIMESTAMP_AT = 35,
    PRODUCER_ID_AT = 43,
    PRODUCER_EPOCH_AT = 51,
    BASE_SEQUENCE_AT = 53,
    COUNT_AT = 57,
    HEADER_SIZE = 61,
    PREFIX_SIZE = 12,
    MAGIC = 2,
    SMALLEST_RECORD = 7,
    COMPRESSION = 0x07,
    TIMESTAMP_TYPE = 0x08,
    TRANSACTIONAL = 0x10,
    CONTROL = 0x20,
    DELETE_HORIZON = 0x40
};

#endif
