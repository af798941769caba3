/* CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), the checksum of a record batch.
 *
 * Four ways to the same number, picked once at start: the SSE4.2 instruction, wide multiplication beside it where the
 * machine has that, the ARMv8 instruction, and tables for every other machine. The functions that use an instruction are compiled for it by attribute, not by a flag
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
#if defined(__clang__) && __clang_major__ >= 14
#define CRC32C_TARGET __attribute__((target("sse4.2,crc32"))) /* newer ones count the instruction as a feature of its own */
#else
#define CRC32C_TARGET __attribute__((target("sse4.2")))
#endif
#define CRC32C_STEP8(crc, word) _mm_crc32_u64((crc), (word))
#define CRC32C_STEP1(crc, byte) _mm_crc32_u8((uint32_t)(crc), (byte))
static int crc32c_has_instruction(void)
{
    /* asked of the CPU itself: __builtin_cpu_supports needs a part of the compiler's library that not every one brings */
    unsigned int a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
}
#elif defined(__GNUC__) && defined(__aarch64__) && (defined(__linux__) || defined(__APPLE__)) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_acle.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif
#ifdef __clang__
#define CRC32C_TARGET __attribute__((target("crc")))
#else
#define CRC32C_TARGET __attribute__((target("+crc")))
#endif
#define CRC32C_STEP8(crc, word) __crc32cd((uint32_t)(crc), (word))
#define CRC32C_STEP1(crc, byte) __crc32cb((uint32_t)(crc), (byte))
static int crc32c_has_instruction(void)
{
#ifdef __linux__
    return (getauxval(AT_HWCAP) & (1ul << 7)) != 0; /* HWCAP_CRC32 */
#else
    return 1; /* every one that macOS runs on has it */
#endif
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

#if defined(CRC32C_TARGET) && defined(__x86_64__)
#include <immintrin.h>
#define CRC32C_WIDE __attribute__((target("avx512f,vpclmulqdq,sse4.2")))

/* Carry-less multiplication carries sixteen words at once over the next 256 bytes: what is left of the whole message is
 * 256 bytes with the same checksum. It takes a third of the time of the instruction, from some hundred bytes on. */
enum { CRC32C_BLOCK = 256, CRC32C_WORTH = 4 * CRC32C_BLOCK };
static uint32_t crc32c_far, crc32c_near;

/* x to the power of n modulo the polynomial, bits reversed like everything here. */
static uint32_t crc32c_power(int n)
{
    uint32_t value = (uint32_t)1 << 31;
    while (n--)
        value = value >> 1 ^ (value & 1 ? 0x82f63b78 : 0);
    return value;
}

static void crc32c_prepare_wide(void)
{
    /* The first half of a pair of words is 64 bits further away; the product of reversed numbers is one bit short. */
    crc32c_far = crc32c_power(8 * CRC32C_BLOCK + 32 - 1);
    crc32c_near = crc32c_power(8 * CRC32C_BLOCK - 32 - 1);
}

CRC32C_WIDE static inline __m512i crc32c_fold(__m512i left, __m512i powers, __m512i next)
{
    __m512i far = _mm512_clmulepi64_epi128(left, powers, 0x00);
    __m512i near = _mm512_clmulepi64_epi128(left, powers, 0x11);
    return _mm512_ternarylogic_epi64(far, near, next, 0x96); /* the sum of all three */
}

CRC32C_WIDE static uint32_t crc32c_wide(uint32_t start, const uint8_t *p, size_t size)
{
    uint8_t left[CRC32C_BLOCK];
    if (size < CRC32C_WORTH)
        return crc32c_instruction(start, p, size);
    __m512i powers = _mm512_set4_epi32(0, (int)crc32c_near, 0, (int)crc32c_far);
    __m512i first = _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~start));
    __m512i a = _mm512_xor_si512(_mm512_loadu_si512(p), first);
    __m512i b = _mm512_loadu_si512(p + 64);
    __m512i c = _mm512_loadu_si512(p + 128);
    __m512i d = _mm512_loadu_si512(p + 192);
    for (p += CRC32C_BLOCK, size -= CRC32C_BLOCK; size >= CRC32C_BLOCK; p += CRC32C_BLOCK, size -= CRC32C_BLOCK) {
        a = crc32c_fold(a, powers, _mm512_loadu_si512(p));
        b = crc32c_fold(b, powers, _mm512_loadu_si512(p + 64));
        c = crc32c_fold(c, powers, _mm512_loadu_si512(p + 128));
        d = crc32c_fold(d, powers, _mm512_loadu_si512(p + 192));
    }
    _mm512_storeu_si512(left, a);
    _mm512_storeu_si512(left + 64, b);
    _mm512_storeu_si512(left + 128, c);
    _mm512_storeu_si512(left + 192, d);
    /* `~0` as a start takes back that the instruction turns it around. */
    return crc32c_instruction(crc32c_instruction(~(uint32_t)0, left, CRC32C_BLOCK), p, size);
}

static int crc32c_has_wide(void)
{
    unsigned int a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 0xe6) != 0xe6) /* whether the operating system keeps all of the wide registers */
        return 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX512F) && (c & bit_VPCLMULQDQ);
}
#endif

typedef uint32_t (*crc32c_function)(uint32_t, const uint8_t *, size_t);

/* The way of machines that have the instruction and nothing wider. */
static uint32_t crc32c_narrow(uint32_t start, const uint8_t *p, size_t size)
{
#ifdef CRC32C_TARGET
    if (crc32c_has_instruction())
        return crc32c_instruction(start, p, size);
#endif
    return crc32c_tables(start, p, size);
}

/* Prepares the tables and returns the fastest way this machine has. */
static crc32c_function crc32c_choose(void)
{
    crc32c_prepare_slices();
#ifdef CRC32C_TARGET
    if (crc32c_has_instruction()) {
        crc32c_prepare_stripe(crc32c_over_long, CRC32C_LONG);
        crc32c_prepare_stripe(crc32c_over_short, CRC32C_SHORT);
#ifdef CRC32C_WIDE
        if (crc32c_has_wide()) {
            crc32c_prepare_wide();
            return crc32c_wide;
        }
#endif
        return crc32c_instruction;
    }
#endif
    return crc32c_tables;
}

#endif
