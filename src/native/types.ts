/**
 * Array types that cross the border between TypeScript and the kernels.
 *
 * Floating-point kernels exist for f32 and f64; all float arrays of one call have the same type.
 * f16 and bf16 are storage only: they travel as Uint16Array and are converted by `cast`.
 */
export type FloatArray = Float32Array | Float64Array;
export type TypedArray = Float32Array | Float64Array | Int32Array | Uint8Array | Uint16Array | Uint32Array;

/** Row boundaries of a sparse structure: Float64Array where they may exceed 2³¹ − 1. */
export type Offsets = Int32Array | Float64Array;

/** `[seedLow, seedHigh, streamLow, streamHigh]`: what identifies a sequence of random numbers (see util/philox.ts). */
export type RandomKey = Uint32Array;
