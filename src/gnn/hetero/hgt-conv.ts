/**
 * Heterogeneous graph transformer (Hu et al., WWW 2020, eq. 3–5), as in PyTorch Geometric. For node types τ, edge types
 * φ and each of H heads of size D:
 *
 *   score_uv = (Q_τ(v) x_v) · (K_τ(u) x_u A_φ) · p_φ / √D, softmax over all edges into v of any type
 *   m_v = Σ_u α_uv V_τ(u) x_u M_φ
 *   y_v = s O_τ(v)(gelu(m_v)) + (1 − s) x_v, s = sigmoid(skip_τ(v)), without x_v where widths differ
 *
 * The edges of all types into a node type are one graph, whose sources are the concatenated rows of each type's
 * sources.
 */
import type { MessageGraph } from '../../graph/index.js';
import { newParameter, randomOf } from '../../nn/factory.js';
import { init, Linear, Module, type ParameterOptions } from '../../nn/index.js';
import {
  add,
  concat,
  gelu,
  matmul,
  mul,
  permute,
  reshape,
  sigmoid,
  slice,
  sub,
  type Tensor,
} from '../../tensor/index.js';
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { glorotParameter, splitHeads } from '../conv/shared.js';
import { checkInput } from '../input.js';
import { firstRows, type RelationGraphs, type TypedRows } from './hetero-conv.js';

export interface HGTConvOptions extends ParameterOptions {
  /** Number of heads (default 1). */
  readonly heads?: number;
}

/** Node and edge types of a `HeteroGraph`. */
export interface HGTTypes {
  /** Width of the features of every node type. */
  readonly inFeatures: Readonly<Record<string, number>>;
  /** Triples 'src,relation,dst'. */
  readonly edgeTypes: readonly string[];
}

/** A heterogeneous graph, on one machine or partitioned over several. */
export interface JoinableRelations extends RelationGraphs {
  numSrcNodes(type: string): number;
  numDstNodes(type: string): number;
  /**
   * Returns the edges of several types into one node type as one graph; sources are those of each type, concatenated.
   */
  joinRelations(types: readonly string[]): MessageGraph;
}

/** The edges of all types into one node type. */
interface JointEdges {
  readonly graph: MessageGraph;
  /** Edge types in the order of their sources. */
  readonly types: readonly string[];
}

const kept = new WeakMap<JoinableRelations, Map<string, JointEdges>>();

/**
 * x: a tensor per node type → [N, out] per node type that some edge type reaches.
 *
 * @example
 * const conv = new HGTConv(
 *   { inFeatures: { author: 8, paper: 32 }, edgeTypes: ['author,writes,paper', 'paper,cites,paper'] },
 *   64,
 *   { heads: 4 },
 * );
 * const { paper } = conv.forward(graph, { author, paper });
 */
export class HGTConv extends Module {
  readonly heads: number;
  readonly outFeatures: number;
  readonly edgeTypes: readonly string[];
  /** Keys, queries and values of a node type: [3·out, in]. */
  readonly kqvLin: Readonly<Record<string, Linear>>;
  readonly outLin: Readonly<Record<string, Linear>>;
  /** A and M of an edge type: [heads, D, D]. */
  readonly kRel: Readonly<Record<string, Tensor>>;
  readonly vRel: Readonly<Record<string, Tensor>>;
  /** [heads] */
  readonly pRel: Readonly<Record<string, Tensor>>;
  /** [1] */
  readonly skip: Readonly<Record<string, Tensor>>;

  constructor(types: HGTTypes, outFeatures: number, options: HGTConvOptions = {}) {
    super();
    checkOptionNames('HGTConv', options, { dtype: true, random: true, heads: true });
    const { heads = 1 } = options;
    checkInteger('HGTConv', 'heads', heads, 1);
    if (outFeatures % heads !== 0)
      throw new ValueError(expected('HGTConv', `a divisor of outFeatures (${outFeatures})`, 'heads', heads));
    this.heads = heads;
    this.outFeatures = outFeatures;
    this.edgeTypes = [...types.edgeTypes];
    const nodeTypes = Object.keys(types.inFeatures);
    const reached = nodeTypes.filter((type) => this.edgeTypes.some((each) => each.split(',')[2] === type));
    const size = outFeatures / heads;
    const square = (): Tensor => glorotParameter([heads, size, size], options);
    const ones = (shape: readonly number[]): Tensor => newParameter(shape, options, init.ones);
    this.kqvLin = table(nodeTypes, (type) => own(types.inFeatures[type], 3 * outFeatures, options));
    this.outLin = table(reached, () => own(outFeatures, outFeatures, options));
    this.kRel = table(this.edgeTypes, square);
    this.vRel = table(this.edgeTypes, square);
    this.pRel = table(this.edgeTypes, () => ones([heads]));
    this.skip = table(reached, () => ones([1]));
  }

  forward(graph: JoinableRelations, x: TypedRows): Record<string, Tensor> {
    const projected = table(Object.keys(this.kqvLin), (type) => this.#kqv(graph, x, type));
    return table(Object.keys(this.outLin), (type) => {
      const joint = this.#joint(graph, type);
      const rows = joint.types.map((each) => this.#sources(projected[each.split(',')[0]], each));
      const key = concat(
        rows.map(({ k }) => k),
        0,
      );
      const value = concat(
        rows.map(({ v }) => v),
        0,
      );
      // In a block, the destinations are the first of the sources.
      const count = graph.numDstNodes(type);
      const weight = joint.graph.edgeSoftmax(joint.graph.dotScores(key, firstRows(projected[type].q, count)));
      const mixed = joint.graph.aggregate(value, { weight });
      const y = this.outLin[type].forward(gelu(reshape(mixed, [mixed.shape[0], this.outFeatures])));
      if (x[type].shape[1] !== this.outFeatures) return y;
      const own = firstRows(x[type], count);
      return add(own, mul(sigmoid(this.skip[type]), sub(y, own)));
    });
  }

  #kqv(graph: JoinableRelations, x: TypedRows, type: string): { k: Tensor; q: Tensor; v: Tensor } {
    const lin = this.kqvLin[type];
    checkInput('HGTConv', `x.${type}`, x[type], graph.numSrcNodes(type), lin.inFeatures);
    const all = lin.forward(x[type]);
    const part = (i: number): Tensor =>
      splitHeads(slice(all, i * this.outFeatures, (i + 1) * this.outFeatures, 1), this.heads);
    const [k, q, v] = [part(0), part(1), part(2)];
    return { k, q: mul(q, 1 / Math.sqrt(this.outFeatures / this.heads)), v };
  }

  /** Returns keys (with p) and values of the sources of one edge type, through its matrices. */
  #sources(from: { readonly k: Tensor; readonly v: Tensor }, type: string): { k: Tensor; v: Tensor } {
    const p = reshape(this.pRel[type], [this.heads, 1, 1]);
    return { k: perHead(from.k, mul(this.kRel[type], p)), v: perHead(from.v, this.vRel[type]) };
  }

  #joint(graph: JoinableRelations, dstType: string): JointEdges {
    const key = `${dstType}\n${this.edgeTypes.join('\n')}`;
    let byType = kept.get(graph);
    if (byType === undefined) {
      byType = new Map();
      kept.set(graph, byType);
    }
    let joint = byType.get(key);
    if (joint === undefined) {
      const types = this.edgeTypes.filter((each) => graph.canonical(each)[2] === dstType);
      joint = { graph: graph.joinRelations(types), types };
      byType.set(key, joint);
    }
    return joint;
  }

  protected override describe(): string {
    return `${this.outFeatures}, ${this.heads} heads, ${this.edgeTypes.length} edge types`;
  }
}

/** Multiplies x [N, heads, D] by a matrix [D, D] per head. */
function perHead(x: Tensor, matrices: Tensor): Tensor {
  return permute(matmul(permute(x, [1, 0, 2]), matrices), [1, 0, 2]);
}

function table<T>(keys: readonly string[], make: (key: string) => T): Record<string, T> {
  return Object.fromEntries(keys.map((key) => [key, make(key)]));
}

function own(inFeatures: number, outFeatures: number, options: ParameterOptions): Linear {
  const lin = new Linear(inFeatures, outFeatures, options);
  init.kaimingUniform(lin.weight, { ...randomOf(options), slope: Math.sqrt(5) });
  return lin;
}
