/* CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), the checksum of a record batch.
 *
 * Three ways to the same number, picked once at start: the SSE4.2 instruction, the ARMv8 instruction, and tables
 * for every other machine. The functions that use an instruction are compiled for it by attribute, not by a flag
 * for the whole file, so the module still loads on a processor without it.
 *
 * One instruction takes 8 bytes and its result three cycles later, so a single chain leaves two thirds of the unit
 * idle: three stripes run side by side and are joined by tables that carry a checksum over a stripe of zeros.
 */
#ifndef MOLDAU_CRC32C_H
#define MOLDAU_CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CRC32C_POLYNOMIAL 0x82f63b78u

static uint32_t crc32c_slices[8][256];

static void crc32c_prepare_slices(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (CRC32C_POLYNOMIAL & (0u - (crc & 1)));
        crc32c_slices[0][byte] = crc;
    }
    for (int slice = 1; slice < 8; slice++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = crc32c_slices[slice - 1][byte];
            crc32c_slices[slice][byte] = (before >> 8) ^ crc32c_slices[0][before & 0xff];
        }
}

/* Eight bytes per step through eight tables; bytes are addressed one by one, so byte order does not matter. */
static uint32_t crc32c_tables(uint32_t crc, const uint8_t *p, size_t size)
{
    crc = ~crc;
    for (; size >= 8; p += 8, size -= 8) {
        crc = crc32c_slices[7][(crc ^ p[0]) & 0xff] ^ crc32c_slices[6][((crc >> 8) ^ p[1]) & 0xff]
            ^ crc32c_slices[5][((crc >> 16) ^ p[2]) & 0xff] ^ crc32c_slices[4][((crc >> 24) ^ p[3]) & 0xff]
            ^ crc32c_slices[3][p[4]] ^ crc32c_slices[2][p[5]] ^ crc32c_slices[1][p[6]] ^ crc32c_slices[0][p[7]];
    }
    for (; size; p++, size--)
        crc = (crc >> 8) ^ crc32c_slices[0][(crc ^ *p) & 0xff];
    return ~crc;
}

#if defined(__GNUC__) && defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#define CRC32C_TARGET __attribute__((target("sse4.2")))
#define CRC32C_STEP8(crc, word) _mm_crc32_u64((crc), (word))
#define CRC32C_STEP1(crc, byte) _mm_crc32_u8((uint32_t)(crc), (byte))
static int crc32c_has_instruction(void)
{
    /* asked of the CPU itself: __builtin_cpu_supports needs a part of the compiler's library that not every one brings */
    unsigned int a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
}
#elif defined(__GNUC__) && defined(__aarch64__) && defined(__linux__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_acle.h>
#include <sys/auxv.h>
#ifdef __clang__
#define CRC32C_TARGET __attribute__((target("crc")))
#else
#define CRC32C_TARGET __attribute__((target("+crc")))
#endif
#define CRC32C_STEP8(crc, word) __crc32cd((uint32_t)(crc), (word))
#define CRC32C_STEP1(crc, byte) __crc32cb((uint32_t)(crc), (byte))
static int crc32c_has_instruction(void)
{
    return (getauxval(AT_HWCAP) & (1ul << 7)) != 0; /* HWCAP_CRC32 */
}
#endif

#ifdef CRC32C_TARGET

enum { CRC32C_LONG = 8192, CRC32C_SHORT = 256 };
static uint32_t crc32c_over_long[4][256], crc32c_over_short[4][256];

static inline uint64_t crc32c_word(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

/* over[k][b] is what byte k = b of a checksum becomes after `size` zero bytes. The map is linear over XOR, so 32
 * single bits are carried by the instruction itself and all other entries are sums of those. */
CRC32C_TARGET static void crc32c_prepare_stripe(uint32_t over[4][256], size_t size)
{
    for (int k = 0; k < 4; k++) {
        over[k][0] = 0;
        for (int bit = 0; bit < 8; bit++) {
            uint64_t crc = (uint64_t)1 << (8 * k + bit);
            for (size_t done = 0; done < size; done += 8)
                crc = CRC32C_STEP8(crc, 0);
            over[k][1 << bit] = (uint32_t)crc;
        }
        for (int byte = 1; byte < 256; byte++)
            over[k][byte] = over[k][byte & (byte - 1)] ^ over[k][byte & -byte];
    }
}

static inline uint32_t crc32c_carry(const uint32_t over[4][256], uint64_t crc)
{
    return over[0][crc & 0xff] ^ over[1][(crc >> 8) & 0xff] ^ over[2][(crc >> 16) & 0xff] ^ over[3][(crc >> 24) & 0xff];
}

CRC32C_TARGET static inline uint64_t crc32c_three(uint64_t crc, const uint8_t *p, size_t stripe, const uint32_t over[4][256])
{
    uint64_t second = 0, third = 0;
    const uint8_t *end = p + stripe;
    for (; p < end; p += 8) {
        crc = CRC32C_STEP8(crc, crc32c_word(p));
        second = CRC32C_STEP8(second, crc32c_word(p + stripe));
        third = CRC32C_STEP8(third, crc32c_word(p + 2 * stripe));
    }
    crc = crc32c_carry(over, crc) ^ second;
    return crc32c_carry(over, crc) ^ third;
}

CRC32C_TARGET static uint32_t crc32c_instruction(uint32_t start, const uint8_t *p, size_t size)
{
    uint64_t crc = (uint32_t)~start;
    for (; size >= 3 * CRC32C_LONG; p += 3 * CRC32C_LONG, size -= 3 * CRC32C_LONG)
        crc = crc32c_three(crc, p, CRC32C_LONG, crc32c_over_long);
    for (; size >= 3 * CRC32C_SHORT; p += 3 * CRC32C_SHORT, size -= 3 * CRC32C_SHORT)
        crc = crc32c_three(crc, p, CRC32C_SHORT, crc32c_over_short);
    for (; size >= 8; p += 8, size -= 8)
        crc = CRC32C_STEP8(crc, crc32c_word(p));
    for (; size; p++, size--)
        crc = CRC32C_STEP1(crc, *p);
    return ~(uint32_t)crc;
}

#endif

typedef uint32_t (*crc32c_function)(uint32_t, const uint8_t *, size_t);

/* Prepares the tables and returns the fastest way this machine has. */
static crc32c_function crc32c_choose(void)
{
    crc32c_prepare_slices();
#ifdef CRC32C_TARGET
    if (crc32c_has_instruction()) {
        crc32c_prepare_stripe(crc32c_over_long, CRC32C_LONG);
        crc32c_prepare_stripe(crc32c_over_short, CRC32C_SHORT);
        return crc32c_instruction;
    }
#endif
    return crc32c_tables;
}

#endif
