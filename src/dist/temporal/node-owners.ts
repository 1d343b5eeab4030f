/**
 * Which worker keeps the state of which node, and where in its arrays. All workers hold the same table, so that a request
 * can name rows of the owner's arrays. An owner's nodes lie in ascending order of their ids; nodes that come later are dealt
 * out in turn.
 */
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';

/** Ids by owner: those of worker q are `rows[offsets[q]] … rows[offsets[q + 1] − 1]`. */
export interface OwnedRows {
  /** Rows of the owners' arrays. */
  readonly rows: Int32Array;
  readonly offsets: Int32Array;
  /** Place in `rows` of each of the ids. */
  readonly places: Int32Array;
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

  /** Nodes dealt out in turn: neighbours in number, often alike busy, are spread. */
  static inTurn(numNodes: number, size: number): NodeOwners {
    return new NodeOwners(
      Int32Array.from({ length: numNodes }, (_, v) => v % size),
      size,
    );
  }

  /** Consecutive nodes to each worker, as many to each as possible. */
  static ranges(numNodes: number, size: number): NodeOwners {
    const owners = Int32Array.from({ length: numNodes }, (_, v) => Math.floor((v * size) / numNodes));
    return new NodeOwners(owners, size);
  }

  /** From the part of every node, consecutive parts to each worker. */
  static ofParts(master: Int32Array, numParts: number, size: number): NodeOwners {
    if (numParts % size !== 0) {
      const advice = 'Cut the stream into a multiple of the workers.';
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

  /** Number of nodes that a worker keeps. */
  count(worker: number): number {
    return this.#counts[worker];
  }

  ownerOf(node: number): number {
    return this.#owners[node];
  }

  /** Nodes of a worker, in the order of its rows. */
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
    const places = new Int32Array(ids.length);
    for (let i = 0; i < ids.length; i++) {
      const place = next[this.#owners[ids[i]]]++;
      rows[place] = this.#rows[ids[i]];
      places[i] = place;
    }
    return { rows, offsets, places };
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
