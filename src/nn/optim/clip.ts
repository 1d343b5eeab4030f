/**
 * Clips gradients in place between backward and step.
 *
 * On a device nothing is read back: `clipGradNormTensor` returns the norm as a tensor, which may be awaited later.
 */
import { binaryCode, type FloatArray, kernels, unaryCode } from '../../native/index.js';
import { commonDevice, onDevice, type TensorDevice } from '../../tensor/device.js';
import { dtypes } from '../../tensor/dtype.js';
import { add, div, fromTypedArray, minimum, noGrad, scope, sqrt, sum, Tensor } from '../../tensor/index.js';
import { unscoped } from '../../tensor/scope.js';
import { checkNumber, StateError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';

export interface ClipOptions {
  /** Throw if the norm is NaN or infinite (the default) instead of making all gradients NaN. */
  readonly errorIfNonFinite?: boolean;
}

/**
 * Scales all gradients together so that their common Euclidean norm is at most maxNorm; returns the norm before
 * clipping. Sparse gradient rows are coalesced first. For parameters on the CPU; on a device use `clipGradNormTensor`.
 */
export function clipGradNorm(params: Iterable<Tensor>, maxNorm: number, options: ClipOptions = {}): number {
  checkOptionNames('clipGradNorm', options, { errorIfNonFinite: true });
  checkNumber('clipGradNorm', 'maxNorm', maxNorm, 0);
  const list = [...params];
  const device = deviceOf(list);
  if (device !== null)
    throw new StateError(
      `clipGradNorm: expected parameters on the CPU, got parameters on ${device.name}, where the norm must be awaited. Use clipGradNormTensor.`,
    );
  const gradients = list.flatMap(gradientOf);
  let squares = 0;
  for (const [i, { values }] of gradients.entries()) {
    squares += kernels().sumSquares(values, values.length);
    if (!Number.isFinite(squares) && options.errorIfNonFinite !== false) {
      throw new ValueError(
        `clipGradNorm: expected finite gradients, got a norm of ${Math.sqrt(squares)} at gradient ${i}. ` +
          'Find the first bad operation with setCheckFinite(true).',
      );
    }
  }
  const norm = Math.sqrt(squares);
  // The small term, as in PyTorch, avoids a division by 0.
  const factor = maxNorm / (norm + 1e-6);
  if (!(factor >= 1)) {
    for (const { values, changed } of gradients) {
      kernels().scale(values, values.length, factor);
      changed();
    }
  }
  return norm;
}

/**
 * Like `clipGradNorm`, for parameters on any one device: returns the norm before clipping as a scalar tensor, without
 * waiting for it. A norm that is not finite is not detected and makes all gradients NaN.
 *
 * @example
 * const norm = clipGradNormTensor(model.parameters(), 1);
 * optimizer.step();
 * console.log((await norm.data())[0]);
 */
export function clipGradNormTensor(params: Iterable<Tensor>, maxNorm: number): Tensor {
  checkNumber('clipGradNormTensor', 'maxNorm', maxNorm, 0);
  const list = [...params];
  const device = deviceOf(list);
  if (device === null) {
    const norm = clipGradNorm(list, maxNorm, { errorIfNonFinite: false });
    return fromTypedArray(Float32Array.of(norm), []);
  }
  const gradients = list.flatMap(gradientOf);
  if (gradients.length === 0) return fromTypedArray(new Float32Array(1), []);
  return noGrad(() =>
    scope(() =>
      onDevice(device, () => {
        const norm = sqrt(gradients.map(sumOfSquares).reduce((total, part) => add(total, part)));
        const factor = minimum(div(maxNorm, add(norm, 1e-6)), 1);
        for (const { values, changed } of gradients) {
          const n = values.length;
          const stretched = Int32Array.of(1, n, 1, 0);
          kernels().binary(binaryCode.mul, values, factor.floats, values, n, stretched);
          changed();
        }
        return norm;
      }),
    ),
  );
}

function sumOfSquares({ values }: HeldGradient): Tensor {
  const n = values.length;
  const squares = Tensor.allocate('f32', [n]);
  kernels().unary(unaryCode.square, values, squares.floats, n, 0);
  return sum(squares);
}

/** Clamps every element of every gradient to [−limit, limit]. */
export function clipGradValue(params: Iterable<Tensor>, limit: number): void {
  checkNumber('clipGradValue', 'limit', limit, 0);
  const list = [...params];
  const device = deviceOf(list);
  for (const { values, changed } of list.flatMap(gradientOf)) {
    const n = values.length;
    onDevice(device, () =>
      scope(() => {
        const cut = Tensor.allocate(values instanceof Float64Array ? 'f64' : 'f32', [n]);
        kernels().clamp(values, cut.floats, n, -limit, limit);
        kernels().copyStrided(cut.array, values, dtypes[cut.dtype].bytes, Int32Array.of(1, n, 1, 1));
      }),
    );
    changed();
  }
}

/** Returns the common device of the parameters. */
function deviceOf(params: readonly Tensor[]): TensorDevice | null {
  return params.length === 0 ? null : commonDevice('clipGrad', params);
}

interface HeldGradient {
  readonly values: FloatArray;
  changed(): void;
}

/** Returns the gradient of a parameter as writable memory; empty if it has none. */
function gradientOf(p: Tensor): HeldGradient[] {
  if (p.sparseGrad !== null) {
    const before = p.sparseGrad;
    p.sparseGrad = before.coalesce();
    before.dispose();
    return [{ values: p.sparseGrad.rows, changed: () => {} }];
  }
  let dense = p.ownGrad;
  if (dense === null) return [];
  if (!dense.isContiguous) {
    const strided = dense;
    dense = unscoped(() => strided.clone());
    p.grad = dense;
  }
  const { storage } = dense;
  return [{ values: dense.floats, changed: () => storage.version++ }];
}
