/**
 * Programs of the feature cache. On the device a row takes whole 32-bit words, in segments that a binding can hold; the
 * rows of a result are contiguous, whatever the element size. A *slot* numbers the rows of all segments.
 *
 * One pass of a gather serves one segment and leaves rows of other segments unchanged. Rows of whole words are copied
 * by one or four words; others are assembled byte by byte, each word by one invocation.
 */
import { bindings, defineProgram, flatIndex, type GpuProgram } from '../device/program.js';

/** Slot of a row that is not on the device. */
export const noSlot = 0xffffffff;
export const groupSize = 256;

const head = /* wgsl */ `
${flatIndex}
@compute @workgroup_size(${groupSize})
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let t = flatIndex(id, groups, ${groupSize}u);`;

/** Defines a program with one invocation per element of a row: a word, or four words where rows allow. */
function gatherProgram(name: string, element: string): GpuProgram {
  return defineProgram({
    name,
    buffers: ['read', 'read', 'read', 'write'],
    params: 5,
    workgroup: groupSize,
    code: /* wgsl */ `
struct Params { n: u32, length: u32, first: u32, count: u32, listed: u32 }
${bindings(true, [
  'read array<u32> slots',
  'read array<u32> rows',
  `read array<${element}> segment`,
  `write array<${element}> out`,
])}
${head}
  if (t >= p.n * p.length) { return; }
  let k = t / p.length;
  let at = slots[k] - p.first;
  if (slots[k] < p.first || at >= p.count) { return; }
  let c = t - k * p.length;
  var row = k;
  if (p.listed == 1u) { row = rows[k]; }
  out[row * p.length + c] = segment[at * p.length + c];
}`,
  });
}

/** out[row] = segment[slots[k] − first] for slots of this segment; row = rows[k], or k when `listed` is 0. */
export const gatherWords = gatherProgram('feature.gatherWords', 'u32');
export const gatherVectors = gatherProgram('feature.gatherVectors', 'vec4<u32>');

/** Gathers all n rows of a result whose rows are not whole words: invocation t writes word t. */
export const gatherBytes = defineProgram({
  name: 'feature.gatherBytes',
  buffers: ['read', 'read', 'write'],
  params: 5,
  workgroup: groupSize,
  code: /* wgsl */ `
struct Params { n: u32, words: u32, first: u32, count: u32, bytes: u32 }
${bindings(true, ['read array<u32> slots', 'read array<u32> segment', 'write array<u32> out'])}
${head}
  let end = p.n * p.bytes;
  if (t * 4u >= end) { return; }
  var word = out[t];
  for (var b = 0u; b < 4u; b++) {
    let position = t * 4u + b;
    if (position >= end) { break; }
    let row = position / p.bytes;
    let at = slots[row] - p.first;
    if (slots[row] < p.first || at >= p.count) { continue; }
    let c = position - row * p.bytes;
    let value = (segment[at * p.words + c / 4u] >> (8u * (c % 4u))) & 0xffu;
    word = (word & ~(0xffu << (8u * b))) | (value << (8u * b));
  }
  out[t] = word;
}`,
});

/** segment[slots[k] − first] = rows[positions[k]] for slots of this segment. Slots are distinct. */
export const storeRows = defineProgram({
  name: 'feature.storeRows',
  buffers: ['read', 'read', 'read', 'write'],
  params: 4,
  workgroup: groupSize,
  code: /* wgsl */ `
struct Params { n: u32, words: u32, first: u32, count: u32 }
${bindings(true, [
  'read array<u32> slots',
  'read array<u32> positions',
  'read array<u32> rows',
  'write array<u32> segment',
])}
${head}
  if (t >= p.n * p.words) { return; }
  let k = t / p.words;
  let at = slots[k] - p.first;
  if (slots[k] < p.first || at >= p.count) { return; }
  let c = t - k * p.words;
  segment[at * p.words + c] = rows[positions[k] * p.words + c];
}`,
});

/** values[index[k]] = fresh[k]. Indices are distinct. */
export const setWords = defineProgram({
  name: 'feature.setWords',
  buffers: ['read', 'read', 'write'],
  params: 1,
  workgroup: groupSize,
  code: /* wgsl */ `
struct Params { n: u32 }
${bindings(true, ['read array<u32> index', 'read array<u32> fresh', 'write array<u32> values'])}
${head}
  if (t >= p.n) { return; }
  values[index[t]] = fresh[t];
}`,
});

/**
 * Looks ids up: slots of rows that are on the device, a list of the others (in any order: the host sorts them), marks
 * for rows of the dynamic cache, and the first id that is out of range. state: [number of misses, position of the first
 * bad id].
 */
export const locate = defineProgram({
  name: 'feature.locate',
  buffers: ['read', 'read', 'write', 'write', 'write', 'write', 'write'],
  params: 4,
  workgroup: groupSize,
  code: /* wgsl */ `
struct Params { n: u32, numRows: u32, firstMoving: u32, start: u32 }
${bindings(true, [
  'read array<u32> ids',
  'read array<u32> slotOf',
  'write array<u32> slots',
  'write array<atomic<u32>> state',
  'write array<u32> missedIds',
  'write array<u32> missedRows',
  'write array<atomic<u32>> marks',
])}
${head}
  if (t >= p.n) { return; }
  let row = ids[p.start + t];
  if (row >= p.numRows) {
    atomicMin(&state[1], t);
    slots[t] = ${noSlot}u;
    return;
  }
  let slot = slotOf[row];
  slots[t] = slot;
  if (slot == ${noSlot}u) {
    let k = atomicAdd(&state[0], 1u);
    missedIds[k] = row;
    missedRows[k] = t;
  } else if (slot >= p.firstMoving) {
    let moving = slot - p.firstMoving;
    atomicOr(&marks[moving / 32u], 1u << (moving % 32u));
  }
}`,
});
