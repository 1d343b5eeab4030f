// The register tiles of products of floats.
#include "gemm/gemm_tiles.h"

namespace skein {
namespace gemm_detail {

template TileFn<float> pick_tile<float>(int, int, bool);

}  // namespace gemm_detail
}  // namespace skein
