/**
 * The encoder of a run as an ONNX model on the whole graph: what `encodeFullGraph` computes with all neighbours.
 *
 * Inputs: x [nodes, F] where it has features, embeddings [nodes, D] where it has those, edge_index [2, edges] where it
 * follows edges. Messages go along edge_index, so it holds the edges as they are for incoming neighbours, reversed for
 * outgoing ones, and both for both; the metadata `skein.neighbors` states which.
 */
import { finishModel, namesOf, type OnnxOptions } from '../../../../interop/onnx/export-onnx.js';
import { linear, translateLayer, unsupportedError } from '../../../../interop/onnx/layers.js';
import { Messages } from '../../../../interop/onnx/messages.js';
import { translateConv } from '../../../../interop/onnx/models.js';
import { OnnxGraph, type Value } from '../../../../interop/onnx/onnx-graph.js';
import { checkOptionNames } from '../../../../util/option-names.js';
import type { EncoderConfig } from '../../../config/index.js';
import { GeneralEncoder } from './encoder.js';
import {
  DenseLayer,
  type EncoderLayer,
  GnnLayer,
  InputLayer,
  ReductionLayer,
  TextLayer,
} from './encoder-layer.js';
import type { Model } from './model.js';

/** Returns the bytes of an ONNX model with the encoder of `model`; see docs/onnx.md. */
export function exportEncoderOnnx(
  model: Model,
  neighbours: Pick<EncoderConfig, 'use_incoming_nbrs' | 'use_outgoing_nbrs'>,
  options: Pick<OnnxOptions, 'metadata' | 'scatter'> = {},
): Uint8Array {
  checkOptionNames('exportEncoderOnnx', options, { metadata: true, scatter: true });
  const { encoder, featurizer } = model;
  if (!(encoder instanceof GeneralEncoder)) throw unsupportedError(encoder);
  if (featurizer !== null) throw unsupportedError(featurizer);
  const g = new OnnxGraph(namesOf(encoder));
  const stages = new StageWriter(g, encoder, options);
  const y = encoder.stages.reduce<Value[]>((before, stage) => stages.write(stage, before), []);
  g.output('y', y[0], ['nodes', encoder.outputDim]);
  const followed = [
    ...(neighbours.use_incoming_nbrs ? ['incoming'] : []),
    ...(neighbours.use_outgoing_nbrs ? ['outgoing'] : []),
  ];
  const metadata = { 'skein.neighbors': followed.join(', '), ...options.metadata };
  return finishModel(g, model, { ...options, metadata });
}

class StageWriter {
  readonly #g: OnnxGraph;
  readonly #scatter: 'elements' | 'nd';
  /** Columns of each kind of input. */
  readonly #widths = { features: 0, embeddings: 0 };
  #messages: Messages | null = null;

  constructor(g: OnnxGraph, encoder: GeneralEncoder, options: Pick<OnnxOptions, 'scatter'>) {
    this.#g = g;
    this.#scatter = options.scatter ?? 'elements';
    for (const layer of encoder.stages.flat()) {
      if (layer instanceof TextLayer) throw unsupportedError(layer);
      if (layer instanceof InputLayer && layer.source !== 'text')
        this.#widths[layer.source] = Math.max(
          this.#widths[layer.source],
          layer.offset + layer.config.output_dim,
        );
    }
  }

  /** Returns the outputs of a stage from those of the previous one. */
  write(stage: readonly EncoderLayer[], before: readonly Value[]): Value[] {
    return stage.map((layer, j) => this.#finish(layer, this.#layer(layer, before, j)));
  }

  #layer(layer: EncoderLayer, before: readonly Value[], j: number): Value {
    if (layer instanceof GnnLayer)
      return translateConv(this.#g, this.#edges(before[j]), layer.conv, before[j]);
    if (layer instanceof InputLayer) return this.#columns(layer);
    if (!(layer instanceof DenseLayer || layer instanceof ReductionLayer)) throw unsupportedError(layer);
    const adds = layer.config.type === 'REDUCTION' && layer.config.options.type === 'SUM';
    const [first, ...others] = before;
    const joined = adds
      ? others.reduce((sum, rows) => this.#g.node('Add', [sum, rows]), first)
      : others.length === 0
        ? first
        : this.#g.node('Concat', [...before], { axis: { int: 1 } });
    return layer.lin === null ? joined : linear(this.#g, joined, layer.lin.weight, layer.lin.bias);
  }

  #columns(layer: InputLayer): Value {
    const { source, offset, config } = layer;
    const g = this.#g;
    if (source === 'text') throw unsupportedError(layer);
    const width = this.#widths[source];
    const rows = g.input(source === 'features' ? 'x' : 'embeddings', 'f32', ['nodes', width]);
    if (offset === 0 && config.output_dim === width) return rows;
    const [from, to] = [offset, offset + config.output_dim];
    return g.node('Slice', [rows, g.integers([from]), g.integers([to]), g.integers([1])]);
  }

  /** Applies bias, normalisation and activation; there is no dropout in inference. */
  #finish({ bias, norm, activation }: EncoderLayer, x: Value): Value {
    const g = this.#g;
    const biased = bias === null ? x : g.node('Add', [x, g.parameter(bias)]);
    return translateLayer(g, activation, norm === null ? biased : translateLayer(g, norm, biased));
  }

  #edges(x: Value): Messages {
    const g = this.#g;
    this.#messages ??= new Messages(g, {
      index: g.input('edge_index', 'i64', [2, 'edges']),
      numSrc: g.node('Shape', [x], { end: { int: 1 } }),
      ...{ numDst: null, weight: null, features: null, scatter: this.#scatter },
    });
    return this.#messages;
  }
}
