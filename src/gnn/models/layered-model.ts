/**
 * Base class of the models: a list of graph layers with dropout before each, and after each but the last a residual,
 * normalisation and an activation, in that order. With jumping knowledge all layers are hidden ones and a linear map of
 * their combined outputs gives the result.
 *
 * A model runs on a whole graph, on a list of blocks (one per layer, the outermost first), or layer by layer
 * (`forwardLayer`, `readout`), as in `inferLayerwise`. Edge data belong to the whole graph: a block selects its edges.
 */
import type { MessageGraph } from '../../graph/index.js';
import { parameterOptions } from '../../nn/factory.js';
import {
  type ActivationName,
  activation,
  BatchNorm1d,
  type Layer,
  LayerNorm,
  Linear,
  Module,
  type ParameterOptions,
} from '../../nn/index.js';
import { add, dropout, gatherRows, scope, Tensor } from '../../tensor/index.js';
import { checkInteger, checkNumber, expected, ValueError } from '../../util/errors.js';
import { dropRows, type Features, project } from '../input.js';
import { JumpingKnowledge, type JumpingMode } from '../jumping-knowledge.js';

export interface ModelOptions extends ParameterOptions {
  /** Probability of dropping an entry of the input of every layer in training; 0 by default. */
  readonly dropout?: number;
  /** Dropout probability of the features of the first layer (default: `dropout`). */
  readonly inputDropout?: number;
  /** Normalisation after every layer but the last. */
  readonly norm?: 'batch' | 'layer' | null;
  /** Add the input of every layer but the last to its result, through a linear map where widths differ. */
  readonly residual?: boolean;
  readonly activation?: ActivationName;
  /** Combine the outputs of all layers. The last of `sizes` is then the width of a linear map after them. */
  readonly jumpingKnowledge?: JumpingMode | null;
}

/** One row (edge features) or one number (relations) for every edge of the whole graph, by edge id. */
export type EdgeData = Tensor | Int32Array | null;

/** A graph layer of `LayeredModel` with the widths of its input and result. */
export interface SizedLayer<L extends Module = Module> {
  readonly layer: L;
  readonly inWidth: number;
  readonly outWidth: number;
}

export abstract class LayeredModel<L extends Module = Module> extends Module {
  readonly layers: readonly L[];
  readonly norms: readonly Layer[];
  readonly shortcuts: readonly (Linear | null)[];
  readonly activation: Layer;
  readonly jump: JumpingKnowledge | null;
  /** The linear map after jumping knowledge. */
  readonly lin: Linear | null;
  readonly dropout: number;
  readonly inputDropout: number;
  readonly residual: boolean;

  /** @param outFeatures width of the result when there is jumping knowledge. */
  constructor(sized: readonly SizedLayer<L>[], outFeatures: number, options: ModelOptions) {
    super();
    const where = new.target.name;
    this.dropout = checkNumber(where, 'dropout', options.dropout ?? 0, 0, 1);
    this.inputDropout = checkNumber(where, 'inputDropout', options.inputDropout ?? this.dropout, 0, 1);
    this.residual = options.residual ?? false;
    this.activation = activation(options.activation ?? 'relu');
    this.layers = sized.map(({ layer }) => layer);
    const mode = options.jumpingKnowledge ?? null;
    const hidden = mode === null ? sized.slice(0, -1) : sized;
    this.norms = hidden.flatMap(({ outWidth }) => makeNorm(where, outWidth, options));
    this.shortcuts = this.residual ? hidden.map((each, i) => makeShortcut(each, i, options)) : [];
    this.jump = mode === null ? null : new JumpingKnowledge(mode);
    const known = this.jump?.width(sized.map(({ outWidth }) => outWidth));
    this.lin = known === undefined ? null : new Linear(known, outFeatures, parameterOptions(options));
  }

  /** Runs layer i on its input. */
  protected abstract convolve(i: number, graph: MessageGraph, x: Features | null, edgeData: EdgeData): Tensor;

  /** Runs layer i and the activation; layers that do both in one pass override it. */
  protected convolveActivated(
    i: number,
    graph: MessageGraph,
    x: Features | null,
    edgeData: EdgeData,
  ): Tensor {
    return this.activation.forward(this.convolve(i, graph, x, edgeData));
  }

  /** Returns the result for the nodes of a graph, or for the destinations of the last block. */
  forward(
    graphs: MessageGraph | readonly MessageGraph[],
    x: Features | null,
    edgeData: EdgeData = null,
  ): Tensor {
    const list = this.#graphs(graphs);
    let known: Tensor[] = [];
    let h: Features | null = x;
    for (const [i, graph] of list.entries()) {
      const y = this.forwardLayer(i, graph, h, edgeData);
      known = this.jump === null ? [y] : [...known.map((t) => graph.dstRows(t)), y];
      h = y;
    }
    return this.readout(known, list[list.length - 1]);
  }

  /** Runs one layer with everything before and after it, up to the input of the next. */
  forwardLayer(i: number, graph: MessageGraph, x: Features | null, edgeData: EdgeData = null): Tensor {
    checkInteger(this.constructor.name, 'layer', i, 0, this.layers.length - 1);
    // The scope frees memory that backward does not need immediately, not at the end of the step.
    return scope(() => this.#runLayer(i, graph, x, edgeData));
  }

  #runLayer(i: number, graph: MessageGraph, x: Features | null, edgeData: EdgeData): Tensor {
    const p = i === 0 ? this.inputDropout : this.dropout;
    const input = x !== null && this.training ? dropRows(graph, 'src', x, p) : x;
    const edges = edgesOf(graph, edgeData);
    const last = this.jump === null && i === this.layers.length - 1;
    if (!last && !this.residual && this.norms.length === 0)
      return this.convolveActivated(i, graph, input, edges);
    const y = this.convolve(i, graph, input, edges);
    if (last) return y;
    const summed = this.residual ? add(y, this.#shortcut(i, graph, input)) : y;
    return this.activation.forward(this.norms.length === 0 ? summed : this.norms[i].forward(summed));
  }

  /**
   * Computes the result from those of the layers (of the last alone without jumping knowledge), all for the same nodes:
   * the destinations of `graph`, by whose ids dropout is drawn in training.
   */
  readout(known: readonly Tensor[], graph: MessageGraph | null = null): Tensor {
    if (this.jump === null || this.lin === null) return known[known.length - 1];
    const joined = this.jump.forward(known);
    const rowIds = graph?.rowIds('dst') ?? null;
    return this.lin.forward(this.training ? dropout(joined, this.dropout, { rowIds }) : joined);
  }

  #graphs(graphs: MessageGraph | readonly MessageGraph[]): readonly MessageGraph[] {
    if (!Array.isArray(graphs)) return this.layers.map(() => graphs as MessageGraph);
    if (graphs.length !== this.layers.length) {
      const want = `${this.layers.length} blocks (one per layer)`;
      throw new ValueError(expected(this.constructor.name, want, 'the list of blocks', graphs.length));
    }
    return graphs;
  }

  #shortcut(i: number, graph: MessageGraph, x: Features | null): Tensor {
    const lin = this.shortcuts[i];
    if (x === null)
      throw new ValueError(`${this.constructor.name}: residual needs features, got none for layer ${i}.`);
    if (lin === null) return graph.dstRows(x as Tensor);
    return x instanceof Tensor
      ? lin.forward(graph.dstRows(x))
      : graph.dstRows(project(x, lin.weight, lin.bias));
  }
}

/** Returns the rows of a block's edges. */
function edgesOf(graph: MessageGraph, data: EdgeData): EdgeData {
  const ids = graph.parentEdgeIds;
  if (data === null || ids === null) return data;
  return data instanceof Tensor ? gatherRows(data, ids) : ids.map((id) => data[id]);
}

function makeNorm(where: string, width: number, options: ModelOptions): Layer[] {
  const norm = options.norm ?? null;
  if (norm === null) return [];
  if (norm === 'batch') return [new BatchNorm1d(width, parameterOptions(options))];
  if (norm === 'layer') return [new LayerNorm(width, parameterOptions(options))];
  throw new ValueError(expected(where, "'batch', 'layer' or null", 'norm', norm));
}

/** Creates the linear map of a residual. Features of the first layer may be sparse, so they always need one. */
function makeShortcut({ inWidth, outWidth }: SizedLayer, i: number, options: ModelOptions): Linear | null {
  return i > 0 && inWidth === outWidth
    ? null
    : new Linear(inWidth, outWidth, { ...parameterOptions(options), bias: false });
}

/**
 * Returns input and result width of every layer: [8, 16, 2] has two, or one and a linear map with jumping knowledge.
 */
export function layerSizes(
  where: string,
  sizes: readonly number[],
  options: ModelOptions,
): (readonly [number, number])[] {
  const least = (options.jumpingKnowledge ?? null) === null ? 2 : 3;
  if (!Array.isArray(sizes) || sizes.length < least) {
    const want = `input${least === 3 ? ', hidden' : ''} and output sizes`;
    throw new ValueError(expected(where, want, 'sizes', sizes));
  }
  const widths = least === 3 ? sizes.slice(0, -1) : sizes;
  return widths.slice(1).map((size, i) => [widths[i], size] as const);
}

/** Throws if edge data are given, for layers that use none. */
export function rejectEdgeData(where: string, edgeData: EdgeData): void {
  if (edgeData !== null)
    throw new ValueError(`${where}: expected no edge data, got some. Its layers do not use edge data.`);
}

/** Throws if features are missing, for layers that need them. */
export function needFeatures(where: string, x: Features | null): Features {
  if (x !== null) return x;
  throw new ValueError(expected(where, 'a tensor or a SparseMatrix', 'x', x));
}
