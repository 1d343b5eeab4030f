/**
 * The steps of summing gradients over ranks: exchanging which rank has which gradient, summing dense gradients packed
 * into one array, and summing sparse rows.
 */
import type { FloatArray } from '../../native/index.js';
import { SparseRows, Tensor } from '../../tensor/index.js';
import { unscoped } from '../../tensor/scope.js';
import type { Communicator } from '../comm/communicator.js';

/** Which gradients of parameter i exist on some rank; the same on all ranks. */
export interface GradientFlags {
  dense(i: number): boolean;
  sparse(i: number): boolean;
  /** Added to after its bucket was sent. */
  late(i: number): boolean;
}

/** Collective: exchanges which gradients exist. */
export function agreeOnGradients(
  comm: Communicator,
  parameters: readonly Tensor[],
  isLate: (p: Tensor) => boolean,
  channel: number,
): GradientFlags {
  const flags = new Int32Array(3 * parameters.length);
  for (const [i, p] of parameters.entries()) {
    flags[3 * i] = p.ownGrad === null ? 0 : 1;
    flags[3 * i + 1] = p.sparseGrad === null ? 0 : 1;
    flags[3 * i + 2] = isLate(p) ? 1 : 0;
  }
  comm.allReduceAsync(flags, 'max', channel).wait();
  return {
    dense: (i) => flags[3 * i] === 1,
    sparse: (i) => flags[3 * i + 1] === 1,
    late: (i) => flags[3 * i + 2] === 1,
  };
}

/** Waits for a sum and makes it the gradient of the wanted parameters; the others keep their gradients. */
export type FinishSum = (wanted: (p: Tensor) => boolean) => void;

/** Collective: starts the sum of the gradients of parameters of one dtype; null counts as 0. */
export function sumDense(comm: Communicator, parameters: readonly Tensor[], channel: number): FinishSum {
  const total = parameters.reduce((sum, p) => sum + p.size, 0);
  const bucket = unscoped(() => Tensor.allocate(parameters[0].dtype, [total]));
  const views = viewsIn(bucket.floats, parameters);
  for (const [i, p] of parameters.entries()) {
    if (p.ownGrad !== null) views[i].set(p.ownGrad.floats);
    else views[i].fill(0);
    p.sparseGrad?.addTo(views[i]);
  }
  const handle = comm.allReduceAsync(bucket.floats, 'sum', channel);
  return (wanted) => {
    handle.wait();
    for (const [i, p] of parameters.entries()) if (wanted(p)) setGradient(p, views[i]);
    bucket.dispose();
  };
}

function viewsIn(all: FloatArray, parameters: readonly Tensor[]): FloatArray[] {
  let at = 0;
  return parameters.map((p) => {
    at += p.size;
    return all.subarray(at - p.size, at);
  });
}

function setGradient(p: Tensor, values: FloatArray): void {
  let gradient = p.ownGrad;
  if (gradient === null) {
    gradient = unscoped(() => Tensor.allocate(p.dtype, p.shape));
    p.setOwnGrad(gradient);
  }
  gradient.floats.set(values);
  gradient.storage.version++;
  p.sparseGrad = null;
}

/** Collective: sums the gradient rows of all ranks in rank order, each id once. */
export function sumSparse(comm: Communicator, p: Tensor): void {
  const own = p.sparseGrad?.coalesce() ?? new SparseRows(p.shape, new Int32Array(0), emptyLike(p));
  const ids = comm.allGather(own.ids);
  const rows = comm.allGather(own.rows);
  const perRank = ids.map((list, rank) => new SparseRows(p.shape, list, rows[rank]));
  p.sparseGrad = perRank.reduce((sum, rows) => sum.concat(rows)).coalesce();
}

function emptyLike(p: Tensor): FloatArray {
  return p.dtype === 'f64' ? new Float64Array(0) : new Float32Array(0);
}
