/**
 * First step of a hop: for each row of the frontier, where its edges start in the graph, how many there are and how
 * many it takes. These are the only programs that read the graph's offsets; a graph beyond one binding is read by
 * segment, each run serving the rows whose node is in its segment.
 *
 * frontier[f] = (start, degree, taken, node) of row state[h − 1] + f.
 */
import { bindings, defineProgram, type GpuProgram } from '../device/program.js';
import {
  type DrawMode,
  groupSize,
  hopParamsWgsl,
  hopParamWords,
  hopStateWgsl,
  perItem,
  takeAll,
} from './hop-wgsl.js';
import { philoxWgsl } from './philox-wgsl.js';

/** WGSL: number of edges that a row takes; `available` are those that may be taken. */
const takenWgsl: Readonly<Record<DrawMode, string>> = {
  uniform: 'taken = limited(degree);',
  // Edges of weight 0 are never taken, so they are not counted.
  weighted: 'taken = limited(positive[at]);',
  dropout: /* wgsl */ `
    restartWords(node);
    for (var e = 0u; e < degree; e++) { if (nextWord() >= p.drop) { taken++; } }`,
};

function rowProgram(mode: DrawMode): GpuProgram {
  const buffers = ['read array<u32> state', 'read array<u32> nodeIds', 'read array<u32> offsets'];
  if (mode === 'weighted') buffers.push('read array<u32> positive');
  buffers.push('write array<vec4<u32>> frontier');
  return defineProgram({
    name: `sampling.rows.${mode}`,
    buffers: buffers.map((text) => (text.startsWith('read') ? 'read' : 'write')),
    params: hopParamWords,
    workgroup: groupSize,
    code: /* wgsl */ `
${hopParamsWgsl}
${bindings(true, buffers)}
${hopStateWgsl}
${mode === 'dropout' ? philoxWgsl : ''}
fn limited(available: u32) -> u32 {
  if (p.fanout == ${takeAll}u) { return available; }
  if (p.replace != 0u) { return select(0u, p.fanout, available > 0u); }
  return min(available, p.fanout);
}
${perItem}
  let row = rowBegin() + i;
  if (row >= rowEnd()) { return; }
  let node = nodeIds[row];
  let at = node - p.first;
  if (at >= p.count) { return; }
  let start = offsets[at];
  let degree = offsets[at + 1u] - start;
  var taken = 0u;
  ${takenWgsl[mode]}
  frontier[i] = vec4<u32>(start, degree, taken, node);
}`,
  });
}

/** Buffers: state, nodeIds, offsets of the segment, [counts of positive weights of the segment,] frontier. */
export const rowPrograms: Readonly<Record<DrawMode, GpuProgram>> = {
  uniform: rowProgram('uniform'),
  weighted: rowProgram('weighted'),
  dropout: rowProgram('dropout'),
};
