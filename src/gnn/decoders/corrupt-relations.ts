/**
 * Scores of edges whose relation is replaced. If the operator can turn the edge into a query among relations, all
 * relations of a chunk are compared in one call; otherwise every edge is scored with every relation.
 */
import { gatherRows, reshape, type Tensor } from '../../tensor/index.js';
import { checkIds } from '../../tensor/ops/common.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';
import type { DecoderInput, EdgeDecoder, Side } from './edge-decoder.js';

export function corruptedRelations(
  decoder: EdgeDecoder,
  input: DecoderInput,
  side: Side,
  table: Tensor | null,
): Tensor {
  const where = decoder.constructor.name;
  const chunks = input.chunks ?? 1;
  const given = input.relationNegatives ?? null;
  if (table === null || given === null)
    throw new ValueError(expected(where, 'relations (CORRUPT_REL)', 'relationNegatives', given));
  const ids = checkIds(where, 'relationNegatives', given, table.shape[0]);
  if (ids.length === 0 || ids.length % chunks !== 0)
    throw new ShapeError(
      expected(where, `as many for each of ${chunks} chunks`, 'relationNegatives', ids.length),
    );
  const [src, dst] = side.direction === 'rhs' ? [input.src, input.dst] : [input.dst, input.src];
  const query = decoder.operator.relationQuery(src, dst, decoder.comparator);
  if (query !== null) return decoder.comparator.chunks(query, table, ids, chunks);
  const n = ids.length / chunks;
  const edges = src.shape[0];
  const size = Math.ceil(edges / chunks);
  const each = Int32Array.from({ length: edges * n }, (_, i) => Math.floor(i / n));
  const relations = each.map((edge, i) => ids[Math.floor(edge / size) * n + (i % n)]);
  const changed = decoder.operator.apply(gatherRows(src, each), gatherRows(table, relations));
  return reshape(decoder.comparator.pairs(changed, gatherRows(dst, each)), [edges, n]);
}
