/** Masks against the plain definition, on random batches with repeated edges and repeated negatives. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../../util/philox.js';
import { FilterIndex } from './filter-index.js';
import { type CorruptedEnds, maskBatchEdges, maskKnownEdges, maskPositives } from './negative-masks.js';

function ends(seed: number, edges: number, nodes: number, typed: boolean): CorruptedEnds {
  const random = new Random(seed, 1);
  const draw = (most: number) => Int32Array.from({ length: edges }, () => random.nextInt(most));
  return {
    kept: draw(nodes),
    replaced: draw(nodes),
    relations: typed ? draw(3) : null,
    tails: seed % 2 === 0,
  };
}

/** The mask of all pairs of an edge and a negative for which `isMasked` holds. */
function plainMask(
  edges: number,
  ids: Int32Array,
  chunks: number,
  isMasked: (edge: number, id: number) => boolean,
) {
  const count = ids.length / chunks;
  const perChunk = Math.ceil(edges / chunks);
  const offsets = [0];
  const positions: number[] = [];
  for (let i = 0; i < edges; i++) {
    for (let j = 0; j < count; j++)
      if (isMasked(i, ids[Math.floor(i / perChunk) * count + j])) positions.push(j);
    offsets.push(positions.length);
  }
  if (positions.length === 0) return null;
  return { offsets: Int32Array.from(offsets), positions: Int32Array.from(positions) };
}

describe.each([
  [1, 0, 4, 5, 1],
  [2, 7, 4, 5, 3],
  [3, 60, 9, 40, 1],
  [4, 61, 9, 40, 7],
  [5, 500, 2000, 64, 4],
  // Queries with more known answers than drawn negatives.
  [6, 900, 20, 6, 5],
])('batch %s of %s edges, %s nodes, %s negatives in %s chunks', (seed, edges, nodes, count, chunks) => {
  const random = new Random(seed, 2);
  const ids = Int32Array.from({ length: count * chunks }, () => random.nextInt(nodes));

  it.each([false, true])('masks are those of the definition (relations: %s)', (typed) => {
    const batch = ends(seed, edges, nodes, typed);
    const { kept, replaced, relations } = batch;
    const relation = (i: number) => relations?.[i] ?? 0;
    expect(maskPositives(batch, ids, chunks)).toEqual(
      plainMask(edges, ids, chunks, (i, id) => id === replaced[i]),
    );
    const known = new Set([...kept].map((node, i) => `${node} ${relation(i)} ${replaced[i]}`));
    const inBatch = (i: number, id: number) => known.has(`${kept[i]} ${relation(i)} ${id}`);
    expect(maskBatchEdges(batch, ids, chunks)).toEqual(plainMask(edges, ids, chunks, inBatch));
    const [src, dst] = batch.tails ? [kept, replaced] : [replaced, kept];
    const distinct = [...new Set([...src].map((_, i) => `${src[i]} ${relation(i)} ${dst[i]}`))].map((key) =>
      key.split(' ').map(Number),
    );
    const column = (at: number) => Int32Array.from(distinct, (edge) => edge[at]);
    const list = { src: column(0), dst: column(2), relations: typed ? column(1) : null };
    expect(maskKnownEdges(batch, ids, chunks, new FilterIndex([list], nodes, 3))).toEqual(
      plainMask(edges, ids, chunks, inBatch),
    );
  });
});
