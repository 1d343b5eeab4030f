/**
 * Gradients of the chunks of a batch, added in a fixed tree: ((g₀ + g₁) + (g₂ + g₃)) + … over all chunks of all workers. A worker
 * adds its own branch, `allReduce` the rest, which is the same tree if the numbers of workers and of their chunks are powers of two.
 * One array holds all gradients, then per parameter the number of chunks that have a gradient for it, then sums.
 */
import { binaryCode, type FloatArray, kernels } from '../../native/index.js';
import { fromTypedArray, type Tensor } from '../../tensor/index.js';
import { unscoped } from '../../tensor/scope.js';
import type { CommHandle, Communicator } from '../comm/communicator.js';

export class GradientTree {
  readonly #comm: Communicator;
  readonly #params: readonly Tensor[];
  /** Offset of each parameter's gradient; the last entry is the end. */
  readonly #offsets: number[] = [0];
  readonly #numSums: number;
  readonly #free: FloatArray[] = [];

  /** @param numSums numbers that are summed together with the gradients. */
  constructor(comm: Communicator, params: Iterable<Tensor>, numSums = 0) {
    this.#comm = comm;
    this.#params = [...params];
    this.#numSums = numSums;
    for (const p of this.#params) this.#offsets.push((this.#offsets.at(-1) as number) + p.size);
  }

  /**
   * Starts the sum over all chunks of all workers. Every branch leaves the gradients of one chunk at the parameters and returns its
   * sums; a null branch has none. `apply` takes the array back.
   */
  start(branches: readonly ((() => readonly number[]) | null)[]): { sum: FloatArray; handle: CommHandle } {
    const sum = this.#branch(branches, 0, branches.length);
    return { sum, handle: this.#comm.allReduceAsync(sum) };
  }

  /** Sets the gradients of the parameters from `sum`, none where no chunk had one; returns the sums. */
  apply(sum: FloatArray): number[] {
    const end = this.#offsets[this.#params.length];
    for (const [i, p] of this.#params.entries()) {
      p.zeroGrad();
      if (sum[end + i] === 0) continue;
      const values = sum.slice(this.#offsets[i], this.#offsets[i + 1]);
      p.grad = unscoped(() => fromTypedArray(values, p.shape));
    }
    const sums = Array.from(sum.subarray(end + this.#params.length));
    this.#free.push(sum);
    return sums;
  }

  #branch(branches: readonly ((() => readonly number[]) | null)[], from: number, to: number): FloatArray {
    if (to - from === 1) return this.#leaf(branches[from]);
    const middle = (from + to) >>> 1;
    const left = this.#branch(branches, from, middle);
    const right = this.#branch(branches, middle, to);
    kernels().binary(binaryCode.add, left, right, left, left.length, null);
    this.#free.push(right);
    return left;
  }

  #leaf(run: (() => readonly number[]) | null): FloatArray {
    const leaf = this.#take();
    if (run === null) return leaf.fill(0);
    const sums = run();
    const end = this.#offsets[this.#params.length];
    for (const [i, p] of this.#params.entries()) {
      const gradient = p.ownGrad;
      if (gradient === null) leaf.fill(0, this.#offsets[i], this.#offsets[i + 1]);
      else leaf.set(gradient.dataSync() as FloatArray, this.#offsets[i]);
      leaf[end + i] = gradient === null ? 0 : 1;
    }
    leaf.set(sums, end + this.#params.length);
    return leaf;
  }

  #take(): FloatArray {
    const { length } = this.#params;
    const size = this.#offsets[length] + length + this.#numSums;
    const wide = this.#params.some(({ dtype }) => dtype === 'f64');
    return this.#free.pop() ?? (wide ? new Float64Array(size) : new Float32Array(size));
  }
}
