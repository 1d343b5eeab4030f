/**
 * The softmax loss of link prediction for edges given by row numbers, from the relation operator to the gradients of
 * nodes and relations in one operation: no rows are gathered, and a node's gradient is summed and written once. The
 * value is that of `chunkedSoftmaxLossSides` over gathered rows. Forward computes the gradients, as there.
 */
import { kernels, type RelationOp, relationCode } from '../../native/index.js';
import { SparseRows, Tensor } from '../../tensor/index.js';
import { builtinOp } from '../../tensor/op.js';
import { checkIds, checkSameFloat, checkShapeIs, pack } from '../../tensor/ops/common.js';
import { expected, ShapeError } from '../../util/errors.js';
import { type ChunkedLossOptions, checkMask, isMean, type NegativeMask } from './chunked-softmax-loss.js';
import { addUp, scaleBy } from './fused-loss.js';
import { checkMatrix, checkNegatives } from './scores.js';

/** One direction of corruption: operator(rows[sources], relations) should find rows[targets]. */
export interface EdgeSide {
  /** B row numbers of the sources. */
  readonly sources: Int32Array;
  readonly targets: Int32Array;
  /** The operator of this direction; default: that of the call. */
  readonly operator?: RelationOp;
  /** Relation embeddings [R, d]; null if the operator is 'none'. */
  readonly table: Tensor | null;
  /** chunks · n row numbers, those of the first chunk first. */
  readonly negatives: Int32Array;
  readonly mask?: NegativeMask | null;
}

interface Lists {
  readonly op: number;
  readonly sources: Int32Array;
  readonly targets: Int32Array;
  readonly negatives: Int32Array;
  readonly mask: NegativeMask | null;
}

interface Attributes {
  readonly sides: readonly Lists[];
  readonly relations: Int32Array | null;
  readonly chunks: number;
  readonly mean: boolean;
  /** Gradients that forward computed; backward removes them. */
  ready: Gradients | null;
}

interface Gradients {
  /** Gradient of the rows, if needed. */
  readonly rows: Tensor | null;
  /** Gradients of each side's relations, edge by edge: [B, d]. */
  readonly relations: readonly (Tensor | null)[];
}

const edgeSoftmaxLossOp = builtinOp<Attributes>({
  name: 'edgeSoftmaxLoss',
  forward(ctx, inputs, attributes) {
    const total = Tensor.allocate(inputs[0].dtype, []);
    const needs = ctx.recording ? inputs.map((_, i) => ctx.needs(i)) : null;
    const made = run(inputs, attributes, needs, total);
    attributes.ready = made;
    ctx.save(...inputs);
    return total;
  },
  backward(ctx, gy, attributes) {
    let made = attributes.ready;
    attributes.ready = null;
    if (made === null || [made.rows, ...made.relations].some((t) => t?.isDisposed)) {
      const needs = ctx.saved.map((_, i) => ctx.needs(i));
      made = run(ctx.saved, attributes, needs, Tensor.allocate(gy.dtype, []));
    }
    for (const g of [made?.rows, ...(made?.relations ?? [])]) if (g) scaleBy(g, gy);
    const tables = ctx.saved.slice(1).map((table, side) => {
      const g = made?.relations[side] ?? null;
      return g === null ? null : rowsOfTable(table, attributes.relations as Int32Array, g);
    });
    return [made?.rows ?? null, ...tables];
  },
});

/**
 * Returns the gradient of a table of relations as sparse rows, each relation once, in memory that no scope recycles.
 */
function rowsOfTable(table: Tensor, relations: Int32Array, g: Tensor): SparseRows {
  const [count, width] = g.shape;
  const ids = new Int32Array(count);
  const sums = Tensor.allocate(g.dtype, g.shape);
  const distinct = kernels().coalesceRows(
    relations,
    g.floats,
    ids,
    sums.floats,
    count,
    table.shape[0],
    width,
  );
  const sparse = SparseRows.copyOf(table.shape, ids.slice(0, distinct), sums.floats, g.device);
  sums.dispose();
  g.dispose();
  return sparse;
}

/**
 * Writes the reduced loss of all sides to `total`; returns gradients of the inputs that need one (`needs` null: none).
 */
function run(
  inputs: readonly Tensor[],
  attributes: Attributes,
  needs: readonly boolean[] | null,
  total: Tensor,
): Gradients | null {
  const { sides, relations, chunks, mean } = attributes;
  const [rows, ...tables] = inputs;
  const [rowCount, width] = rows.shape;
  const edges = sides[0].sources.length;
  const scale = mean ? 1 / Math.max(1, edges) : 1;
  const counts = sides.map(({ negatives }) => 2 * edges + negatives.length);
  const read = counts.reduce((a, b) => a + b, 0);
  const gRead = needs === null ? null : Tensor.allocate(rows.dtype, [read, width]);
  const losses = Tensor.allocate(rows.dtype, [sides.length * edges]);
  const gRelations = sides.map((_, i) =>
    needs?.[1 + i] ? Tensor.allocate(rows.dtype, [edges, width]) : null,
  );
  let at = 0;
  for (const [i, { op, sources, targets, negatives, mask }] of sides.entries()) {
    kernels().edgeSoftmaxLoss({
      op,
      rows: pack(rows),
      sources,
      targets,
      table: relations === null ? null : pack(tables[i]),
      relations,
      negatives,
      maskOffsets: mask?.offsets ?? null,
      maskPositions: mask?.positions ?? null,
      loss: losses.floats.subarray(i * edges),
      gRead: gRead?.floats.subarray(at * width) ?? null,
      gRelations: gRelations[i]?.floats ?? null,
      edges,
      width,
      chunks,
      n: negatives.length / chunks,
      scale,
    });
    at += counts[i];
  }
  addUp([{ losses, scale }], total);
  losses.dispose();
  if (gRead === null) return null;
  const gRows = needs?.[0] ? Tensor.allocate(rows.dtype, rows.shape) : null;
  if (gRows !== null)
    kernels().sumRows(idsAsRead(sides, read), gRead.floats, gRows.floats, read, rowCount, width);
  gRead.dispose();
  return { rows: gRows, relations: gRelations };
}

/** Returns the row numbers in the order of the kernel's gradients. */
function idsAsRead(sides: readonly Lists[], count: number): Int32Array {
  const ids = new Int32Array(count);
  let at = 0;
  for (const { sources, targets, negatives } of sides) {
    for (const list of [sources, targets, negatives]) {
      ids.set(list, at);
      at += list.length;
    }
  }
  return ids;
}

/**
 * Returns the loss of all edges in one or more directions.
 *
 * @param rows embeddings of the batch's nodes, [U, d]
 * @param operator applies relations in all directions that do not name another; 'none' is for all of them
 * @param relations the relation of each edge; null if the operator is 'none'
 */
export function edgeSoftmaxLoss(
  rows: Tensor,
  operator: RelationOp,
  relations: Int32Array | null,
  chunks: number,
  sides: readonly EdgeSide[],
  options: ChunkedLossOptions = {},
): Tensor {
  const where = 'edgeSoftmaxLoss';
  const mean = isMean(where, options);
  checkMatrix(where, 'rows', rows);
  checkSameFloat(where, { rows });
  const tables = operator === 'none' ? [] : checkTables(where, rows, operator, sides);
  const edges = sides[0]?.sources.length ?? 0;
  // A copy: backward may run again after the caller has changed its arrays, and kernels trust ids checked once.
  const ends = (name: string, ids: Int32Array): Int32Array =>
    checkEnds(where, name, ids, edges, rows.shape[0]);
  const lists = sides.map(({ operator: own = operator, sources, targets, negatives, mask }) => {
    const others = checkNegatives(where, rows, negatives, chunks).slice();
    return {
      op: relationCode[own],
      sources: ends('sources', sources),
      targets: ends('targets', targets),
      negatives: others,
      mask: checkMask(where, mask, edges, others.length / chunks),
    };
  });
  const fewest = Math.min(...tables.map((table) => table.shape[0]));
  const own =
    operator === 'none' ? null : checkEnds(where, 'relations', relations ?? new Int32Array(0), edges, fewest);
  return edgeSoftmaxLossOp([rows, ...tables], {
    sides: lists,
    relations: own,
    chunks,
    mean,
    ready: null,
  });
}

function checkTables(
  where: string,
  rows: Tensor,
  operator: RelationOp,
  sides: readonly EdgeSide[],
): Tensor[] {
  const width = rows.shape[1];
  const operators = [operator, ...sides.map((side) => side.operator ?? operator)];
  const complex = operators.includes('complex') || operators.includes('conjugate');
  if (complex && width % 2 !== 0)
    throw new ShapeError(expected(where, 'an even width (real parts, imaginary parts)', 'rows', width));
  return sides.map(({ table }) => {
    if (table === null) throw new ShapeError(expected(where, `[R, ${width}]`, 'table', 'none'));
    checkSameFloat(where, { rows, table });
    checkShapeIs(where, 'table', table, [table.shape[0], width]);
    return table;
  });
}

/** Checks that there is one number in range for each edge; returns a copy. */
function checkEnds(where: string, name: string, ids: Int32Array, edges: number, hi: number): Int32Array {
  if (ids.length !== edges)
    throw new ShapeError(expected(where, `${edges} numbers (one for each edge)`, name, ids.length));
  return checkIds(where, name, ids, hi).slice();
}
