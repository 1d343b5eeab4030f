/**
 * Which worker owns which node, and in which row of its arrays. All workers hold the same table, so that a request can name rows of
 * the owner's arrays. The rows of an owner are in ascending order of node ids; later nodes are assigned round robin.
 */
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';

/** Ids by owner: those of worker q are `rows[offsets[q]] … rows[offsets[q + 1] − 1]`. */
export interface OwnedRows {
  /** Rows of the owners' arrays. */
  readonly rows: Int32Array;
  readonly offsets: Int32Array;
  /** Position in `rows` of each of the ids. */
  readonly positions: Int32Array;
}

export class NodeOwners {
  /** Number of workers. */
  readonly size: number;
  #owners: Int32Array;
  #rows: Int32Array;
  readonly #counts: Int32Array;

  /** @param owners the worker of every node. */
  constructor(owners: Int32Array, size: number) {
    this.size = checkInteger('NodeOwners', 'size', size, 1);
    this.#owners = owners.slice();
    this.#rows = new Int32Array(owners.length);
    this.#counts = new Int32Array(size);
    this.#number(0);
  }

  /** Assigns nodes round robin: nodes with similar ids, which are often similarly active, get different owners. */
  static roundRobin(numNodes: number, size: number): NodeOwners {
    return new NodeOwners(
      Int32Array.from({ length: numNodes }, (_, v) => v % size),
      size,
    );
  }

  /** Assigns consecutive nodes to each worker, about the same number to each. */
  static ranges(numNodes: number, size: number): NodeOwners {
    const owners = Int32Array.from({ length: numNodes }, (_, v) => Math.floor((v * size) / numNodes));
    return new NodeOwners(owners, size);
  }

  /** Assigns consecutive partitions to each worker. @param master the partition of every node. */
  static fromPartitions(master: Int32Array, numParts: number, size: number): NodeOwners {
    if (numParts % size !== 0) {
      const advice = 'Partition the stream into a multiple of the workers.';
      throw new ValueError(
        expected('NodeOwners', `a multiple of ${size} workers`, 'numParts', numParts, advice),
      );
    }
    return new NodeOwners(
      master.map((part) => Math.floor((part * size) / numParts)),
      size,
    );
  }

  get numNodes(): number {
    return this.#owners.length;
  }

  /** Returns the number of nodes of a worker. */
  count(worker: number): number {
    return this.#counts[worker];
  }

  ownerOf(node: number): number {
    return this.#owners[node];
  }

  /** Returns the nodes of a worker, in the order of its rows. */
  nodesOf(worker: number): Int32Array {
    const nodes = new Int32Array(this.#counts[worker]);
    for (let v = 0; v < this.#owners.length; v++) if (this.#owners[v] === worker) nodes[this.#rows[v]] = v;
    return nodes;
  }

  grow(numNodes: number): void {
    const before = this.numNodes;
    if (numNodes < before)
      throw new ShapeError(expected('NodeOwners', `at least ${before} nodes`, 'numNodes', numNodes));
    const owners = new Int32Array(numNodes);
    owners.set(this.#owners);
    for (let v = before; v < numNodes; v++) owners[v] = v % this.size;
    const rows = new Int32Array(numNodes);
    rows.set(this.#rows);
    this.#owners = owners;
    this.#rows = rows;
    this.#number(before);
  }

  /** Sorts ids by owner; those of one owner keep their order. */
  split(ids: Int32Array): OwnedRows {
    const offsets = new Int32Array(this.size + 1);
    for (let i = 0; i < ids.length; i++) offsets[this.#owners[ids[i]] + 1]++;
    for (let q = 0; q < this.size; q++) offsets[q + 1] += offsets[q];
    const next = offsets.slice();
    const rows = new Int32Array(ids.length);
    const positions = new Int32Array(ids.length);
    for (let i = 0; i < ids.length; i++) {
      const position = next[this.#owners[ids[i]]]++;
      rows[position] = this.#rows[ids[i]];
      positions[i] = position;
    }
    return { rows, offsets, positions };
  }

  #number(from: number): void {
    for (let v = from; v < this.#owners.length; v++) {
      const owner = this.#owners[v];
      if (owner < 0 || owner >= this.size)
        throw new ValueError(
          expected('NodeOwners', `workers from 0 to ${this.size - 1}`, `owners[${v}]`, owner),
        );
      this.#rows[v] = this.#counts[owner]++;
    }
  }
}
