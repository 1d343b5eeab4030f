/**
 * Dropout. The mask is a function of a random key, so backward recomputes it instead of storing it.
 */
import { kernels, type RandomKey } from '../../native/index.js';
import { checkNumber, expected, ShapeError } from '../../util/errors.js';
import { Random } from '../../util/philox.js';
import { Tensor } from '../methods.js';
import { builtinOp } from '../op.js';
import { defaultRandom } from '../random.js';
import { checkFloat, pack } from './common.js';

export interface DropoutDraws {
  /** The generator of masks; by default the shared one. */
  readonly random?: Random;
  /**
   * The id of each row of x, 0, 1, 2, … by default. A draw depends on id and column, not on the row's position, so that
   * any selection of rows has the mask of the whole table (`graph.rowIds`).
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
  forward: (_ctx, [x], attributes) => applyMask(x, attributes),
  backward: (_ctx, gy, attributes) => [applyMask(gy, attributes)],
});

function applyMask(x: Tensor, { p, key, rowIds }: Attributes): Tensor {
  const y = Tensor.allocate(x.dtype, x.shape);
  const rows = rowIds?.length ?? 0;
  if (rowIds === null) kernels().dropout(pack(x), y.floats, y.size, p, key);
  else if (rows > 0) kernels().dropoutRows(pack(x), rowIds, y.floats, rows, y.size / rows, p, key);
  return y;
}

/** Sets each element to 0 with probability p, and divides it by 1 − p otherwise. Every call draws a new mask. */
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
