/** Copies and conversions of elements. */
import { type Kernels, storageCode } from '../../../native/index.js';
import { DTypeError, ShapeError } from '../../../util/errors.js';
import type { Compute } from '../compute.js';
import { onGpu } from '../gpu-array.js';
import { maxRank, tensorProgram } from '../tensor-program.js';

const fill = tensorProgram({
  name: 'fill',
  arrays: ['write u32 x'],
  params: ['n u32', 'bits u32'],
  body: 'x[p.x_at + i] = p.bits;',
});

const copyStrided = tensorProgram({
  name: 'copyStrided',
  arrays: ['read u32 src', 'write u32 dst'],
  params: ['dims dims', 'n u32'],
  body: /* wgsl */ `
  let rank = dim(0u);
  var rest = i;
  var at = vec2<u32>(p.src_at, p.dst_at);
  for (var axis = rank; axis > 0u; axis--) {
    let size = dim(axis);
    let k = rest % size;
    rest = rest / size;
    at += k * vec2<u32>(dim(rank + axis), dim(2u * rank + axis));
  }
  dst[at.y] = src[at.x];`,
});

/** Converts bits of one type to another: 0 f32, 2 i32, 3 u8. To integers by truncation and saturation; NaN gives 0. */
const cast = tensorProgram({
  name: 'cast',
  arrays: ['read u32 src', 'write u32 dst'],
  params: ['n u32', 'from_type u32', 'to_type u32'],
  body: /* wgsl */ `
  let bits = src[p.src_at + i];
  var r = bits;
  if (p.from_type == 0u) {
    let v = bitcast<f32>(bits);
    let isNumber = (bits & 0x7fffffffu) <= 0x7f800000u;
    if (p.to_type == 2u) {
      r = bitcast<u32>(i32(clamp(v, -2147483648.0, 2147483520.0)));
      if (v >= 2147483648.0) { r = 0x7fffffffu; }
    } else { r = u32(clamp(v, 0.0, 255.0)); }
    r = select(0u, r, isNumber);
  } else if (p.from_type == 2u) {
    let v = bitcast<i32>(bits);
    r = select(u32(clamp(v, 0, 255)), bitcast<u32>(f32(v)), p.to_type == 0u);
  } else {
    r = select(bits, bitcast<u32>(f32(bits)), p.to_type == 0u);
  }
  dst[p.dst_at + i] = r;`,
});

const words = new DataView(new ArrayBuffer(4));

function bitsOf(type: string, value: number): number {
  if (type === 'f32') words.setFloat32(0, value);
  else words.setInt32(0, value);
  return words.getUint32(0);
}

export function layoutKernels(c: Compute): Partial<Kernels> {
  const known: number[] = [storageCode.f32, storageCode.i32, storageCode.u8];
  return {
    fill: (x, n, value) => c.launch(fill, [x], [n, bitsOf(onGpu(x).type, value)], n),
    copyStrided(src, dst, _bytes, dims) {
      const rank = dims[0];
      if (rank > maxRank)
        throw new ShapeError(`webgpu: expected at most ${maxRank} axes, got ${rank}. Reshape first.`);
      let n = 1;
      for (let axis = 1; axis <= rank; axis++) n *= dims[axis];
      c.launch(copyStrided, [src, dst], [dims, n], n);
    },
    cast(src, from, dst, to, n) {
      if (!known.includes(from) || !known.includes(to))
        throw new DTypeError('webgpu: expected f32, i32 or u8 to convert between. Convert on the CPU first.');
      if (from === to) c.launch(copyStrided, [src, dst], [Int32Array.of(1, n, 1, 1), n], n);
      else c.launch(cast, [src, dst], [n, from, to], n);
    },
  };
}
