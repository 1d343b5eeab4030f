// The instruction set of this build: the header of its intrinsics, and whether a multiply-add is fused.
//
// AVX2 and AVX-512 are known by the compiler's own macros. NEON is enabled with -DSKEIN_NEON, although every 64-bit ARM
// processor has it: so the portable level is the same plain code, with the same bits, on every architecture.
#pragma once

#if defined(SKEIN_NEON)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__FMA__) || defined(SKEIN_NEON)
#define SKEIN_FUSED 1
#endif
