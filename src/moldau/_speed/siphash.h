/* SipHash-2-4 with 128 bits of result: keys are told apart by it alone, so nobody may be able to choose two that
 * collide. That is what the secret seed is for; MD5 or a plain fast hash would not do.
 */
#ifndef MOLDAU_SIPHASH_H
#define MOLDAU_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t sip_rotate(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static inline uint64_t sip_load(const uint8_t *p)
{
    uint64_t value = 0;
    for (int index = 7; index >= 0; index--)
        value = (value << 8) | p[index];
    return value;
}

#define SIP_ROUND(v0, v1, v2, v3)                              \
    do {                                                       \
        v0 += v1; v1 = sip_rotate(v1, 13); v1 ^= v0; v0 = sip_rotate(v0, 32); \
        v2 += v3; v3 = sip_rotate(v3, 16); v3 ^= v2;           \
        v0 += v3; v3 = sip_rotate(v3, 21); v3 ^= v0;           \
        v2 += v1; v1 = sip_rotate(v1, 17); v1 ^= v2; v2 = sip_rotate(v2, 32); \
    } while (0)

static inline void siphash128(const uint8_t *p, size_t size, uint64_t k0, uint64_t k1, uint64_t *low, uint64_t *high)
{
    uint64_t v0 = k0 ^ 0x736f6d6570736575ULL, v1 = k1 ^ 0x646f72616e646f6dULL ^ 0xee;
    uint64_t v2 = k0 ^ 0x6c7967656e657261ULL, v3 = k1 ^ 0x7465646279746573ULL;
    uint64_t last = (uint64_t)size << 56;
    const uint8_t *end = p + (size & ~(size_t)7);
    for (; p != end; p += 8) {
        uint64_t word = sip_load(p);
        v3 ^= word;
        SIP_ROUND(v0, v1, v2, v3);
        SIP_ROUND(v0, v1, v2, v3);
        v0 ^= word;
    }
    for (size_t index = 0; index < (size & 7); index++)
        last |= (uint64_t)p[index] << (8 * index);
    v3 ^= last;
    SIP_ROUND(v0, v1, v2, v3);
    SIP_ROUND(v0, v1, v2, v3);
    v0 ^= last;
    v2 ^= 0xee;
    for (int round = 0; round < 4; round++)
        SIP_ROUND(v0, v1, v2, v3);
    *low = v0 ^ v1 ^ v2 ^ v3;
    v1 ^= 0xdd;
    for (int round = 0; round < 4; round++)
        SIP_ROUND(v0, v1, v2, v3);
    *high = v0 ^ v1 ^ v2 ^ v3;
}

#endif
