// metisPartition: the k-way partitioning of libmetis, loaded when first asked for, so that the addon needs no METIS to
// load. Only its header must be there when the addon is built, because the width of its integers is a build option.
#include "sample.h"

#if defined(__has_include)
#if __has_include(<metis.h>) && __has_include(<dlfcn.h>)
#define SKEIN_METIS 1
#include <dlfcn.h>
#include <metis.h>
#endif
#endif

#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace skein {

#if defined(SKEIN_METIS)

using PartGraphKway = decltype(&METIS_PartGraphKway);
using SetDefaultOptions = decltype(&METIS_SetDefaultOptions);

template <class F>
static F find_function(const char* name) {
  static void* library = [] {
    for (const char* file : {"libmetis.so.5", "libmetis.so", "libmetis.dylib"}) {
      if (void* found = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return found;
    }
    return static_cast<void*>(nullptr);
  }();
  return library == nullptr ? nullptr : reinterpret_cast<F>(dlsym(library, name));
}

// Weights may be null: then every node counts once, every edge too.
static i64 run_metis(const i32* offsets, const i32* indices, const i32* edgeWeights, const i32* nodeWeights,
                     i64 constraints, i64 n, i64 parts, i64 seed, i32* out) {
  if (!std::is_same_v<idx_t, i32>) return -1;
  static std::mutex one_at_a_time;  // its random numbers are global
  std::lock_guard<std::mutex> lock(one_at_a_time);
  const auto partition = find_function<PartGraphKway>("METIS_PartGraphKway");
  const auto defaults = find_function<SetDefaultOptions>("METIS_SetDefaultOptions");
  if (partition == nullptr || defaults == nullptr) return -1;
  idx_t options[METIS_NOPTIONS];
  defaults(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = static_cast<idx_t>(seed);
  idx_t nodes = static_cast<idx_t>(n), balanced = static_cast<idx_t>(constraints), wanted = static_cast<idx_t>(parts);
  idx_t cut = 0;
  const auto writable = [](const i32* p) { return reinterpret_cast<idx_t*>(const_cast<i32*>(p)); };
  const int status = partition(&nodes, &balanced, writable(offsets), writable(indices), writable(nodeWeights), nullptr,
                               writable(edgeWeights), &wanted, nullptr, nullptr, options, &cut,
                               reinterpret_cast<idx_t*>(out));
  if (status != METIS_OK) throw std::runtime_error("METIS returned status " + std::to_string(status));
  return cut;
}

#else

static i64 run_metis(const i32*, const i32*, const i32*, const i32*, i64, i64, i64, i64, i32*) { return -1; }

#endif

i64 metis_partition(const i32* offsets, const i32* indices, i64 n, i64 parts, i64 seed, i32* out) {
  return run_metis(offsets, indices, nullptr, nullptr, 1, n, parts, seed, out);
}

i64 metis_partition_weighted(const i32* offsets, const i32* indices, const i32* edgeWeights, const i32* nodeWeights,
                             i64 constraints, i64 n, i64 parts, i64 seed, i32* out) {
  return run_metis(offsets, indices, edgeWeights, nodeWeights, constraints, n, parts, seed, out);
}

}  // namespace skein
