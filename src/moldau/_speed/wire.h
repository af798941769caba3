/* Big-endian integers and Kafka's varints, for every kernel.
 *
 * Numbers are put together from bytes: compilers turn that into one load and one byte swap, and it is right on every
 * machine and at every alignment. The take_ functions return the position after the number, or NULL where the bytes
 * end too early or the number does not fit its type: longer encodings than the type needs at most are refused.
 */
#ifndef MOLDAU_WIRE_H
#define MOLDAU_WIRE_H

#include <stdint.h>

static inline int16_t get16(const uint8_t *p)
{
    return (int16_t)(((uint16_t)p[0] << 8) | p[1]);
}

static inline int32_t get32(const uint8_t *p)
{
    return (int32_t)(((uint32_t)p[0] << 24) | ((uint32_t)p[1] << 16) | ((uint32_t)p[2] << 8) | p[3]);
}

static inline int64_t get64(const uint8_t *p)
{
    return (int64_t)(((uint64_t)(uint32_t)get32(p) << 32) | (uint32_t)get32(p + 4));
}

static inline void put16(uint8_t *p, int16_t value)
{
    p[0] = (uint8_t)((uint16_t)value >> 8);
    p[1] = (uint8_t)value;
}

static inline void put32(uint8_t *p, int32_t value)
{
    uint32_t v = (uint32_t)value;
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

static inline void put64(uint8_t *p, int64_t value)
{
    put32(p, (int32_t)((uint64_t)value >> 32));
    put32(p + 4, (int32_t)(uint32_t)(uint64_t)value);
}

/* An unsigned varint of at most `limit` bytes, from its second byte on; the first did not end it. */
static const uint8_t *take_rest(const uint8_t *p, const uint8_t *end, int limit, uint64_t *out)
{
    uint64_t value = *p++ & 0x7f;
    for (int taken = 1; taken < limit && p < end; taken++) {
        uint64_t byte = *p++;
        int shift = 7 * taken;
        if (shift == 63 && byte > 1)
            return 0;
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return p;
        }
    }
    return 0;
}

static inline const uint8_t *take_unsigned_varint(const uint8_t *p, const uint8_t *end, uint32_t *out)
{
    uint64_t raw;
    if (p >= end)
        return 0;
    if (*p < 0x80) {
        *out = *p;
        return p + 1;
    }
    if (end - p > 1 && p[1] < 0x80) { /* lengths of some hundred bytes: most of what is not one byte */
        *out = (uint32_t)(p[0] & 0x7f) | (uint32_t)p[1] << 7;
        return p + 2;
    }
    p = take_rest(p, end, 5, &raw);
    if (!p || raw > UINT32_MAX)
        return 0;
    *out = (uint32_t)raw;
    return p;
}

static inline const uint8_t *take_varint(const uint8_t *p, const uint8_t *end, int32_t *out)
{
    uint32_t raw;
    p = take_unsigned_varint(p, end, &raw);
    if (p)
        *out = (int32_t)((raw >> 1) ^ (0u - (raw & 1)));
    return p;
}

static inline const uint8_t *take_varlong(const uint8_t *p, const uint8_t *end, int64_t *out)
{
    uint64_t raw;
    if (p >= end)
        return 0;
    if (*p < 0x80) {
        raw = *p++;
    } else {
        p = take_rest(p, end, 10, &raw);
        if (!p)
            return 0;
    }
    *out = (int64_t)((raw >> 1) ^ (0u - (uint64_t)(raw & 1)));
    return p;
}

static inline uint8_t *put_varlong(uint8_t *p, int64_t value)
{
    uint64_t raw = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    while (raw >= 0x80) {
        *p++ = (uint8_t)(raw | 0x80);
        raw >>= 7;
    }
    *p++ = (uint8_t)raw;
    return p;
}

static inline int size_of_varlong(int64_t value)
{
    uint64_t raw = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    int size = 1;
    for (; raw >= 0x80; raw >>= 7)
        size++;
    return size;
}

#endif
