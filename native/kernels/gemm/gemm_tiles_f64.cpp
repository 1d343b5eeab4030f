// The register tiles of products of doubles.
#include "gemm/gemm_tiles.h"

namespace skein {
namespace gemm_detail {

template TileFn<double> pick_tile<double>(int, int, bool);

}  // namespace gemm_detail
}  // namespace skein
