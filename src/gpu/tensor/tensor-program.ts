/**
 * Programs over tensors: arrays with their first element at any offset of a buffer, typed parameters by name.
 *
 * In the code, array `x` starts at element `p.x_at` of the buffer `x`, and parameter `n` is `p.n`. A program with a
 * `body` runs it once for every `i` below `p.n`; one with a `main` defines its own loop. A `dims` parameter is the
 * kernels' description of a strided walk, read with `dim(k)`.
 */
import { InternalError } from '../../util/errors.js';
import {
  type Access,
  bindings,
  defineProgram,
  f32Bits,
  flatIndex,
  type GpuProgram,
} from '../device/program.js';

type ParamType = 'u32' | 'i32' | 'f32' | 'dims';

export interface TensorProgram {
  readonly gpu: GpuProgram;
  readonly params: readonly ParamType[];
}

interface ProgramText {
  readonly name: string;
  /** Array declarations such as `read f32 x`, `write f32 y`, `write atomic<u32> flags`. */
  readonly arrays: readonly string[];
  /** Parameter declarations such as `n u32`. A `dims` comes first. */
  readonly params: readonly string[];
  /** WGSL functions that the code uses. */
  readonly helpers?: string;
  readonly workgroup?: number;
  readonly body?: string;
  readonly main?: string;
}

/** Words of a `dims` parameter: rank, shape and two lists of strides for up to 7 axes. */
const dimWords = 24;
export const maxRank = 7;

export function tensorProgram(text: ProgramText): TensorProgram {
  const workgroup = text.workgroup ?? 256;
  const arrays = text.arrays.map((array) => array.split(' '));
  const params = text.params.map((param) => param.split(' ') as [string, ParamType]);
  const fields = params.map(([name, type]) =>
    type === 'dims' ? `${name}: array<vec4<u32>, ${dimWords / 4}>` : `${name}: ${type}`,
  );
  fields.push(...arrays.map(([, , name]) => `${name}_at: u32`));
  const hasDims = params.some(([, type]) => type === 'dims');
  const words = params.reduce((sum, [, type]) => sum + (type === 'dims' ? dimWords : 1), arrays.length);
  const code = [
    `struct Params { ${fields.join(', ')} }`,
    bindings(
      true,
      arrays.map(([access, type, name]) => `${access} array<${type}> ${name}`),
    ),
    hasDims ? 'fn dim(k: u32) -> u32 { return p.dims[k / 4u][k % 4u]; }' : '',
    text.helpers ?? '',
    text.main ?? elementMain(workgroup, text.body),
  ].join('\n');
  const gpu = defineProgram({
    name: `tensor.${text.name}`,
    code,
    buffers: arrays.map(([access]) => access as Access),
    // Structures with arrays are padded to 16 bytes.
    params: hasDims ? Math.ceil(words / 4) * 4 : words,
    workgroup,
  });
  return { gpu, params: params.map(([, type]) => type) };
}

function elementMain(workgroup: number, body: string | undefined): string {
  if (body === undefined) throw new InternalError('a program needs a body or a main function');
  return /* wgsl */ `
${flatIndex}
@compute @workgroup_size(${workgroup})
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = flatIndex(id, groups, ${workgroup}u);
  if (i >= p.n) { return; }
  ${body}
}`;
}

/** Packs parameters into words; `offsets` are those of the arrays. */
export function packParams(
  program: TensorProgram,
  values: readonly (number | boolean | Int32Array)[],
  offsets: readonly number[],
): number[] {
  const words: number[] = [];
  for (const [i, type] of program.params.entries()) {
    const value = values[i];
    if (type === 'dims') {
      const dims = value as Int32Array;
      for (let k = 0; k < dimWords; k++) words.push(k < dims.length ? dims[k] : 0);
    } else words.push(type === 'f32' ? f32Bits(Number(value)) : Number(value) >>> 0);
  }
  words.push(...offsets);
  return words;
}
