/** A fixed random sample of the validation edges (`evaluation.max_edges`), in their order in the split. */
import { kernels } from '../../../native/index.js';
import type { EdgeList } from '../../../sample/one-hop-sampler.js';
import { Random } from '../../../util/philox.js';
import { streams } from '../graph/batch/samplers.js';
import type { EdgeSplit } from '../graph/storage/edge-splits.js';
import { gatherInts } from './filter-index.js';

export class ValidationSample {
  /** The most edges. */
  readonly most: number;
  readonly #random: Random;
  #edges: EdgeList | null = null;

  constructor(most: number, seed: number) {
    this.most = most;
    this.#random = new Random(seed, streams.validation);
  }

  /** Returns edges begin … end − 1 of the sample. */
  async read(split: EdgeSplit, begin: number, end: number): Promise<EdgeList> {
    this.#edges ??= await this.#sample(split);
    const { src, dst, relations = null } = this.#edges;
    return {
      src: src.slice(begin, end),
      dst: dst.slice(begin, end),
      relations: relations?.slice(begin, end) ?? null,
    };
  }

  /** Returns the numbers below `count` in a random order, the same every time. */
  order(count: number): Int32Array {
    const order = new Int32Array(count);
    kernels().randomPermutation(order, count, this.#random.split(1).key);
    return order;
  }

  async #sample(split: EdgeSplit): Promise<EdgeList> {
    const { numEdges } = split;
    const order = new Int32Array(numEdges);
    kernels().randomPermutation(order, numEdges, this.#random.key);
    const picked = order.slice(0, Math.min(this.most, numEdges)).sort();
    const { src, dst, relations = null } = await split.read(0, numEdges);
    const pick = (values: Int32Array): Int32Array => gatherInts(values, picked, picked.length);
    return { src: pick(src), dst: pick(dst), relations: relations === null ? null : pick(relations) };
  }
}
