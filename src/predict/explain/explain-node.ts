/** The edges and features that the class of a node depends on. */
import { exp, fromTypedArray, logSoftmax, noGrad, scope, slice, type Tensor } from '../../tensor/index.js';
import type { NodeClassificationModel, OpenedGraphRun } from '../../train/index.js';
import { type MaskedReasons, maskedReasons } from './masked-reasons.js';
import type { MaskedAnswer } from './masks.js';
import { encodeMasked, type NeighborhoodInputs, neighborhoodInputs } from './neighborhood-inputs.js';
import { randomModel, withRandomRows } from './random-model.js';
import type { ExplainSettings } from './settings.js';

export interface NodeReasons extends MaskedReasons {
  readonly classId: number;
  readonly probability: number;
}

/** @param classId the class to explain; null: that which the model predicts. */
export async function explainNode(
  run: OpenedGraphRun,
  { id, name }: { readonly id: number; readonly name: string },
  classId: number | null,
  settings: ExplainSettings,
): Promise<NodeReasons> {
  const model = run.model as NodeClassificationModel;
  const given = await neighborhoodInputs(run, Int32Array.of(id), { maxEdges: settings.maxEdges, name });
  const probabilities = noGrad(() =>
    scope(() => Array.from(exp(logProbabilities(model, given, ones(given), null)).dataSync())),
  );
  const chosen = classId ?? probabilities.indexOf(Math.max(...probabilities));
  const random = (): MaskedAnswer => {
    const other = randomModel(run, settings.seed) as NodeClassificationModel;
    return answerOf(other, withRandomRows(given, settings.seed), chosen);
  };
  const answer = answerOf(model, given, chosen);
  const reasons = await maskedReasons(answer, given.edgeIds, 'probability', settings, random);
  return { classId: chosen, probability: probabilities[chosen], ...reasons };
}

function ones({ edgeIds }: NeighborhoodInputs): Tensor {
  return fromTypedArray(new Float32Array(edgeIds.length).fill(1), [edgeIds.length, 1]);
}

/** Returns the logarithms of the probabilities of the classes, [1, classes]. */
function logProbabilities(
  model: NodeClassificationModel,
  given: NeighborhoodInputs,
  edges: Tensor,
  features: Tensor | null,
): Tensor {
  return logSoftmax(encodeMasked(model, given, edges, features), 1);
}

function answerOf(model: NodeClassificationModel, given: NeighborhoodInputs, classId: number): MaskedAnswer {
  const { edgeIds, numFeatures, sampled } = given;
  const logProbability = (edges: Tensor, features: Tensor | null): Tensor =>
    slice(logProbabilities(model, given, edges, features), classId, classId + 1, 1);
  return {
    numEdges: edgeIds.length,
    numFeatures,
    numNodes: sampled?.nodeIds.length ?? 1,
    uses: sampled?.uses ?? new Int32Array(0),
    logProbability,
    measure: (edges) => exp(logProbability(edges, null)),
  };
}
