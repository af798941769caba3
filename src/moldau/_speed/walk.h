/* The records of a batch walked without keeping any, in one piece or window by window.
 *
 * Records that lie in a window as a whole go through `next_record`, like everywhere. One that a window cuts is taken
 * byte by byte from where the last window ended, so nothing of it is kept, however large it is: what decompression
 * gives back needs to be in memory only a window at a time.
 */
#ifndef MOLDAU_WALK_H
#define MOLDAU_WALK_H

#include <stdlib.h>
#include <string.h>

#include "record.h"

/* So many refused records are remembered; the others are counted. */
enum { REFUSED_NAMED = 100 };

typedef struct {
    int64_t timestamp;
    int32_t index;
    int32_t keyless;
} refused_record;

enum walk_stage {
    BETWEEN,
    LENGTH,
    ATTRIBUTES,
    TIMESTAMP,
    OFFSET,
    KEY,
    KEY_BYTES,
    VALUE,
    VALUE_BYTES,
    HEADERS,
    HEADER_KEY,
    HEADER_KEY_BYTES,
    HEADER_VALUE,
    HEADER_VALUE_BYTES
};

typedef struct {
    record_frame frame;
    int consecutive;
    /* What the topic asks of each record. */
    int needs_key;
    int64_t earliest, latest;
    /* What was found. */
    int64_t lowest, highest;
    int32_t index, first_keyless, refused;
    int32_t last_delta; /* where there may be gaps, offsets still have to grow */
    refused_record *named;
    /* The record that a window has cut. */
    int stage, taken;
    uint64_t number;
    int64_t left, skip, size, timestamp_delta;
    int32_t offset_delta, key_size, headers_left;
} record_walk;

static void walk_begin(record_walk *walk)
{
    walk->lowest = INT64_MAX;
    walk->highest = INT64_MIN;
    walk->index = walk->refused = 0;
    walk->last_delta = -1;
    walk->first_keyless = -1;
    walk->named = NULL;
    walk->stage = BETWEEN;
}

static void walk_end(record_walk *walk)
{
    free(walk->named);
    walk->named = NULL;
}

static void walk_refuse(record_walk *walk, int64_t timestamp, int keyless)
{
    if (!walk->named)
        walk->named = (refused_record *)malloc(REFUSED_NAMED * sizeof(refused_record));
    if (walk->named && walk->refused < REFUSED_NAMED) {
        refused_record *named = &walk->named[walk->refused];
        named->timestamp = timestamp;
        named->index = walk->index;
        named->keyless = keyless;
    }
    walk->refused++;
}

/* Whether the topic takes a sound record. One without a timestamp (-1) is never too early or too late. */
static inline void walk_judge(record_walk *walk, int64_t timestamp, int32_t key_size)
{
    if (walk->needs_key && key_size < 0)
        walk_refuse(walk, timestamp, 1);
    else if ((timestamp < walk->earliest || timestamp > walk->latest) && timestamp != -1)
        walk_refuse(walk, timestamp, 0);
}

/* Takes a sound record into account. */
static inline void walk_count(record_walk *walk, int64_t timestamp, int32_t key_size)
{
    if (timestamp < walk->lowest)
        walk->lowest = timestamp;
    if (timestamp > walk->highest)
        walk->highest = timestamp;
    if (key_size < 0 && walk->first_keyless < 0)
        walk->first_keyless = walk->index;
    walk_judge(walk, timestamp, key_size);
    walk->index++;
}

/* `next_record` for records one after the other. */
static inline const uint8_t *walk_next(
    record_walk *walk, const uint8_t *p, const uint8_t *end, int32_t index, record_parts *parts, int *fault)
{
    int32_t delta;
    p = next_record(&walk->frame, p, end, walk->consecutive ? index : -1, parts, fault);
    if (!p)
        return NULL;
    delta = (int32_t)(parts->offset - walk->frame.base_offset);
    if (delta <= walk->last_delta) {
        *fault = FAULT_OFFSET;
        return NULL;
    }
    walk->last_delta = walk->consecutive ? -1 : delta;
    return p;
}

/* What a pass over records finds, in variables that the compiler can keep in registers. */
typedef struct {
    int64_t lowest, highest;
    int32_t index, first_keyless;
    /* The first two bytes of the last record, how many of them are its length, and how long it was with them. */
    int32_t head, prefix;
    int64_t whole;
} walk_tally;

/* A number of one to three bytes, the common lengths; the caller has made sure that there are so many. */
#define TAKE_SHORT(p, raw)                                                                                             \
    do {                                                                                                               \
        if ((p)[0] < 0x80) {                                                                                           \
            raw = (p)[0];                                                                                              \
            p += 1;                                                                                                    \
        } else if ((p)[1] < 0x80) {                                                                                    \
            raw = (uint32_t)((p)[0] & 0x7f) | (uint32_t)(p)[1] << 7;                                                   \
            p += 2;                                                                                                    \
        } else if ((p)[2] < 0x80) {                                                                                    \
            raw = (uint32_t)((p)[0] & 0x7f) | (uint32_t)((p)[1] & 0x7f) << 7 | (uint32_t)(p)[2] << 14;                 \
            p += 3;                                                                                                    \
        } else {                                                                                                       \
            return NULL;                                                                                               \
        }                                                                                                              \
    } while (0)

enum { SHORT_FIELDS = 3 + 1 + 3 + 3 + 3 };

/* The position after a record of the common shape: numbers of up to three bytes, no headers, the next offset. NULL for
 * any other, sound or not: `next_record` takes that. Every batch that is appended goes through here record by record,
 * and this takes half the time. */
static inline const uint8_t *pass_common(
    const record_frame *frame, const uint8_t *p, const uint8_t *end, walk_tally *tally)
{
    uint32_t raw;
    int64_t timestamp;
    const uint8_t *stop, *start = p;
    uint16_t head;
    if (end - p < SHORT_FIELDS)
        return NULL;
    /* Most records are as long as the one before. Then where the next one begins is known before this one is read. */
    memcpy(&head, p, sizeof head);
    if (head == tally->head) {
        if (tally->whole > end - p)
            return NULL;
        stop = p + tally->whole;
        p += tally->prefix;
    } else {
        TAKE_SHORT(p, raw);
        if (raw & 1 || raw >> 1 > (uint64_t)(end - p))
            return NULL;
        stop = p + (raw >> 1);
        tally->head = p - start <= 2 ? head : -1;
        tally->prefix = (int32_t)(p - start);
        tally->whole = stop - start;
    }
    p++;
    TAKE_SHORT(p, raw);
    if (__builtin_add_overflow(frame->base_timestamp, (int64_t)((raw >> 1) ^ (0u - (uint64_t)(raw & 1))), &timestamp))
        return NULL;
    TAKE_SHORT(p, raw);
    if (raw != (uint32_t)tally->index << 1)
        return NULL;
    TAKE_SHORT(p, raw);
    if (raw == 1) {
        if (tally->first_keyless < 0)
            tally->first_keyless = tally->index;
    } else {
        if (raw & 1 || stop - p < (int64_t)(raw >> 1) + 2)
            return NULL;
        p += raw >> 1;
    }
    if (stop - p < 4) {
        /* an empty or null value: so near the end the bytes of its length are counted one by one */
        if (stop - p != 2 || p[0] > 1)
            return NULL;
        p += 1;
    } else {
        TAKE_SHORT(p, raw);
        if (raw & 1 || (int64_t)(raw >> 1) != stop - p - 1)
            return NULL;
        p += raw >> 1;
    }
    if (*p != 0)
        return NULL;
    if (timestamp < tally->lowest)
        tally->lowest = timestamp;
    if (timestamp > tally->highest)
        tally->highest = timestamp;
    return stop;
}

/* Records that are all in memory up to `end`: those that begin before `limit`. Returns the position after the last of
 * them, or of the one at fault. Only what is common to all of them is noted; `walk_refusals` looks at each. */
static const uint8_t *walk_until(
    record_walk *walk, const uint8_t *p, const uint8_t *limit, const uint8_t *end, int *fault)
{
    walk_tally tally = {walk->lowest, walk->highest, walk->index, walk->first_keyless, -1, 0, 0};
    const record_frame frame = walk->frame;
    const int common = walk->consecutive && !frame.has_append_time;
    record_parts parts;
    const uint8_t *after;
    while (tally.index < frame.count && p < limit) {
        after = common ? pass_common(&frame, p, end, &tally) : NULL;
        if (!after) {
            after = walk_next(walk, p, end, tally.index, &parts, fault);
            if (!after)
                break;
            if (parts.timestamp < tally.lowest)
                tally.lowest = parts.timestamp;
            if (parts.timestamp > tally.highest)
                tally.highest = parts.timestamp;
            if (parts.key_size < 0 && tally.first_keyless < 0)
                tally.first_keyless = tally.index;
        }
        tally.index++;
        p = after;
    }
    walk->lowest = tally.lowest;
    walk->highest = tally.highest;
    walk->index = tally.index;
    walk->first_keyless = tally.first_keyless;
    return p;
}

/* The end of records that were all in memory: whether there are as many as announced, and nothing behind them. */
static inline int walk_finish(record_walk *walk, const uint8_t *p, const uint8_t *end)
{
    if (walk->index < walk->frame.count)
        return FAULT_RECORD;
    return p == end ? FAULT_NONE : FAULT_TRAILING;
}

static inline int walk_may_refuse(const record_walk *walk)
{
    return (walk->needs_key && walk->first_keyless >= 0) || walk->lowest < walk->earliest
        || walk->highest > walk->latest;
}

/* A second pass over sound records, from `p` on, that names those the topic does not take. */
static void walk_refusals(record_walk *walk, const uint8_t *p, const uint8_t *end)
{
    record_parts parts;
    int fault;
    for (walk->index = 0; walk->index < walk->frame.count && p; walk->index++) {
        p = next_record(&walk->frame, p, end, -1, &parts, &fault);
        if (p)
            walk_judge(walk, parts.timestamp, parts.key_size);
    }
}

/* One number of a cut record: 1 when it is whole, 0 when the window ended before, -1 when it is none. */
static int walk_number(record_walk *walk, const uint8_t **p, const uint8_t *end, int limit)
{
    while (*p < end) {
        uint64_t byte = *(*p)++;
        int shift = 7 * walk->taken++;
        if (walk->stage != LENGTH && walk->left-- == 0)
            return -1;
        if (walk->taken > limit || (shift == 63 && byte > 1))
            return -1;
        walk->number |= (byte & 0x7f) << shift;
        if (byte < 0x80)
            return limit == 5 && walk->number > UINT32_MAX ? -1 : 1;
    }
    return 0;
}

static inline void walk_stage(record_walk *walk, int stage)
{
    walk->stage = stage;
    walk->number = 0;
    walk->taken = 0;
}

/* The end of a cut record: the same questions in the same order as in `next_record` and `walk_next`. */
static int walk_cut_record_ends(record_walk *walk)
{
    int64_t timestamp;
    if (walk->left)
        return FAULT_RECORD;
    if (walk->offset_delta < 0 || walk->offset_delta > walk->frame.last_offset_delta
        || (walk->consecutive && walk->offset_delta != walk->index))
        return FAULT_OFFSET;
    if (__builtin_add_overflow(walk->frame.base_timestamp, walk->timestamp_delta, &timestamp))
        return FAULT_TIMESTAMP;
    if (walk->offset_delta <= walk->last_delta)
        return FAULT_OFFSET;
    walk->last_delta = walk->consecutive ? -1 : walk->offset_delta;
    if (walk->frame.has_append_time)
        timestamp = walk->frame.append_time;
    walk_count(walk, timestamp, walk->key_size);
    walk->stage = BETWEEN;
    return FAULT_NONE;
}

/* What follows once the number of the present stage is known. */
static int walk_number_read(record_walk *walk)
{
    int64_t value = (int64_t)((walk->number >> 1) ^ (0u - (uint64_t)(walk->number & 1)));
    int32_t small = (int32_t)value;
    int nullable = 1;
    switch (walk->stage) {
    case LENGTH:
        if (small < 1)
            return FAULT_RECORD;
        walk->left = small;
        walk_stage(walk, ATTRIBUTES);
        return FAULT_NONE;
    case TIMESTAMP:
        walk->timestamp_delta = value;
        walk_stage(walk, OFFSET);
        return FAULT_NONE;
    case OFFSET:
        walk->offset_delta = small;
        walk_stage(walk, KEY);
        return FAULT_NONE;
    case HEADERS:
        if (small < 0 || small > walk->left / 2)
            return FAULT_RECORD;
        walk->headers_left = small;
        if (!small)
            return walk_cut_record_ends(walk);
        walk_stage(walk, HEADER_KEY);
        return FAULT_NONE;
    case KEY:
        walk->key_size = small;
        break;
    case HEADER_KEY:
        nullable = 0;
        break;
    }
    /* A length, and its bytes are next. */
    if (small > walk->left || small < -1 || (small == -1 && !nullable))
        return FAULT_RECORD;
    walk->skip = small < 0 ? 0 : small;
    walk_stage(walk, walk->stage + 1);
    return FAULT_NONE;
}

static int walk_bytes_passed(record_walk *walk)
{
    switch (walk->stage) {
    case HEADER_VALUE_BYTES:
        if (--walk->headers_left == 0)
            return walk_cut_record_ends(walk);
        walk_stage(walk, HEADER_KEY);
        return FAULT_NONE;
    default: /* what comes next stands next in the list of stages */
        walk_stage(walk, walk->stage + 1);
        return FAULT_NONE;
    }
}

/* Goes on within a cut record until it or the window ends. */
static int walk_cut_record(record_walk *walk, const uint8_t **p, const uint8_t *end)
{
    int fault = FAULT_NONE, read;
    while (walk->stage != BETWEEN && !fault) {
        switch (walk->stage) {
        case ATTRIBUTES:
            if (*p == end)
                return FAULT_NONE;
            (*p)++;
            walk->left--;
            walk_stage(walk, TIMESTAMP);
            break;
        case KEY_BYTES:
        case VALUE_BYTES:
        case HEADER_KEY_BYTES:
        case HEADER_VALUE_BYTES: {
            int64_t here = end - *p < walk->skip ? end - *p : walk->skip;
            *p += here;
            walk->left -= here;
            walk->skip -= here;
            if (walk->skip)
                return FAULT_NONE;
            fault = walk_bytes_passed(walk);
            break;
        }
        default:
            read = walk_number(walk, p, end, walk->stage == TIMESTAMP ? 10 : 5);
            if (read == 0)
                return FAULT_NONE;
            fault = read < 0 ? FAULT_RECORD : walk_number_read(walk);
        }
    }
    return fault;
}

/* Whether the record at `p` goes on behind the window, as far as its length can be seen. */
static int walk_is_cut(const uint8_t *p, const uint8_t *end)
{
    int32_t length;
    const uint8_t *body = take_varint(p, end, &length);
    if (!body)
        return end - p < 5;
    return length > end - body;
}

/* The next window. `*begun` is where the record at fault began, counted from the first window on. */
static int walk_window(record_walk *walk, const uint8_t *p, const uint8_t *end, int64_t before, int64_t *begun)
{
    const uint8_t *first = p;
    record_parts parts;
    int fault = FAULT_NONE;
    for (;;) {
        if (walk->stage != BETWEEN) {
            fault = walk_cut_record(walk, &p, end);
            if (fault || walk->stage != BETWEEN)
                return fault;
        }
        *begun = before + (p - first);
        if (walk->index == walk->frame.count)
            return p == end ? FAULT_NONE : FAULT_TRAILING;
        while (walk->index < walk->frame.count && !walk_is_cut(p, end)) {
            const uint8_t *after = walk_next(walk, p, end, walk->index, &parts, &fault);
            if (!after)
                return fault;
            walk_count(walk, parts.timestamp, parts.key_size);
            p = after;
            *begun = before + (p - first);
        }
        if (walk->index < walk->frame.count) {
            if (p == end)
                return FAULT_NONE;
            walk_stage(walk, LENGTH);
        }
    }
}

#endif
