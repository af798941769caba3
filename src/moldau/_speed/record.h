/* One record of format 2, taken apart without copying: shared by every kernel that walks records.
 *
 *   length varint | attributes 1 | timestamp delta varlong | offset delta varint | key | value | headers
 *
 * key and value are a varint length, -1 for null, and the bytes; headers a varint count and as many pairs. All
 * kernels refuse the same records because all of them come through `next_record`.
 */
#ifndef MOLDAU_RECORD_H
#define MOLDAU_RECORD_H

#include <stddef.h>

#include "layout.h"
#include "wire.h"

/* The numbers of faults.py. */
enum {
    FAULT_NONE,
    FAULT_SHORT,
    FAULT_SIZE,
    FAULT_MAGIC,
    FAULT_CHECKSUM,
    FAULT_COUNTS,
    FAULT_RECORD,
    FAULT_OFFSET,
    FAULT_TIMESTAMP,
    FAULT_TRAILING
};

/* What the header of a batch says about its records. */
typedef struct {
    int64_t base_offset;
    int64_t base_timestamp;
    int64_t append_time;
    int32_t last_offset_delta;
    int32_t count;
    int has_append_time;
} record_frame;

typedef struct {
    int64_t offset;
    int64_t timestamp;
    int32_t key_size; /* -1 for null */
    int32_t value_size;
    int32_t header_count;
    const uint8_t *key;
    const uint8_t *value;
    const uint8_t *headers;
} record_parts;

/* A length and its bytes; -1 is null only where `nullable`. */
static inline const uint8_t *take_bytes(
    const uint8_t *p, const uint8_t *end, int nullable, int32_t *size, const uint8_t **bytes)
{
    p = take_varint(p, end, size);
    if (!p)
        return NULL;
    *bytes = p;
    if (*size < 0)
        return nullable && *size == -1 ? p : NULL;
    return *size <= end - p ? p + *size : NULL;
}

static inline const uint8_t *take_header(
    const uint8_t *p, const uint8_t *end,
    const uint8_t **key, int32_t *key_size, const uint8_t **value, int32_t *value_size)
{
    p = take_bytes(p, end, 0, key_size, key);
    return p ? take_bytes(p, end, 1, value_size, value) : NULL;
}

static const uint8_t *pass_headers(const uint8_t *p, const uint8_t *end, int32_t count)
{
    int32_t key_size, value_size;
    const uint8_t *key, *value;
    if (count > (end - p) / 2)
        return NULL;
    for (; count > 0 && p; count--)
        p = take_header(p, end, &key, &key_size, &value, &value_size);
    return p;
}

/* The position after the record, or NULL if it does not fit its length to the byte. */
static inline const uint8_t *take_record(
    const uint8_t *p, const uint8_t *end, int64_t *timestamp_delta, int32_t *offset_delta, record_parts *record)
{
    int32_t length;
    const uint8_t *stop;
    p = take_varint(p, end, &length);
    if (!p || length < 1 || length > end - p)
        return NULL;
    stop = p + length;
    p = take_varlong(p + 1, stop, timestamp_delta);
    if (!p)
        return NULL;
    p = take_varint(p, stop, offset_delta);
    if (!p)
        return NULL;
    p = take_bytes(p, stop, 1, &record->key_size, &record->key);
    if (!p)
        return NULL;
    p = take_bytes(p, stop, 1, &record->value_size, &record->value);
    if (!p)
        return NULL;
    p = take_varint(p, stop, &record->header_count);
    if (!p || record->header_count < 0)
        return NULL;
    record->headers = p;
    if (record->header_count)
        p = pass_headers(p, stop, record->header_count);
    return p == stop ? stop : NULL;
}

/* Whether `size` bytes can hold the announced records, and their offsets fit 64 bits. */
static inline int check_frame(const record_frame *frame, int64_t size)
{
    if (frame->count < 0 || (int64_t)frame->count * SMALLEST_RECORD > size)
        return FAULT_COUNTS;
    if (frame->base_offset < 0 || frame->last_offset_delta < 0 || frame->base_offset > INT64_MAX - frame->last_offset_delta)
        return FAULT_COUNTS;
    return FAULT_NONE;
}

/* The position after the record, or NULL and a fault. `expected` is its offset delta, -1 where gaps are allowed. */
static inline const uint8_t *next_record(
    const record_frame *frame, const uint8_t *p, const uint8_t *end, int32_t expected, record_parts *record, int *fault)
{
    int64_t timestamp_delta;
    int32_t offset_delta;
    p = take_record(p, end, &timestamp_delta, &offset_delta, record);
    if (!p) {
        *fault = FAULT_RECORD;
        return NULL;
    }
    if (offset_delta < 0 || offset_delta > frame->last_offset_delta || (expected >= 0 && offset_delta != expected)) {
        *fault = FAULT_OFFSET;
        return NULL;
    }
    if (__builtin_add_overflow(frame->base_timestamp, timestamp_delta, &record->timestamp)) {
        *fault = FAULT_TIMESTAMP;
        return NULL;
    }
    if (frame->has_append_time)
        record->timestamp = frame->append_time;
    record->offset = frame->base_offset + offset_delta;
    return p;
}

#endif
