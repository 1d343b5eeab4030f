/** The neighbourhood of some nodes as an encoder reads it: sampled layers, and the rows of their nodes. */
import { fromTypedArray, mul, type Tensor } from '../../tensor/index.js';
import type { LinkPredictionModel, NodeClassificationModel, OpenedGraphRun } from '../../train/index.js';
import { initializeBatches } from '../../train/tasks/graph/initialize-model.js';
import type { NodeInputs } from '../../train/tasks/graph/model/encoder.js';
import { gatherText } from '../../train/tasks/graph/model/text-bags.js';
import { ValueError } from '../../util/errors.js';
import { MaskedLayers, type SampledLayers, takeLayers } from './fixed-layers.js';

export interface NeighborhoodInputs {
  /** Null for encoders that look at each node alone. */
  readonly sampled: SampledLayers | null;
  readonly inputs: NodeInputs & { readonly ids: Int32Array };
  readonly numFeatures: number;
  /** Edges of the whole graph, one factor of a mask each. */
  readonly edgeIds: Int32Array;
}

/** @param name names the nodes in the message about a neighbourhood that is too large. */
export async function neighborhoodInputs(
  { config, storage }: OpenedGraphRun,
  nodes: Int32Array,
  { maxEdges, name }: { readonly maxEdges: number; readonly name: string },
): Promise<NeighborhoodInputs> {
  const source = initializeBatches(config, storage);
  source.select('test');
  await source.load();
  const sample = (await source.evaluationNeighbors?.sampleAsync(nodes, { step: 0 })) ?? null;
  const sampled = sample === null ? null : takeLayers(sample, maxEdges);
  if (sample !== null && sampled === null)
    throw new ValueError(
      `explain: expected at most ${maxEdges} edges around ${name} for maxEdges, got more. Raise it, and use method gradient, which takes one pass.`,
    );
  const edgeIds = sampled?.edgeIds ?? new Int32Array(0);
  const nodeIds = sampled?.nodeIds ?? nodes;
  const read = async (table: typeof storage.features | typeof storage.embeddings): Promise<Tensor | null> =>
    table === null ? null : fromTypedArray(await table.gather(nodeIds), [nodeIds.length, table.width]);
  const inputs = {
    embeddings: await read(storage.embeddings),
    features: await read(storage.features),
    text: storage.text === null ? null : gatherText(storage.text, nodeIds),
    ids: nodeIds,
  };
  return { sampled, inputs, numFeatures: inputs.features?.shape[1] ?? 0, edgeIds };
}

/** Runs the encoder of a model with masks; returns the rows of the targets. */
export function encodeMasked(
  { encoder }: NodeClassificationModel | LinkPredictionModel,
  { sampled, inputs }: NeighborhoodInputs,
  edges: Tensor,
  features: Tensor | null,
): Tensor {
  const masked =
    features === null || inputs.features === null
      ? inputs
      : { ...inputs, features: mul(inputs.features, features) };
  return encoder.forward(masked, sampled === null ? null : new MaskedLayers(sampled, edges), false);
}
