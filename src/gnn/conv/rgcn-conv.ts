/**
 * Relational graph convolution (Schlichtkrull et al., ESWC 2018, eq. 2–4):
 *
 *   y_v = W_root x_v + Σ_r mean_{u∈N_r(v)} W_r x_u + b
 *
 * with W_r free, W_r = Σ_b comp_rb V_b (`bases`), or block-diagonal (`blocks`). All relations go through three passes:
 * the mean over the edges of each (relation, destination), one product per relation, the sum over relations. Without
 * features (x is the identity) row u of W_r is looked up instead, in one pass over the edges.
 */
import type { MessageGraph } from '../../graph/index.js';
import { Adjacency } from '../../graph/index.js';
import { aggregate } from '../../graph/ops/aggregate.js';
import { checkSizes, newParameter } from '../../nn/factory.js';
import { Module, type ParameterOptions } from '../../nn/index.js';
import {
  add,
  type FloatDType,
  gatherRows,
  type Ids,
  matmul,
  mul,
  permute,
  reshape,
  Tensor,
} from '../../tensor/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { integer } from '../../util/settings.js';
import { checkInput, isPair, type NodePair } from '../input.js';
import { groupedMatmul } from '../ops/grouped-matmul.js';
import { adjacencyOf, globalIds, type RelationGroups, relationGroups } from '../ops/relation-groups.js';
import { convType } from './conv-type.js';
import { glorotParameter } from './shared.js';

export interface RGCNConvOptions extends ParameterOptions {
  /** Number of relations. */
  readonly relations: number;
  /** Express every W_r as a mixture of this many matrices. */
  readonly bases?: number;
  /** Make every W_r block-diagonal with this many blocks, which must divide both widths. */
  readonly blocks?: number;
  /** Aggregation within a relation (default 'mean'). */
  readonly reduce?: 'mean' | 'sum';
  /** Add W_root x_v (the default). */
  readonly root?: boolean;
  readonly bias?: boolean;
  /** Width of the features of destinations, if it differs from that of sources. */
  readonly inDst?: number;
}

/** Edges from rows of the weights, cached with the groups they belong to. */
const lookups = new WeakMap<RelationGroups, { bases: number; nodes: number; edges: Adjacency }>();

/**
 * x [Ns, in] (or [xSrc, xDst]), or null for the identity of the whole graph's `in` nodes → [Nd, out]. `edgeType` has
 * the relation of each edge, by edge id; use the same array in every call, and do not change it.
 *
 * @example
 * const conv = new RGCNConv(graph.numNodes, 16, { relations: 90, bases: 30 });
 * const h = conv.forward(graph, null, edgeType);
 */
export class RGCNConv extends Module {
  /** [relations, in, out], [bases, in, out] or [relations, blocks, in/blocks, out/blocks]. */
  readonly weight: Tensor;
  /** [relations, bases] */
  readonly comp: Tensor | null;
  /** [in, out] */
  readonly root: Tensor | null;
  readonly bias: Tensor | null;
  readonly inFeatures: number;
  readonly outFeatures: number;
  readonly relations: number;
  readonly blocks: number;
  readonly reduce: 'mean' | 'sum';

  constructor(inFeatures: number, outFeatures: number, options: RGCNConvOptions) {
    super();
    checkOptionNames('RGCNConv', options, {
      dtype: true,
      random: true,
      relations: true,
      bases: true,
      blocks: true,
      reduce: true,
      root: true,
      bias: true,
      inDst: true,
    });
    const { relations, bases, blocks, reduce = 'mean', inDst = inFeatures } = options;
    checkSizes('RGCNConv', { inFeatures, outFeatures, relations, bases: bases ?? 1, blocks: blocks ?? 1 });
    if (bases !== undefined && blocks !== undefined)
      throw new ValueError('RGCNConv: expected bases or blocks, got both.');
    if (inFeatures % (blocks ?? 1) !== 0 || outFeatures % (blocks ?? 1) !== 0) {
      const want = `a divisor of both widths (${inFeatures} and ${outFeatures})`;
      throw new ValueError(expected('RGCNConv', want, 'blocks', blocks));
    }
    if (reduce !== 'mean' && reduce !== 'sum')
      throw new ValueError(expected('RGCNConv', "'mean' or 'sum'", 'reduce', reduce));
    this.inFeatures = inFeatures;
    this.outFeatures = outFeatures;
    this.relations = relations;
    this.blocks = blocks ?? 1;
    this.reduce = reduce;
    const shape =
      blocks === undefined
        ? [bases ?? relations, inFeatures, outFeatures]
        : [relations, blocks, inFeatures / blocks, outFeatures / blocks];
    this.weight = glorotParameter(shape, options);
    this.comp = bases === undefined ? null : glorotParameter([relations, bases], options);
    this.root = options.root === false ? null : glorotParameter([inDst, outFeatures], options);
    this.bias = options.bias === false ? null : newParameter([outFeatures], options);
  }

  forward(graph: MessageGraph, x: Tensor | NodePair | null, edgeType: Ids): Tensor {
    const groups = relationGroups('RGCNConv', graph, edgeType, this.relations);
    let y: Tensor;
    if (x === null) {
      y = this.#lookUp(graph, groups);
      if (this.root !== null) y = add(y, this.#rootRows(graph, this.root));
    } else {
      const src = isPair(x) ? x[0] : x;
      if (!(src instanceof Tensor))
        throw new ValueError(expected('RGCNConv', 'a tensor, a pair of tensors or null', 'x', src));
      checkInput('RGCNConv', 'x', src, graph.numSrcNodes, this.inFeatures);
      y = this.#transform(src, groups);
      if (this.root !== null) {
        const dst = isPair(x) ? x[1] : graph.dstRows(src);
        checkInput('RGCNConv', 'the destinations of x', dst, graph.numDstNodes, this.root.shape[0]);
        y = add(y, matmul(dst, this.root));
      }
    }
    return this.bias === null ? y : add(y, this.bias);
  }

  #transform(x: Tensor, groups: RelationGroups): Tensor {
    const { blocks, reduce } = this;
    const means = groups.toPairs.aggregate(x, { reduce });
    const mapped =
      blocks === 1
        ? groupedMatmul(means, this.#matrices(), groups.relationOffsets)
        : this.#throughBlocks(means, groups.relationOffsets);
    return aggregate(groups.fromPairs, mapped, {}, null);
  }

  /** [relations, in, out] */
  #matrices(): Tensor {
    const { weight, comp, relations, inFeatures, outFeatures } = this;
    if (comp === null) return reshape(weight, [relations, inFeatures, outFeatures]);
    const flat = reshape(weight, [weight.shape[0], inFeatures * outFeatures]);
    return reshape(matmul(comp, flat), [relations, inFeatures, outFeatures]);
  }

  /** Multiplies with each block as a separate group: rows [blocks · P, in/blocks], matrices [blocks · relations, …]. */
  #throughBlocks(means: Tensor, relationOffsets: Int32Array): Tensor {
    const { blocks, relations, weight } = this;
    const [pairs, width] = means.shape;
    const [, , into, out] = weight.shape;
    const rows = reshape(permute(reshape(means, [pairs, blocks, into]), [1, 0, 2]), [
      blocks * pairs,
      width / blocks,
    ]);
    const matrices = reshape(permute(weight, [1, 0, 2, 3]), [blocks * relations, into, out]);
    const offsets = new Int32Array(blocks * relations + 1);
    for (let b = 0; b < blocks; b++)
      for (let r = 0; r < relations; r++) offsets[b * relations + r + 1] = b * pairs + relationOffsets[r + 1];
    const mapped = reshape(groupedMatmul(rows, matrices, offsets), [blocks, pairs, out]);
    return reshape(permute(mapped, [1, 0, 2]), [pairs, blocks * out]);
  }

  /** Sums rows of the weights, for graphs without features. */
  #lookUp(graph: MessageGraph, groups: RelationGroups): Tensor {
    const { comp, weight, inFeatures, outFeatures, relations } = this;
    this.#checkNodes(graph);
    const dtype = weight.dtype as FloatDType;
    const factors = this.reduce === 'mean' ? groups.meanWeights(dtype, weight.device) : null;
    if (comp === null) {
      const table = reshape(weight, [relations * inFeatures, outFeatures]);
      return aggregate(this.#tableEdges(graph, groups), table, { weight: factors }, null);
    }
    // An edge takes one row of each basis, with a coefficient: no R × N × out table.
    const bases = comp.shape[1];
    const perEdge = gatherRows(comp, groups.slotRelations);
    const mix = factors === null ? perEdge : mul(perEdge, reshape(factors, [graph.numEdges, 1]));
    const table = reshape(weight, [bases * inFeatures, outFeatures]);
    const edges = this.#tableEdges(graph, groups);
    return aggregate(edges, table, { weight: reshape(mix, [edges.numEdges]) }, null);
  }

  /** Returns edges from rows of the weights: for every edge one of its relation, or one of every basis. */
  #tableEdges(graph: MessageGraph, groups: RelationGroups): Adjacency {
    const { inFeatures, comp } = this;
    const bases = comp === null ? 0 : comp.shape[1];
    const known = lookups.get(groups);
    if (known?.bases === bases && known.nodes === inFeatures) return known.edges;
    const { offsets } = adjacencyOf('RGCNConv', graph);
    const nodes = graph.positionSources();
    const each = Math.max(1, bases);
    const places = new Int32Array(each * nodes.length);
    for (let slot = 0; slot < nodes.length; slot++) {
      const node = nodes[slot];
      if (bases === 0) places[slot] = groups.slotRelations[slot] * inFeatures + node;
      for (let b = 0; b < bases; b++) places[slot * bases + b] = b * inFeatures + node;
    }
    const starts = Int32Array.from(offsets, (at) => at * each);
    const edges = Adjacency.trusted(starts, places, this.weight.shape[0] * inFeatures);
    lookups.set(groups, { bases, nodes: inFeatures, edges });
    return edges;
  }

  #rootRows(graph: MessageGraph, root: Tensor): Tensor {
    const ids = globalIds('RGCNConv', graph);
    return ids === null ? graph.dstRows(root) : gatherRows(root, ids);
  }

  /** Checks that the layer was created for this number of nodes and that its table can be numbered. */
  #checkNodes(graph: MessageGraph): void {
    const { inFeatures } = this;
    if (this.blocks !== 1)
      throw new ValueError('RGCNConv: expected features with blocks, got none. Use bases, or an Embedding.');
    const rows = this.weight.shape[0] * inFeatures;
    if (rows >= 2 ** 31 || (this.comp?.shape[1] ?? 1) * graph.numEdges >= 2 ** 31)
      throw new ValueError(
        `RGCNConv: ${rows} rows for ${graph.numEdges} edges are too many to number. Pass features.`,
      );
    if (globalIds('RGCNConv', graph) === null && graph.numSrcNodes !== inFeatures) {
      const want = `a graph of ${inFeatures} nodes (inFeatures) without features`;
      throw new ValueError(expected('RGCNConv', want, 'graph', `${graph.numSrcNodes} nodes`));
    }
  }

  protected override describe(): string {
    return `${this.inFeatures} → ${this.outFeatures}, ${this.relations} relations`;
  }
}

export const rgcnType = convType({
  name: 'RGCN',
  settings: {
    num_bases: integer(0, 0, 'matrices shared by the relations; 0: one each', { ours: true }),
  },
  make: ({ num_bases: bases }, { inFeatures, outFeatures, random, numRelations, incoming, outgoing }) => {
    // Edges in reverse direction are separate relations.
    const directions = (incoming ? 1 : 0) + (outgoing ? 1 : 0);
    const relations = Math.max(1, numRelations) * (outgoing ? 2 : Math.max(1, directions));
    return new RGCNConv(inFeatures, outFeatures, {
      ...{ random, bias: false, relations },
      ...(bases > 0 ? { bases } : {}),
    });
  },
  run: (layer, block, x, relations) => layer.forward(block, x, relations()),
});
