/** Collects edges one at a time in growing arrays. */
import { Graph } from '../graph/index.js';
import type { EdgeArrays } from './edges.js';

export class EdgeCollector {
  #src: Int32Array;
  #dst: Int32Array;
  #count = 0;

  constructor(capacity = 1024) {
    this.#src = new Int32Array(capacity);
    this.#dst = new Int32Array(capacity);
  }

  add(src: number, dst: number): void {
    if (this.#count === this.#src.length) {
      this.#src = grow(this.#src);
      this.#dst = grow(this.#dst);
    }
    this.#src[this.#count] = src;
    this.#dst[this.#count++] = dst;
  }

  addBoth(a: number, b: number): void {
    this.add(a, b);
    this.add(b, a);
  }

  finish(numNodes: number): EdgeArrays {
    return { numNodes, src: this.#src.subarray(0, this.#count), dst: this.#dst.subarray(0, this.#count) };
  }
}

function grow(array: Int32Array): Int32Array {
  const larger = new Int32Array(Math.max(16, 2 * array.length));
  larger.set(array);
  return larger;
}

export function toGraph({ numNodes, src, dst }: EdgeArrays): Graph {
  return Graph.fromEdges(src, dst, { numNodes });
}
