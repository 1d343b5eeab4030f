/**
 * Maps node ids to rows in order of first appearance. Each node has an entry:
 *
 *   0                      not seen
 *   0x7fffffff − e         candidate: edge e is the first of those seen so far to reach it
 *   0xffffffff − row       it has a row
 *
 * so `atomicMax` keeps rows above candidates and lower edges above higher ones, in any order of invocations. Entries
 * are in an array by node id or, if that would be too large, in a hash table of at least twice as many entries as
 * nodes, with a parallel array of ids (plus one). The entry index of each edge's node is kept, so no id is looked up
 * twice.
 */
import { bindings, defineProgram, type GpuProgram } from '../device/program.js';
import { groupSize, hopParamsWgsl, hopParamWords, hopStateWgsl, perItem } from './hop-wgsl.js';

/** Lookup of a node's entry: by id, or by hash. */
export type TableKind = 'dense' | 'hash';

/** The finaliser of MurmurHash3; every bit of an id affects the low bits. */
export function hashId(id: number): number {
  let h = id >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b) >>> 0;
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35) >>> 0;
  return (h ^ (h >>> 16)) >>> 0;
}

const placeWgsl: Readonly<Record<TableKind, string>> = {
  dense: /* wgsl */ `
fn entryOf(id: u32) -> u32 { return id; }
`,
  hash: /* wgsl */ `
fn hashId(id: u32) -> u32 {
  var h = id;
  h = (h ^ (h >> 16u)) * 0x85ebca6bu;
  h = (h ^ (h >> 13u)) * 0xc2b2ae35u;
  return h ^ (h >> 16u);
}
/** Returns the entry index of an id, inserting it if needed. The table is never more than half full. */
fn entryOf(id: u32) -> u32 {
  var at = hashId(id) & p.mask;
  loop {
    let found = atomicCompareExchangeWeak(&keys[at], 0u, id + 1u);
    if (found.exchanged || found.old_value == id + 1u) { return at; }
    // A weak exchange may fail spuriously on a free entry: then the same entry is tried again.
    if (found.old_value != 0u) { at = (at + 1u) & p.mask; }
  }
}
`,
};

function table(kind: TableKind): string[] {
  const entries = 'write array<atomic<u32>> entries';
  return kind === 'dense' ? [entries] : [entries, 'write array<atomic<u32>> keys'];
}

function program(name: string, kind: TableKind, buffers: readonly string[], code: string): GpuProgram {
  return defineProgram({
    name: `sampling.${name}.${kind}`,
    buffers: buffers.map((text) => (text.startsWith('read') ? 'read' : 'write')),
    params: hopParamWords,
    workgroup: groupSize,
    code: `${hopParamsWgsl}\n${bindings(true, buffers)}\n${placeWgsl[kind]}\n${code}`,
  });
}

/** Enters the rows of the first p.count nodes. Buffers: nodeIds, entries[, keys]. */
const enterRows = (kind: TableKind) =>
  program(
    'enterRows',
    kind,
    ['read array<u32> nodeIds', ...table(kind)],
    /* wgsl */ `
${perItem}
  if (i >= p.count) { return; }
  atomicStore(&entries[entryOf(nodeIds[i])], 0xffffffffu - i);
}`,
  );

/**
 * Finds the node of each edge of the hop whose position is in the segment [first, first + count) of the graph, and
 * enters the edge as a candidate. Buffers: state, positions, indices of the segment, ids, entries[, keys,
 * entryIndices]; in the dense form the ids are the entry indices.
 */
const enterEdges = (kind: TableKind) =>
  program(
    'enterEdges',
    kind,
    [
      'read array<u32> state',
      'read array<u32> positions',
      'read array<u32> indices',
      'write array<u32> ids',
      ...table(kind),
      ...(kind === 'hash' ? ['write array<u32> entryIndices'] : []),
    ],
    /* wgsl */ `
${hopStateWgsl}
${perItem}
  let e = edgeBegin() + i;
  if (e >= edgeEnd()) { return; }
  let at = positions[e] - p.first;
  if (at >= p.count) { return; }
  let node = indices[at];
  let entry = entryOf(node);
  ids[e] = node;
  ${kind === 'hash' ? 'entryIndices[e] = entry;' : ''}
  let candidate = 0x7fffffffu - e;
  // Most edges of a later hop reach nodes that have a row.
  if (atomicLoad(&entries[entry]) < candidate) { atomicMax(&entries[entry], candidate); }
}`,
  );

export const enterRowsPrograms: Readonly<Record<TableKind, GpuProgram>> = {
  dense: enterRows('dense'),
  hash: enterRows('hash'),
};

export const enterEdgesPrograms: Readonly<Record<TableKind, GpuProgram>> = {
  dense: enterEdges('dense'),
  hash: enterEdges('hash'),
};

/** Writes the source row of each edge, once all nodes have rows. Buffers: state, entryIndices, entries, rows. */
export const edgeRows = defineProgram({
  name: 'sampling.edgeRows',
  buffers: ['read', 'read', 'write', 'write'],
  params: hopParamWords,
  workgroup: groupSize,
  code: /* wgsl */ `
${hopParamsWgsl}
${bindings(true, [
  'read array<u32> state',
  'read array<u32> entryIndices',
  'write array<atomic<u32>> entries',
  'write array<u32> rows',
])}
${hopStateWgsl}
${perItem}
  let e = edgeBegin() + i;
  if (e >= edgeEnd()) { return; }
  rows[e] = 0xffffffffu - atomicLoad(&entries[entryIndices[e]]);
}`,
});

/** Clears the entries of all nodes that have a row, for the next batch; p.hop is the number of hops. */
export const forgetRows = defineProgram({
  name: 'sampling.forgetRows',
  buffers: ['read', 'read', 'write'],
  params: hopParamWords,
  workgroup: groupSize,
  code: /* wgsl */ `
${hopParamsWgsl}
${bindings(true, ['read array<u32> state', 'read array<u32> nodeIds', 'write array<u32> entries'])}
${hopStateWgsl}
${perItem}
  if (i < rowEnd()) { entries[nodeIds[i]] = 0u; }
}`,
});

/**
 * Looks words up, segment by segment: out[e] = values[at[e] − first] for the edges of a hop. Buffers: state, at,
 * values, out.
 */
export const fetchWords = defineProgram({
  name: 'sampling.fetchWords',
  buffers: ['read', 'read', 'read', 'write'],
  params: hopParamWords,
  workgroup: groupSize,
  code: /* wgsl */ `
${hopParamsWgsl}
${bindings(true, [
  'read array<u32> state',
  'read array<u32> at',
  'read array<u32> values',
  'write array<u32> out',
])}
${hopStateWgsl}
${perItem}
  let e = edgeBegin() + i;
  if (e >= edgeEnd()) { return; }
  let index = at[e] - p.first;
  if (index < p.count) { out[e] = values[index]; }
}`,
});
