// CRC-32 by carry-less multiplication where the processor has it (Gopal et al.: "Fast CRC computation for generic
// polynomials using PCLMULQDQ", Intel 2009), by ARM's instruction for this very polynomial, otherwise four bytes at a time
// from tables.
//
// Folding keeps four 16-byte remainders 64 bytes apart; the constants are x^n mod P, bit-reflected, for the distances
// that a remainder is moved. The choice is made at run time, so the portable build is as fast. Checked against zlib.
#include "layout/crc32.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace skein {
namespace {

constexpr u32 kPolynomial = 0xedb88320u;

using Tables = std::array<std::array<u32, 256>, 4>;

Tables make_tables() {
  Tables t{};
  for (u32 i = 0; i < 256; ++i) {
    u32 value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1u ? value >> 1 ^ kPolynomial : value >> 1;
    t[0][i] = value;
  }
  // Table k holds the effect of a byte that k more bytes follow.
  for (size_t k = 1; k < 4; ++k) {
    for (u32 i = 0; i < 256; ++i) t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 255u];
  }
  return t;
}

u32 by_tables(const u8* p, i64 n, u32 crc) {
  static const Tables t = make_tables();
  for (; n >= 4; n -= 4, p += 4) {
    crc ^= static_cast<u32>(p[0]) | static_cast<u32>(p[1]) << 8 | static_cast<u32>(p[2]) << 16 |
           static_cast<u32>(p[3]) << 24;
    crc = t[3][crc & 255u] ^ t[2][crc >> 8 & 255u] ^ t[1][crc >> 16 & 255u] ^ t[0][crc >> 24];
  }
  for (; n > 0; --n, ++p) crc = crc >> 8 ^ t[0][(crc ^ *p) & 255u];
  return crc;
}

#if defined(__x86_64__)
#define SKEIN_CLMUL __attribute__((target("pclmul,sse4.1")))

SKEIN_CLMUL inline __m128i load(const u8* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }

// Moves a remainder by the distance of `k` and adds the data there.
SKEIN_CLMUL inline __m128i fold(__m128i x, __m128i k, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(x, k, 0x00);
  const __m128i high = _mm_clmulepi64_si128(x, k, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// n is a multiple of 16 and at least 64.
SKEIN_CLMUL u32 by_folding(const u8* p, i64 n, u32 crc) {
  const __m128i by64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
  const __m128i by16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  const __m128i by8 = _mm_set_epi64x(0, 0x0163cd6124);
  const __m128i barrett = _mm_set_epi64x(0x01f7011641, 0x01db710641);
  const __m128i words = _mm_setr_epi32(-1, 0, -1, 0);
  __m128i x0 = _mm_xor_si128(load(p), _mm_cvtsi32_si128(static_cast<int>(crc)));
  __m128i x1 = load(p + 16), x2 = load(p + 32), x3 = load(p + 48);
  for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
    x0 = fold(x0, by64, load(p));
    x1 = fold(x1, by64, load(p + 16));
    x2 = fold(x2, by64, load(p + 32));
    x3 = fold(x3, by64, load(p + 48));
  }
  x0 = fold(fold(fold(x0, by16, x1), by16, x2), by16, x3);
  for (; n >= 16; p += 16, n -= 16) x0 = fold(x0, by16, load(p));
  // 128 bits to 64, to 32.
  x0 = _mm_xor_si128(_mm_srli_si128(x0, 8), _mm_clmulepi64_si128(x0, by16, 0x10));
  x0 = _mm_xor_si128(_mm_srli_si128(x0, 4), _mm_clmulepi64_si128(_mm_and_si128(x0, words), by8, 0x00));
  __m128i q = _mm_clmulepi64_si128(_mm_and_si128(x0, words), barrett, 0x10);
  q = _mm_clmulepi64_si128(_mm_and_si128(q, words), barrett, 0x00);
  return static_cast<u32>(_mm_extract_epi32(_mm_xor_si128(x0, q), 1));
}

bool can_fold() {
  static const bool able = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return able;
}
#elif defined(__aarch64__)

// n is a multiple of 8.
u32 by_instruction(const u8* p, i64 n, u32 crc) {
  for (; n > 0; n -= 8, p += 8) {
    u64 word;
    std::memcpy(&word, p, 8);
    // Compilers disagree on how a function is allowed an extension; assemblers do not.
    asm(".arch_extension crc\n\tcrc32x %w0, %w0, %x1" : "+r"(crc) : "r"(word));
  }
  return crc;
}

// Optional in the first version of the architecture, which only a few old servers and boards still are.
bool has_instruction() {
#if defined(__linux__)
  static const bool able = (getauxval(AT_HWCAP) & (1u << 7)) != 0;  // HWCAP_CRC32
  return able;
#else
  return true;
#endif
}
#endif

}  // namespace

i64 crc32(const u8* bytes, i64 n, i64 before) {
  u32 crc = ~static_cast<u32>(before);
#if defined(__x86_64__)
  if (n >= 64 && can_fold()) {
    const i64 folded = n / 16 * 16;
    crc = by_folding(bytes, folded, crc);
    bytes += folded;
    n -= folded;
  }
#elif defined(__aarch64__)
  if (has_instruction()) {
    const i64 whole = n / 8 * 8;
    crc = by_instruction(bytes, whole, crc);
    bytes += whole;
    n -= whole;
  }
#endif
  return static_cast<i64>(~by_tables(bytes, n, crc));
}

}  // namespace skein
