/**
 * Exports trained models to ONNX, for onnxruntime and other runtimes. Only inference is exported: dropout is removed,
 * normalisation uses running statistics, parameters are f32 constants under the names of the state dictionary.
 *
 * Inputs by name: x [nodes, features]; edge_index [2, edges] int64, sources first; edge_weight [edges] if requested;
 * edge_attr [edges, D] if the layers take edge features. Models on blocks have edge_index_0, num_dst_0 ([1] int64), … one
 * pair per layer, the outermost first; the destinations of a block are its first sources. The output is y.
 */
import { EdgeDecoder, GATConv, GATv2Conv } from '../../gnn/index.js';
import type { Module } from '../../nn/index.js';
import { Module as ModuleClass } from '../../nn/index.js';
import type { Tensor } from '../../tensor/index.js';
import { expected, StateError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { skeinVersion } from '../../util/version.js';
import { tryTranslateConv } from './conv.js';
import { translateDecoder } from './decoders.js';
import { tryTranslateLayer, unsupportedError } from './layers.js';
import { Messages, type ScatterKind } from './messages.js';
import { isLayered, translateLayered } from './models.js';
import { OnnxGraph, type Value } from './onnx-graph.js';
import { widthsOf } from './widths.js';

export interface OnnxOptions {
  /** Name of the ONNX graph. Default: that of the model's class. */
  readonly name?: string;
  /** Add an input for edge weights, for layers that use them. */
  readonly edgeWeight?: boolean;
  /** Take one block per layer instead of a whole graph. */
  readonly blocks?: boolean;
  /** Operation that reduces messages: 'elements' (default) is deterministic, 'nd' needs less memory and a single thread. */
  readonly scatter?: ScatterKind;
  /** Metadata of the file. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * Returns the bytes of an ONNX model (opset 18) that computes what `model` computes in evaluation mode.
 *
 * @example
 * const session = await ort.InferenceSession.create(exportOnnx(model));
 * const { y } = await session.run({ x, edge_index });
 */
export function exportOnnx(model: Module, options: OnnxOptions = {}): Uint8Array {
  checkOptionNames('exportOnnx', options, {
    name: true,
    edgeWeight: true,
    blocks: true,
    scatter: true,
    metadata: true,
  });
  if (!(model instanceof ModuleClass))
    throw new ValueError(expected('exportOnnx', 'a module', 'model', model));
  checkOptions(options);
  const g = new OnnxGraph(namesOf(model));
  if (model instanceof EdgeDecoder) translateDecoder(g, model);
  else translate(g, model, options);
  return finishModel(g, model, options);
}

/** Returns the bytes of the model that was written to `g`, with its names. */
export function finishModel(g: OnnxGraph, model: Module, options: OnnxOptions): Uint8Array {
  const name = options.name ?? model.constructor.name;
  const metadata = {
    'skein.version': skeinVersion,
    'skein.model': model.constructor.name,
    ...options.metadata,
  };
  return g.finish({ name, producerVersion: skeinVersion, metadata });
}

function checkOptions({ scatter = 'elements', metadata = {} }: OnnxOptions): void {
  if (scatter !== 'elements' && scatter !== 'nd')
    throw new ValueError(expected('exportOnnx', "'elements' or 'nd'", 'scatter', scatter));
  for (const [key, value] of Object.entries(metadata))
    if (typeof value !== 'string')
      throw new ValueError(expected('exportOnnx', 'text', `metadata.${key}`, value));
}

/** Returns the names of parameters and buffers as in the state dictionary. */
export function namesOf(model: Module): Map<Tensor, string> {
  const named = [...model.namedParameters(), ...model.namedBuffers()];
  const away = named.find(([, { device }]) => device !== null)?.[1].device?.name;
  if (away !== undefined)
    throw new StateError(
      `exportOnnx: expected a model in memory, got one on ${away}. Use \`await model.cpu()\` first.`,
    );
  return new Map(named.map(([name, tensor]) => [tensor, name]));
}

function translate(g: OnnxGraph, model: Module, options: OnnxOptions): void {
  const { input, output } = widthsOf(model);
  const x = g.input('x', 'f32', ['nodes', input ?? 'features']);
  const y = translateModel(g, model, options, x);
  g.output('y', y, [options.blocks === true ? 'targets' : 'nodes', output ?? 'outputs']);
}

function translateModel(g: OnnxGraph, model: Module, options: OnnxOptions, x: Value): Value {
  if (isLayered(model)) return translateLayered(g, model, edgesOf(g, model, options, x), x);
  const dense = tryTranslateLayer(g, model, x);
  if (dense !== null) return dense;
  const messages = edgesOf(g, model, options, x)(0);
  const y = tryTranslateConv({ g, messages }, model, x);
  if (y === null) throw unsupportedError(model);
  return y;
}

/** Returns the edges of layer i: the same for all layers on a whole graph, of block i otherwise. */
function edgesOf(g: OnnxGraph, model: Module, options: OnnxOptions, x: Value): (layer: number) => Messages {
  const whole = options.blocks !== true;
  const width = edgeWidth(model);
  if (!whole && (options.edgeWeight === true || width !== null))
    throw new ValueError(
      'exportOnnx: expected no edge weights and edge features for a model on blocks, got some. Export it for whole graphs.',
    );
  const created: Messages[] = [];
  const make = (suffix: string): Messages => {
    // Sources of inner blocks are the destinations of the preceding block.
    const rows = suffix === '' || suffix === '_0' ? g.node('Shape', [x], { end: { int: 1 } }) : null;
    return new Messages(g, {
      index: g.input(`edge_index${suffix}`, 'i64', [2, `edges${suffix}`]),
      numSrc: rows ?? `num_dst_${created.length - 1}`,
      numDst: whole ? null : g.input(`num_dst${suffix}`, 'i64', [1]),
      weight: options.edgeWeight === true ? g.input('edge_weight', 'f32', ['edges']) : null,
      features: width === null ? null : g.input('edge_attr', 'f32', ['edges', width]),
      scatter: options.scatter ?? 'elements',
    });
  };
  return (layer) => {
    const i = whole ? 0 : layer;
    created[i] ??= make(whole ? '' : `_${i}`);
    return created[i];
  };
}

/** Returns the width of the edge features that layers of the model take; null if they take none. */
function edgeWidth(model: Module): number | null {
  for (const module of model.modules().values())
    if ((module instanceof GATConv || module instanceof GATv2Conv) && module.linEdge !== null)
      return module.linEdge.inFeatures;
  return null;
}
