/**
 * The edges of one step of message passing on a subgraph, from `srcIds` to the destinations among them. Samplers make
 * blocks; a model of L layers takes L of them, the outermost first.
 *
 * Destinations are a consecutive range of the sources, by default at the start, so a layer finds the row of a
 * destination without a lookup. A block refers to the graph it was sampled from for edge ids, weights and degrees.
 */
import type { Offsets } from '../native/index.js';
import { checkInteger, expected, StateError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Adjacency, checkNodeIds } from './adjacency.js';
import { type Graph, regroup } from './graph.js';
import { LocalGraph } from './local-graph.js';

/** The graph that a block was sampled from. */
export interface BlockParent {
  /** Returns the degrees for symmetric normalisation. */
  normDegrees(selfLoops: boolean): { readonly src: Float64Array };
  /** Returns the degrees of some nodes, where those of all are not available. */
  normDegreesOf?(ids: Int32Array, selfLoops: boolean): Float64Array;
}

export interface BlockOptions {
  /** The row of the sources at which the destinations begin. */
  readonly dstOffset?: number;
  /** Global ids of the sources. */
  readonly srcIds?: Int32Array;
  /** Edge ids in the parent, by position, or a function that finds them on first use. */
  readonly parentEdgeIds?: Int32Array | (() => Int32Array);
  /** Ids that distinguish edges, by position, where edge ids do not: an edge may be followed in both directions. */
  readonly rowIds?: Int32Array | (() => Int32Array | null) | null;
  /** Weights by position. */
  readonly weights?: Float32Array | null;
  readonly parent?: BlockParent;
  /** The destinations to which `withSelfLoops` added a loop. */
  readonly addedLoops?: Int32Array;
}

export class Block extends LocalGraph {
  readonly srcIds: Int32Array | null;
  readonly parent: BlockParent | null;
  #parentEdgeIds: Int32Array | (() => Int32Array) | null;
  #rowIds: Int32Array | (() => Int32Array | null) | null;
  #looped: Block | null = null;

  private constructor(adjacency: Adjacency, options: BlockOptions) {
    super(adjacency, options.dstOffset ?? 0, options.weights ?? null, null, options.addedLoops ?? null);
    checkOptionNames('Block', options, {
      dstOffset: true,
      srcIds: true,
      parentEdgeIds: true,
      weights: true,
      parent: true,
      addedLoops: true,
      rowIds: true,
    });
    this.srcIds = options.srcIds ?? null;
    this.#parentEdgeIds = options.parentEdgeIds ?? null;
    this.#rowIds = options.rowIds ?? null;
    this.parent = options.parent ?? null;
  }

  /** Makes a block from edges by destination: offsets of the destinations, source rows. */
  static fromCsc(offsets: Offsets, indices: Int32Array, numSrc: number, options: BlockOptions = {}): Block {
    checkOptionNames('Block.fromCsc', options, {
      dstOffset: true,
      srcIds: true,
      parentEdgeIds: true,
      weights: true,
      parent: true,
      addedLoops: true,
      rowIds: true,
    });
    checkInteger('Block.fromCsc', 'numSrc', numSrc, 0, 2 ** 31 - 1);
    const dstOffset = checkInteger('Block.fromCsc', 'dstOffset', options.dstOffset ?? 0);
    if (dstOffset + offsets.length - 1 > numSrc) {
      throw new ValueError(
        expected(
          'Block.fromCsc',
          'destinations among the sources',
          'numSrc',
          `${numSrc} sources for ${offsets.length - 1} destinations from row ${dstOffset}`,
        ),
      );
    }
    const adjacency = Adjacency.fromCsc(offsets, indices, numSrc);
    const { weights = null, srcIds, parentEdgeIds } = options;
    checkLength('weights', weights, indices.length, 'edge');
    checkLength('srcIds', srcIds ?? null, numSrc, 'source');
    if (typeof parentEdgeIds !== 'function')
      checkLength('parentEdgeIds', parentEdgeIds ?? null, indices.length, 'edge');
    if (options.parent !== undefined && srcIds !== undefined)
      checkNodeIds('Block.fromCsc', 'srcIds', srcIds, options.parent.normDegrees(false).src.length);
    return new Block(adjacency, options);
  }

  /** Makes a block from arrays made by Skein, without checks. @internal */
  static trusted(offsets: Offsets, indices: Int32Array, numSrc: number, options: BlockOptions): Block {
    return new Block(Adjacency.trusted(offsets, indices, numSrc), options);
  }

  /** The edge of the parent graph for each edge of the block. */
  override get parentEdgeIds(): Int32Array | null {
    if (typeof this.#parentEdgeIds === 'function') this.#parentEdgeIds = this.#parentEdgeIds();
    return this.#parentEdgeIds;
  }

  /** Global ids of the destinations. */
  override get dstIds(): Int32Array | null {
    const start = this.dstOffset ?? 0;
    return this.srcIds === null ? null : this.srcIds.subarray(start, start + this.numDstNodes);
  }

  protected override nodeRowIds(rows: 'src' | 'dst'): Int32Array | null {
    return rows === 'src' ? this.srcIds : this.dstIds;
  }

  protected override edgeRowIds(): Int32Array | null {
    if (typeof this.#rowIds === 'function') this.#rowIds = this.#rowIds();
    return this.#rowIds ?? this.parentEdgeIds;
  }

  override positionSources(): Int32Array {
    const { srcIds } = this;
    if (srcIds === null)
      throw new StateError(
        'positionSources: a block without srcIds has no nodes to look up. Pass features to the layer.',
      );
    return this.adjacency.indices.map((row) => srcIds[row]);
  }

  regroup(offsets: Int32Array, order: Int32Array): Graph {
    return regroup(this.adjacency, offsets, order);
  }

  withSelfLoops(): Block {
    if (this.#looped === null) this.#looped = this.#addLoops();
    return this.#looped;
  }

  /** Adds the missing self loops after the other edges of their destination; their edge ids follow all others. */
  #addLoops(): Block {
    const { offsets, indices, numDst, numSrc } = this.adjacency;
    const shift = this.dstOffset ?? 0;
    const newOffsets = new Int32Array(numDst + 1);
    const newIndices = new Int32Array(indices.length + numDst);
    const edgeIds = new Int32Array(newIndices.length);
    const added: number[] = [];
    const weights = this.weights === null ? null : new Float32Array(newIndices.length);
    let n = 0;
    for (let v = 0; v < numDst; v++) {
      let loop = false;
      for (let p = offsets[v]; p < offsets[v + 1]; p++) {
        if (indices[p] === v + shift) loop = true;
        if (weights !== null) weights[n] = (this.weights as Float32Array)[p];
        edgeIds[n] = p;
        newIndices[n++] = indices[p];
      }
      if (!loop) {
        if (weights !== null) weights[n] = 1;
        edgeIds[n] = indices.length + added.length;
        newIndices[n++] = v + shift;
        added.push(v);
      }
      newOffsets[v + 1] = n;
    }
    const looped = Adjacency.trusted(newOffsets, newIndices.subarray(0, n), numSrc, edgeIds.subarray(0, n));
    return new Block(looped, {
      dstOffset: shift,
      addedLoops: Int32Array.from(added),
      rowIds: () => this.edgeRowIds(),
      weights: weights === null ? null : weights.subarray(0, n),
      ...(this.srcIds === null ? {} : { srcIds: this.srcIds }),
      ...(this.parent === null ? {} : { parent: this.parent }),
    });
  }

  /** Without a parent, a source that is not a destination has degree 1. */
  normDegrees(selfLoops: boolean): { readonly src: Float64Array; readonly dst: Float64Array } {
    const dst = this.weightedInDegrees(selfLoops);
    const known = this.srcIds === null ? undefined : this.parent?.normDegreesOf?.(this.srcIds, selfLoops);
    if (known !== undefined) return { src: known, dst };
    const src = new Float64Array(this.numSrcNodes).fill(1);
    if (this.parent !== null && this.srcIds !== null) {
      const whole = this.parent.normDegrees(selfLoops).src;
      for (let i = 0; i < src.length; i++) src[i] = whole[this.srcIds[i]];
    } else {
      src.set(dst, this.dstOffset ?? 0);
    }
    return { src, dst };
  }
}

function checkLength(name: string, values: ArrayLike<number> | null, count: number, kind: string): void {
  if (values === null || (ArrayBuffer.isView(values) && values.length === count)) return;
  const got = ArrayBuffer.isView(values) ? values.length : values;
  throw new ValueError(expected('Block.fromCsc', `a typed array of ${count} (one per ${kind})`, name, got));
}
