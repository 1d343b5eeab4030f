// The table of kernels.def: the only file of the binding that depends on the kernels' signatures.
#include "kernels.h"
#include "signature.h"

namespace skein {

#define KERNEL(js_name, cpp_name, rule)                                                                    \
  static_assert(count_words(rule) == Face<&cpp_name>::count, #js_name ": a word for each parameter");
#define FLOAT_KERNEL(js_name, cpp_name, rule) KERNEL(js_name, cpp_name<float>, rule)
#include "kernels.def"
#undef KERNEL
#undef FLOAT_KERNEL

template <auto kernel>
constexpr KernelRow row_of(const char* name, const char* rule, Run run_f64) {
  using F = Face<kernel>;
  return {name, rule, F::count, F::has_result, F::parameters, F::run, run_f64};
}

#define KERNEL(js_name, cpp_name, rule) row_of<&cpp_name>(#js_name, rule, nullptr),
#define FLOAT_KERNEL(js_name, cpp_name, rule) row_of<&cpp_name<float>>(#js_name, rule, &Face<&cpp_name<double>>::run),
extern const KernelRow kKernelRows[] = {
#include "kernels.def"
};
#undef KERNEL
#undef FLOAT_KERNEL

extern const size_t kKernelCount = sizeof(kKernelRows) / sizeof(kKernelRows[0]);

}  // namespace skein
