/**
 * Dropout. The mask is a function of a random key, so backward makes it again instead of storing it.
 */
import { kernels, type RandomKey } from '../../native/index.js';
import { checkNumber, expected, ShapeError } from '../../util/errors.js';
import { Random } from '../../util/philox.js';
import { Tensor } from '../methods.js';
import { builtinOp } from '../op.js';
import { defaultRandom } from '../random.js';
import { checkFloat, packed } from './common.js';

export interface DropoutDraws {
  /** Where masks come from; the shared generator by default. */
  readonly random?: Random;
  /**
   * The id of each row of x. Draws then belong to id and column, not to the row's place: any part of a table has the mask
   * of the whole (`graph.rowIds`). null: 0, 1, 2, ….
   */
  readonly rowIds?: Int32Array | null;
}

interface Attributes {
  readonly p: number;
  readonly key: RandomKey;
  readonly rowIds: Int32Array | null;
}

const dropoutOp = builtinOp<Attributes>({
  name: 'dropout',
  forward: (_ctx, [x], attributes) => masked(x, attributes),
  backward: (_ctx, gy, attributes) => [masked(gy, attributes)],
});

function masked(x: Tensor, { p, key, rowIds }: Attributes): Tensor {
  const y = Tensor.allocate(x.dtype, x.shape);
  const rows = rowIds?.length ?? 0;
  if (rowIds === null) kernels().dropout(packed(x), y.floats, y.size, p, key);
  else if (rows > 0) kernels().dropoutRows(packed(x), rowIds, y.floats, rows, y.size / rows, p, key);
  return y;
}

/** Each element 0 with probability p, otherwise divided by 1 − p. Every call draws a new mask. */
export function dropout(x: Tensor, p: number, draws: Random | DropoutDraws = {}): Tensor {
  checkFloat('dropout', 'x', x);
  checkNumber('dropout', 'p', p, 0, 1);
  const { random = defaultRandom(), rowIds = null } = draws instanceof Random ? { random: draws } : draws;
  if (rowIds !== null && (x.rank === 0 || rowIds.length !== x.shape[0]))
    throw new ShapeError(
      expected('dropout', `${x.shape[0] ?? 0} ids (one per row of x)`, 'rowIds', rowIds.length),
    );
  if (p === 0) return x;
  return dropoutOp([x], { p, key: random.split(random.reserve(1)).key, rowIds });
}
