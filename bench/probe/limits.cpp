/**
* Measures the limits of this machine, to which benchmarks relate kernels: fused multiply-adds from
 * registers alone, copying, and copying random rows. Shares no code with the kernels it is compared with.
 *
 *   limits <threads>        prints lines `<name> <bytes> <best rate>`: rates in GFLOP/s or GB/s (read plus written)
 *
 * Each figure is the best over repeats, over ordinary and huge pages, and over ways to do it: a limit is what was reached once.
 */
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));

double seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/** Shortest time of `f` over at least `least` seconds and five calls. */
template <class F>
double best_time(double least, F f) {
  double best = 1e30;
  const double start = seconds();
  for (int i = 0; i < 5 || seconds() - start < least; i++) {
    const double before = seconds();
    f();
    best = std::min(best, seconds() - before);
  }
  return best;
}

/** Twelve independent chains hide the latency of two units with up to six cycles each. */
float fma_chains(int rounds, float seed) {
  constexpr int kChains = 12;
  Vector acc[kChains];
  Vector x, y;
  for (int l = 0; l < kLanes; l++) x[l] = 1.0f - seed, y[l] = seed;
  for (int c = 0; c < kChains; c++) acc[c] = y + float(c);
  for (int r = 0; r < rounds; r++) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; c++) acc[c] = acc[c] * x + y;
  }
  float total = 0;
  for (int c = 0; c < kChains; c++)
    for (int l = 0; l < kLanes; l++) total += acc[c][l];
  return total;
}

void probe_fma(int threads) {
  constexpr int kRounds = 1 << 19;
  volatile float seed = 1e-6f;
  std::vector<float> sink(threads * 64);
  const double time = best_time(1.5, [&] {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) sink[t * 64] = fma_chains(kRounds, seed);
  });
  std::printf("gemm 0 %.3f\n", 2.0 * 12 * kLanes * kRounds * threads / time / 1e9);
}

/** Zeroed pages, huge ones if asked and granted; never given back, the process is short. */
char* pages(size_t bytes, bool huge, int threads) {
  constexpr size_t kHuge = size_t(2) << 20;
  void* p = std::aligned_alloc(kHuge, (bytes + kHuge - 1) / kHuge * kHuge);
  if (p == nullptr) std::exit(1);
#if defined(MADV_HUGEPAGE)
  madvise(p, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else
  (void)huge;
#endif
  char* base = static_cast<char*>(p);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (size_t i = 0; i < bytes; i += 4096) base[i] = char(i >> 12);
  return base;
}

/** Stores that pass by the caches: without reading the target first. */
inline void stream_copy(char* to, const char* from, size_t bytes) {
#if defined(__AVX512F__)
  for (size_t i = 0; i < bytes; i += 64) _mm512_stream_si512((__m512i*)(to + i), _mm512_loadu_si512(from + i));
#elif defined(__AVX__)
  for (size_t i = 0; i < bytes; i += 32)
    _mm256_stream_si256((__m256i*)(to + i), _mm256_loadu_si256((const __m256i*)(from + i)));
#else
  std::memcpy(to, from, bytes);
#endif
}

void probe_copy(int threads, const std::vector<char*>& from, const std::vector<char*>& to, size_t bytes) {
  double best = 1e30;
  const size_t part = bytes / threads / 64 * 64;
  for (size_t kind = 0; kind < from.size(); kind++) {
    for (const bool stream : {false, true}) {
      best = std::min(best, best_time(0.15, [&] {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int t = 0; t < threads; t++) {
          if (stream) stream_copy(to[kind] + t * part, from[kind] + t * part, part);
          else std::memcpy(to[kind] + t * part, from[kind] + t * part, part);
        }
      }));
    }
  }
  std::printf("copy %zu %.3f\n", 2 * part * threads, 2.0 * part * threads / best / 1e9);
}

/** Rows of 512 bytes at random into a dense result: how far to fetch ahead is tried out, not known. */
double rows_time(int threads, const char* table, char* out, const std::vector<int32_t>& ids, bool stream, int ahead) {
  constexpr size_t kRow = 512;
  const int64_t n = int64_t(ids.size());
  return best_time(0.2, [&] {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
      if (ahead > 0 && i + ahead < n) {
        const char* next = table + size_t(ids[i + ahead]) * kRow;
        for (size_t line = 0; line < kRow; line += 64) __builtin_prefetch(next + line);
      }
      const char* row = table + size_t(ids[i]) * kRow;
      if (stream) stream_copy(out + size_t(i) * kRow, row, kRow);
      else std::memcpy(out + size_t(i) * kRow, row, kRow);
    }
  });
}

void probe_rows(int threads, const std::vector<char*>& from, const std::vector<char*>& to, size_t bytes) {
  const size_t rows = bytes / 512;
  std::vector<int32_t> ids(rows);
  uint64_t state = 1;
  for (auto& id : ids) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    id = int32_t((state >> 33) % rows);
  }
  double best = 1e30;
  for (size_t kind = 0; kind < from.size(); kind++)
    for (const bool stream : {false, true})
      for (const int ahead : {0, 4, 16}) best = std::min(best, rows_time(threads, from[kind], to[kind], ids, stream, ahead));
  std::printf("rows %zu %.3f\n", 2 * bytes, 2.0 * bytes / best / 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  probe_fma(threads);
  const size_t largest = size_t(512) << 20;
  const std::vector<char*> from = {pages(largest, false, threads), pages(largest, true, threads)};
  const std::vector<char*> to = {pages(largest, false, threads), pages(largest, true, threads)};
  // Half the traffic: a copy of 2 MiB moves 4 MiB.
  for (const size_t mib : {1, 4, 16, 64, 128, 256, 512}) probe_copy(threads, from, to, mib << 20);
  probe_rows(threads, from, to, largest);
  return 0;
}
