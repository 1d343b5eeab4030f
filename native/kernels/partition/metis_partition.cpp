// metisPartition: the k-way partitioning of libmetis, searched for on first use. The addon is built without METIS and
// finds one that is installed later, so what differs between its builds is found out at run time: the width of its
// integers, and the numbering of its options, which changed between 5.1 and 5.2.
#include "sample/sample.h"

#if !defined(_WIN32)
#include <dlfcn.h>
#endif

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>

namespace skein {
namespace {

// Declared here as metis.h 5.1 and 5.2 do for 32-bit integers and floats.
using PartGraphKway = int (*)(i32* nvtxs, i32* ncon, i32* xadj, i32* adjncy, i32* vwgt, i32* vsize, i32* adjwgt,
                              i32* nparts, float* tpwgts, float* ubvec, i32* options, i32* edgecut, i32* part);
using SetDefaultOptions = int (*)(i32* options);

constexpr int kOptions = 40;  // METIS_NOPTIONS
constexpr int kOk = 1;        // METIS_OK

struct Metis {
  PartGraphKway partition = nullptr;
  SetDefaultOptions defaults = nullptr;
  int seed_option = 0;
};

#if !defined(_WIN32)

// Room for options of 64-bit integers, which METIS fills up to the end if it was built with them.
bool has_wide_integers(SetDefaultOptions defaults) {
  i64 options[kOptions] = {};
  defaults(reinterpret_cast<i32*>(options));
  return options[kOptions - 1] != 0;
}

// Option 17 is "numbering" in 5.1 and "ufactor" in 5.2. Eight nodes without edges are a valid graph numbered from 0 and
// from 1; parts numbered from 1 in the answer tell that the option was understood as numbering.
bool has_options_of_5_1(PartGraphKway partition, SetDefaultOptions defaults) {
  i32 options[kOptions];
  defaults(options);
  options[17] = 1;
  i32 nodes = 8, balanced = 1, parts = 2, cut = 0;
  i32 offsets[9], indices[2] = {1, 1}, part[8] = {};
  std::fill(std::begin(offsets), std::end(offsets), 1);
  const int status = partition(&nodes, &balanced, offsets, indices, nullptr, nullptr, nullptr, &parts, nullptr, nullptr,
                               options, &cut, part);
  return status == kOk && *std::min_element(std::begin(part), std::end(part)) == 1;
}

Metis open_metis() {
  for (const char* file : {"libmetis.so.5", "libmetis.so", "libmetis.dylib"}) {
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    Metis metis;
    metis.partition = reinterpret_cast<PartGraphKway>(dlsym(library, "METIS_PartGraphKway"));
    metis.defaults = reinterpret_cast<SetDefaultOptions>(dlsym(library, "METIS_SetDefaultOptions"));
    if (metis.partition == nullptr || metis.defaults == nullptr || has_wide_integers(metis.defaults)) continue;
    metis.seed_option = has_options_of_5_1(metis.partition, metis.defaults) ? 8 : 9;
    return metis;
  }
  return {};
}

#else

Metis open_metis() { return {}; }

#endif

// Weights may be null: then every node counts once, every edge too.
i64 run_metis(const i32* offsets, const i32* indices, const i32* edge_weights, const i32* node_weights, i64 constraints, i64 n,
              i64 parts, i64 seed, i32* out) {
  static std::mutex one_at_a_time;  // its random numbers are global
  std::lock_guard<std::mutex> lock(one_at_a_time);
  static Metis metis;
  if (metis.partition == nullptr) metis = open_metis();  // it may have been installed since the last call
  if (metis.partition == nullptr) return -1;
  // METIS divides by zero here.
  if (n <= 1 || parts <= 1) {
    std::fill(out, out + n, 0);
    return 0;
  }
  i32 options[kOptions];
  metis.defaults(options);
  options[metis.seed_option] = static_cast<i32>(seed);
  i32 nodes = static_cast<i32>(n), balanced = static_cast<i32>(constraints), wanted = static_cast<i32>(parts), cut = 0;
  const auto writable = [](const i32* p) { return const_cast<i32*>(p); };
  const int status = metis.partition(&nodes, &balanced, writable(offsets), writable(indices), writable(node_weights), nullptr,
                                     writable(edge_weights), &wanted, nullptr, nullptr, options, &cut, out);
  if (status != kOk) throw std::runtime_error("METIS returned status " + std::to_string(status));
  return cut;
}

}  // namespace

i64 metis_partition(const i32* offsets, const i32* indices, i64 n, i64 parts, i64 seed, i32* out) {
  return run_metis(offsets, indices, nullptr, nullptr, 1, n, parts, seed, out);
}

i64 metis_partition_weighted(const i32* offsets, const i32* indices, const i32* edge_weights, const i32* node_weights,
                             i64 constraints, i64 n, i64 parts, i64 seed, i32* out) {
  return run_metis(offsets, indices, edge_weights, node_weights, constraints, n, parts, seed, out);
}

}  // namespace skein
