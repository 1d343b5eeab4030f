/**
 * Prefix sums over the rows or edges of a hop, in three steps: a sum per tile, sums of tiles in one workgroup, and the
 * prefix within each tile (reduce-then-scan). No step waits for another workgroup, for which WebGPU guarantees no
 * progress.
 *
 * Over rows they turn counts into offsets, over edges they number the nodes that appear for the first time.
 */
import { bindings, defineProgram } from '../device/program.js';
import { edgeState, groupSize, hopParamsWgsl, hopParamWords, hopStateWgsl, tileSize } from './hop-wgsl.js';

/**
 * `tileScan(local, value)` returns the sum of the values of lower invocations of the workgroup; afterwards
 * `tileTotal()` is the sum over all. Sixteen invocations add sixteen values each, which takes two barriers instead of
 * two per doubling. Every sixteenth element of `tileSums` stays free, so that these sixteen do not conflict in one
 * memory bank.
 */
const tileScanWgsl = /* wgsl */ `
var<workgroup> tileSums: array<u32, ${groupSize + groupSize / 16}>;
var<workgroup> partSums: array<u32, 16>;
fn tileScan(local: u32, value: u32) -> u32 {
  tileSums[local + (local >> 4u)] = value;
  workgroupBarrier();
  if (local < 16u) {
    var sum = 0u;
    for (var i = 17u * local; i < 17u * local + 16u; i++) {
      let here = tileSums[i];
      tileSums[i] = sum;
      sum += here;
    }
    partSums[local] = sum;
  }
  workgroupBarrier();
  var before = tileSums[local + (local >> 4u)];
  for (var part = 0u; part < (local >> 4u); part++) { before += partSums[part]; }
  return before;
}
fn tileTotal() -> u32 {
  var total = 0u;
  for (var part = 0u; part < 16u; part++) { total += partSums[part]; }
  return total;
}
`;

const tileHead = /* wgsl */ `
@compute @workgroup_size(${groupSize})
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  let tile = group.y * groups.x + group.x;
  let base = tile * ${tileSize}u + local * 4u;
`;

/** WGSL for the four values of an invocation; `valueOf(i)` returns that of item i of the hop. */
const fourValues = /* wgsl */ `
  var values: vec4<u32>;
  for (var j = 0u; j < 4u; j++) { values[j] = valueOf(base + j); }
`;

const tileSum = /* wgsl */ `
${tileHead}
${fourValues}
  _ = tileScan(local, values.x + values.y + values.z + values.w);
  if (local == 0u && tile < arrayLength(&tiles)) { tiles[tile] = tileTotal(); }
}`;

/** WGSL: number of edges that a row takes. */
const rowValue = /* wgsl */ `
fn valueOf(i: u32) -> u32 {
  if (rowBegin() + i >= rowEnd()) { return 0u; }
  return frontier[i].z;
}
`;

/** WGSL: whether an edge is the first to reach its node; see reindex-programs.ts. */
const edgeValue = /* wgsl */ `
fn valueOf(i: u32) -> u32 {
  let e = edgeBegin() + i;
  if (e >= edgeEnd()) { return 0u; }
  return select(0u, 1u, atomicLoad(&entries[entryIndices[e]]) == 0x7fffffffu - e);
}
`;

const common = { params: hopParamWords, workgroup: groupSize } as const;

/** Buffers: state, frontier, tiles. */
export const rowTiles = defineProgram({
  ...common,
  name: 'sampling.rowTiles',
  buffers: ['read', 'read', 'write'],
  code: /* wgsl */ `
${hopParamsWgsl}
${bindings(true, ['read array<u32> state', 'read array<vec4<u32>> frontier', 'write array<u32> tiles'])}
${hopStateWgsl}
${tileScanWgsl}
${rowValue}
${tileSum}`,
});

/** Buffers: state, entryIndices, entries, tiles. */
export const edgeTiles = defineProgram({
  ...common,
  name: 'sampling.edgeTiles',
  buffers: ['read', 'read', 'write', 'write'],
  code: /* wgsl */ `
${hopParamsWgsl}
${bindings(true, [
  'read array<u32> state',
  'read array<u32> entryIndices',
  'write array<atomic<u32>> entries',
  'write array<u32> tiles',
])}
${hopStateWgsl}
${tileScanWgsl}
${edgeValue}
${tileSum}`,
});

/**
 * One workgroup: turns sums of tiles into the sums before each tile, and writes the counts after the hop with the
 * workgroups that the next programs need. p.first: 0 = tiles of rows, 1 = tiles of edges. p.count: maximum workgroups
 * per dimension. Buffers: tiles, state, grid (see `gridAt`).
 */
export const tileOffsets = defineProgram({
  ...common,
  name: 'sampling.tileOffsets',
  buffers: ['write', 'write', 'write'],
  code: /* wgsl */ `
${hopParamsWgsl}
${bindings(true, ['write array<u32> tiles', 'write array<u32> state', 'write array<u32> grid'])}
${hopStateWgsl}
${tileScanWgsl}
var<workgroup> tileCount: u32;
fn writeGrid(at: u32, items: u32, size: u32) {
  let needed = max(1u, (items + size - 1u) / size);
  let rows = (needed + p.count - 1u) / p.count;
  grid[at] = (needed + rows - 1u) / rows;
  grid[at + 1u] = rows;
  grid[at + 2u] = 1u;
}
@compute @workgroup_size(${groupSize})
fn main(@builtin(local_invocation_index) local: u32) {
  if (local == 0u) {
    var items = rowEnd() - rowBegin();
    if (p.first == 1u) { items = edgeEnd() - edgeBegin(); }
    tileCount = (items + ${tileSize - 1}u) / ${tileSize}u;
  }
  let count = workgroupUniformLoad(&tileCount);
  var running = 0u;
  for (var start = 0u; start < count; start += ${groupSize}u) {
    let at = start + local;
    var value = 0u;
    if (at < count) { value = tiles[at]; }
    let before = tileScan(local, value);
    if (at < count) { tiles[at] = running + before; }
    running += tileTotal();
    workgroupBarrier();
  }
  if (local != 0u) { return; }
  if (p.first == 0u) { state[${edgeState + 1}u + p.hop] = edgeBegin() + running; }
  else { state[1u + p.hop] = rowEnd() + running; }
  writeGrid(p.first * 6u, running, ${groupSize}u);
  writeGrid(p.first * 6u + 3u, running, ${tileSize}u);
}`,
});

/** Writes the end of each row's edges. Buffers: state, frontier, tiles, offsets. */
export const rowOffsets = defineProgram({
  ...common,
  name: 'sampling.rowOffsets',
  buffers: ['read', 'read', 'read', 'write'],
  code: /* wgsl */ `
${hopParamsWgsl}
${bindings(true, [
  'read array<u32> state',
  'read array<vec4<u32>> frontier',
  'read array<u32> tiles',
  'write array<u32> offsets',
])}
${hopStateWgsl}
${tileScanWgsl}
${rowValue}
${tileHead}
${fourValues}
  var end = tileScan(local, values.x + values.y + values.z + values.w) + edgeBegin();
  if (rowBegin() + base < rowEnd()) { end += tiles[tile]; }
  if (p.hop == 0u && base == 0u) { offsets[0] = 0u; }
  for (var j = 0u; j < 4u; j++) {
    end += values[j];
    let row = rowBegin() + base + j;
    if (row < rowEnd()) { offsets[row + 1u] = end; }
  }
}`,
});

/**
 * Assigns rows in order to nodes that appear for the first time. Buffers: state, entryIndices, ids, tiles, entries,
 * nodeIds.
 */
export const assignRows = defineProgram({
  ...common,
  name: 'sampling.assignRows',
  buffers: ['read', 'read', 'read', 'read', 'write', 'write'],
  code: /* wgsl */ `
${hopParamsWgsl}
${bindings(true, [
  'read array<u32> state',
  'read array<u32> entryIndices',
  'read array<u32> ids',
  'read array<u32> tiles',
  'write array<atomic<u32>> entries',
  'write array<u32> nodeIds',
])}
${hopStateWgsl}
${tileScanWgsl}
${edgeValue}
${tileHead}
${fourValues}
  var row = tileScan(local, values.x + values.y + values.z + values.w) + rowEnd();
  if (edgeBegin() + base < edgeEnd()) { row += tiles[tile]; }
  for (var j = 0u; j < 4u; j++) {
    if (values[j] == 0u) { continue; }
    let e = edgeBegin() + base + j;
    nodeIds[row] = ids[e];
    // Other edges to this node find a row instead of a candidate, and neither equals theirs.
    atomicStore(&entries[entryIndices[e]], 0xffffffffu - row);
    row++;
  }
}`,
});

/** Returns the number of tiles for n items. */
export function tileCount(items: number): number {
  return Math.max(1, Math.ceil(items / tileSize));
}

/** Byte offsets in the buffer of workgroup counts: edges of this hop, rows of the next, by item or by tile. */
export const gridAt = { edges: 0, edgeTiles: 12, rows: 24, rowTiles: 36 } as const;
export const gridBytes = 48;
