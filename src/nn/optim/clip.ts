/**
 * Bounds on gradients, applied in place between backward and step.
 */
import { type FloatArray, kernels } from '../../native/index.js';
import { type Tensor, unscoped } from '../../tensor/index.js';
import { checkNumber, ValueError } from '../../util/errors.js';

export interface ClipOptions {
  /** Throw when the norm is NaN or infinite (the default) instead of spoiling every gradient with it. */
  readonly errorIfNonFinite?: boolean;
}

/**
 * Scales all gradients together so that their common Euclidean norm is at most maxNorm; returns the norm before.
 * Gradient rows are coalesced first.
 */
export function clipGradNorm(params: Iterable<Tensor>, maxNorm: number, options: ClipOptions = {}): number {
  checkNumber('clipGradNorm', 'maxNorm', maxNorm, 0);
  const gradients = [...params].flatMap(gradientOf);
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
  // The small term is PyTorch's: it keeps a norm of 0 from dividing.
  const factor = maxNorm / (norm + 1e-6);
  if (!(factor >= 1)) {
    for (const { values, changed } of gradients) {
      kernels().scale(values, values.length, factor);
      changed();
    }
  }
  return norm;
}

/** Cuts every element of every gradient to [−limit, limit]. */
export function clipGradValue(params: Iterable<Tensor>, limit: number): void {
  checkNumber('clipGradValue', 'limit', limit, 0);
  for (const { values, changed } of [...params].flatMap(gradientOf)) {
    const cut =
      values instanceof Float32Array ? new Float32Array(values.length) : new Float64Array(values.length);
    kernels().clamp(values, cut, values.length, -limit, limit);
    values.set(cut);
    changed();
  }
}

interface HeldGradient {
  readonly values: FloatArray;
  changed(): void;
}

/** The gradient of a parameter as memory that may be written; none when it has no gradient. */
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
