/**
 * The draws of a hop: one invocation per row writes the edge positions that the row takes, in ascending order. Rows
 * that take all their edges are left to `expandRows`, which has one invocation per edge, so that a row of a million
 * edges does not serialise.
 */
import { bindings, defineProgram, type GpuProgram } from '../device/program.js';
import { dropoutWgsl, fewUniformWgsl, manyUniformWgsl, pickRooms, weightedWgsl } from './draw-wgsl.js';
import {
  type DrawMode,
  drawModes,
  groupSize,
  hopParamsWgsl,
  hopParamWords,
  hopStateWgsl,
  perItem,
  takeAll,
} from './hop-wgsl.js';
import { philoxWgsl } from './philox-wgsl.js';

/** WGSL: whether a row takes all its edges. */
const copiesWgsl = /* wgsl */ `
fn copies(degree: u32) -> bool {
  if (p.mode != ${drawModes.uniform}u) { return false; }
  return p.fanout == ${takeAll}u || (p.replace == 0u && degree <= p.fanout);
}
`;

type Extra = 'table' | 'sums' | null;

function drawProgram(name: string, body: string, extra: Extra): GpuProgram {
  const buffers = [
    'read array<u32> state',
    'read array<u32> offsets',
    'read array<vec4<u32>> frontier',
    'write array<u32> positions',
  ];
  if (extra === 'table') buffers.push('write array<u32> table');
  if (extra === 'sums') buffers.push('read array<u32> sums');
  // Sums come in segments of whole rows; each run serves the rows of its segment.
  const inSegment = extra === 'sums' ? 'if (row.x - p.first >= p.count) { return; }' : '';
  return defineProgram({
    name: `sampling.draw.${name}`,
    buffers: buffers.map((text) => (text.startsWith('read') ? 'read' : 'write')),
    params: hopParamWords,
    workgroup: groupSize,
    code: /* wgsl */ `
${hopParamsWgsl}
${bindings(true, buffers)}
${hopStateWgsl}
${philoxWgsl}
${copiesWgsl}
${body}
${perItem}
  if (rowBegin() + i >= rowEnd()) { return; }
  let row = frontier[i];
  if (row.z == 0u || copies(row.y)) { return; }
  ${inSegment}
  restartWords(row.w);
  drawRow(offsets[rowBegin() + i], row);
}`,
  });
}

const fewUniform = pickRooms.map((room) => drawProgram(`uniform${room}`, fewUniformWgsl(room), null));
const manyUniform = drawProgram('uniform', manyUniformWgsl, 'table');
const fewWeighted = pickRooms.map((room) => drawProgram(`weighted${room}`, weightedWgsl(room), 'sums'));
const manyWeighted = drawProgram('weighted', weightedWgsl(null), 'sums');
const dropout = drawProgram('dropout', dropoutWgsl, null);

/** Returns the program of a hop, and its inputs in addition to state, offsets, frontier and positions. */
export function drawProgramFor(
  mode: DrawMode,
  fanout: number,
): { readonly program: GpuProgram; readonly extra: Extra } {
  if (mode === 'dropout') return { program: dropout, extra: null };
  // A hop that takes all edges draws nothing.
  const picks = fanout === takeAll ? 0 : fanout;
  const size = pickRooms.findIndex((room) => picks <= room);
  if (mode === 'weighted') return { program: fewWeighted[size] ?? manyWeighted, extra: 'sums' };
  return size < 0 ? { program: manyUniform, extra: 'table' } : { program: fewUniform[size], extra: null };
}

/**
 * Writes the row of every edge, and the positions of rows that take all. Buffers: state, offsets, frontier, positions,
 * columns.
 */
export const expandRows = defineProgram({
  name: 'sampling.expandRows',
  buffers: ['read', 'read', 'read', 'write', 'write'],
  params: hopParamWords,
  workgroup: groupSize,
  code: /* wgsl */ `
${hopParamsWgsl}
${bindings(true, [
  'read array<u32> state',
  'read array<u32> offsets',
  'read array<vec4<u32>> frontier',
  'write array<u32> positions',
  'write array<u32> columns',
])}
${hopStateWgsl}
${copiesWgsl}
${perItem}
  let e = edgeBegin() + i;
  if (e >= edgeEnd()) { return; }
  // The last row that starts at or before e; rows without edges start where the next one does.
  var low = rowBegin();
  var high = rowEnd();
  while (high - low > 1u) {
    let middle = (low + high) >> 1u;
    if (offsets[middle] <= e) { low = middle; } else { high = middle; }
  }
  columns[e] = low;
  let row = frontier[low - rowBegin()];
  if (copies(row.y)) { positions[e] = row.x + e - offsets[low]; }
}`,
});
