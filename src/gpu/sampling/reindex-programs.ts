/**
 * From node ids to rows in order of first appearance. Each node has an entry:
 *
 *   0                      not seen
 *   0x7fffffff − e         candidate: edge e is the first of those seen so far to reach it
 *   0xffffffff − row       it has a row
 *
 * so `atomicMax` keeps rows above candidates and lower edges above higher ones, whatever the order of invocations. Entries
 * lie in an array by node id, or, where that would be too large, in a hash table of at least twice as many places as nodes,
 * with the ids (plus one) beside them. The place of each edge's node is kept, so nothing is looked up twice.
 */
import { bindings, defineProgram, type GpuProgram } from '../device/program.js';
import { groupSize, hopParamsWgsl, hopParamWords, hopStateWgsl, perItem } from './hop-wgsl.js';

/** How nodes find their entry. */
export type TableKind = 'dense' | 'hash';

/** The multiply-and-shift mix of MurmurHash3's end; every bit of an id reaches the low bits. */
export function hashId(id: number): number {
  let h = id >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b) >>> 0;
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35) >>> 0;
  return (h ^ (h >>> 16)) >>> 0;
}

const placeWgsl: Readonly<Record<TableKind, string>> = {
  dense: /* wgsl */ `
fn placeOf(id: u32) -> u32 { return id; }
`,
  hash: /* wgsl */ `
fn hashId(id: u32) -> u32 {
  var h = id;
  h = (h ^ (h >> 16u)) * 0x85ebca6bu;
  h = (h ^ (h >> 13u)) * 0xc2b2ae35u;
  return h ^ (h >> 16u);
}
/** The place of an id, which it takes if it has none. The table is never more than half full. */
fn placeOf(id: u32) -> u32 {
  var at = hashId(id) & p.mask;
  loop {
    let found = atomicCompareExchangeWeak(&keys[at], 0u, id + 1u);
    if (found.exchanged || found.old_value == id + 1u) { return at; }
    // A weak exchange may fail although the place is free: then the same place is tried again.
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

/** Gives nodes the rows they already have: p.count of them. Buffers: nodeIds, entries[, keys]. */
const enterRows = (kind: TableKind) =>
  program(
    'enterRows',
    kind,
    ['read array<u32> nodeIds', ...table(kind)],
    /* wgsl */ `
${perItem}
  if (i >= p.count) { return; }
  atomicStore(&entries[placeOf(nodeIds[i])], 0xffffffffu - i);
}`,
  );

/**
 * Finds the node behind each edge of the hop whose slot lies in the piece [first, first + count) of the graph, and enters
 * the edge as a candidate. Buffers: state, slots, indices of the piece, ids, entries[, keys, places]; in the dense form the
 * ids are the places.
 */
const enterEdges = (kind: TableKind) =>
  program(
    'enterEdges',
    kind,
    [
      'read array<u32> state',
      'read array<u32> slots',
      'read array<u32> indices',
      'write array<u32> ids',
      ...table(kind),
      ...(kind === 'hash' ? ['write array<u32> places'] : []),
    ],
    /* wgsl */ `
${hopStateWgsl}
${perItem}
  let e = edgeBegin() + i;
  if (e >= edgeEnd()) { return; }
  let at = slots[e] - p.first;
  if (at >= p.count) { return; }
  let node = indices[at];
  let place = placeOf(node);
  ids[e] = node;
  ${kind === 'hash' ? 'places[e] = place;' : ''}
  let candidate = 0x7fffffffu - e;
  // Most edges of a later hop reach nodes that have a row.
  if (atomicLoad(&entries[place]) < candidate) { atomicMax(&entries[place], candidate); }
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

/** The source row of each edge, once all nodes have rows. Buffers: state, places, entries, rows. */
export const edgeRows = defineProgram({
  name: 'sampling.edgeRows',
  buffers: ['read', 'read', 'write', 'write'],
  params: hopParamWords,
  workgroup: groupSize,
  code: /* wgsl */ `
${hopParamsWgsl}
${bindings(true, [
  'read array<u32> state',
  'read array<u32> places',
  'write array<atomic<u32>> entries',
  'write array<u32> rows',
])}
${hopStateWgsl}
${perItem}
  let e = edgeBegin() + i;
  if (e >= edgeEnd()) { return; }
  rows[e] = 0xffffffffu - atomicLoad(&entries[places[e]]);
}`,
});

/** Empties the entries of all nodes that have a row, for the next batch; p.hop is the number of hops. */
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

/** Looks words up, piece by piece: out[e] = values[at[e] − first] for the edges of a hop. Buffers: state, at, values, out. */
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
  let place = at[e] - p.first;
  if (place < p.count) { out[e] = values[place]; }
}`,
});
