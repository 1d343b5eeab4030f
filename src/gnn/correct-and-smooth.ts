/**
 * Correct and smooth (Huang et al., ICLR 2021, §2): post-processing of class probabilities by two label propagations.
 * First the errors on the training nodes are propagated and added ("correct", eq. 5–6), then the corrected
 * probabilities, with the true labels inserted, are propagated ("smooth", eq. 8). Nothing is trained.
 */
import type { MessageGraph } from '../graph/index.js';
import { abs, add, clamp, type Ids, mul, noGrad, type Tensor, zeros } from '../tensor/index.js';
import { checkIds, toInt32 } from '../tensor/ops/common.js';
import { checkInteger, checkNumber, expected, ShapeError, StateError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkWhole } from './conv/appnp.js';
import { propagate } from './propagation.js';

export interface CorrectAndSmoothOptions {
  /** Steps, and weight of the neighbours, in the first propagation (default 50 and 1). */
  readonly correctSteps?: number;
  readonly correctAlpha?: number;
  /** Steps, and weight of the neighbours, in the second propagation (default 50 and 0.8). */
  readonly smoothSteps?: number;
  readonly smoothAlpha?: number;
  /**
   * Scale errors to the mean error of the training nodes (the default); if false, multiply by `scale` with training
   * errors fixed.
   */
  readonly autoscale?: boolean;
  readonly scale?: number;
}

/**
 * Improves the probabilities [N, C] of a model.
 *
 * @param labels the class of every node; only those of `trainIds` are used.
 * @example
 * const better = correctAndSmooth(graph, softmax(logits), labels, trainIds);
 */
export function correctAndSmooth(
  graph: MessageGraph,
  probabilities: Tensor,
  labels: Ids,
  trainIds: Ids,
  options: CorrectAndSmoothOptions = {},
): Tensor {
  checkOptionNames('correctAndSmooth', options, {
    correctSteps: true,
    correctAlpha: true,
    smoothSteps: true,
    smoothAlpha: true,
    autoscale: true,
    scale: true,
  });
  const where = 'correctAndSmooth';
  checkWhole(where, graph);
  const [nodes, classes] = probabilities.shape;
  if (probabilities.rank !== 2 || nodes !== graph.numDstNodes)
    throw new ShapeError(
      expected(where, `shape [${graph.numDstNodes}, classes]`, 'probabilities', probabilities.shape),
    );
  if (probabilities.device !== null)
    throw new StateError(
      `${where}: expected probabilities in memory, got some on ${probabilities.device.name}. Fetch them first: await t.cpu().`,
    );
  const ids = checkIds(where, 'trainIds', trainIds, nodes);
  const all = toInt32(where, 'labels', labels);
  if (all.length !== nodes)
    throw new ShapeError(expected(where, `${nodes} labels (one per node)`, 'labels', all.length));
  const truth = checkIds(
    where,
    'labels of trainIds',
    ids.map((id) => all[id]),
    classes,
  );
  return noGrad(() => {
    const corrected = correct(graph, probabilities, truth, ids, options);
    const start = corrected.clone();
    writeRows(start, ids, (row, c) => (truth[row] === c ? 1 : 0));
    const steps = checkInteger(where, 'smoothSteps', options.smoothSteps ?? 50, 0);
    const alpha = checkNumber(where, 'smoothAlpha', options.smoothAlpha ?? 0.8, 0, 1);
    return propagateLabels(graph, start, steps, alpha, (y) => clamp(y, 0, 1));
  });
}

function correct(
  graph: MessageGraph,
  probabilities: Tensor,
  truth: Int32Array,
  ids: Int32Array,
  options: CorrectAndSmoothOptions,
): Tensor {
  const where = 'correctAndSmooth';
  const steps = checkInteger(where, 'correctSteps', options.correctSteps ?? 50, 0);
  const alpha = checkNumber(where, 'correctAlpha', options.correctAlpha ?? 1, 0, 1);
  const [, classes] = probabilities.shape;
  const values = probabilities.dataSync();
  const error = zeros(probabilities.shape, { dtype: probabilities.dtype });
  const missing = (row: number, c: number): number =>
    (truth[row] === c ? 1 : 0) - values[ids[row] * classes + c];
  writeRows(error, ids, missing);
  if (options.autoscale === false) {
    const scale = checkNumber(where, 'scale', options.scale ?? 1);
    const fixed = propagateLabels(graph, error, steps, alpha, (y) => {
      writeRows(y, ids, missing);
      return y;
    });
    return add(probabilities, mul(fixed, scale));
  }
  const spreadError = propagateLabels(graph, error, steps, alpha, (y) => clamp(y, -1, 1));
  const sigma = ids.length === 0 ? 0 : abs(error).sum().item() / ids.length;
  return add(probabilities, scaleRows(spreadError, sigma));
}

/** Scales rows to a sum of absolute values of sigma; rows of (almost) zero are unchanged. */
function scaleRows(error: Tensor, sigma: number): Tensor {
  const result = error.clone();
  const [rows, classes] = error.shape;
  const values = result.floats;
  for (let r = 0; r < rows; r++) {
    let total = 0;
    for (let c = 0; c < classes; c++) total += Math.abs(values[r * classes + c]);
    const scale = sigma / total;
    if (!(scale <= 1000)) continue;
    for (let c = 0; c < classes; c++) values[r * classes + c] *= scale;
  }
  return result;
}

/** Computes y = α Â y + (1 − α) start, without self loops, and calls `after` after every step. */
function propagateLabels(
  graph: MessageGraph,
  start: Tensor,
  steps: number,
  alpha: number,
  after: (y: Tensor) => Tensor,
): Tensor {
  const rest = mul(start, 1 - alpha);
  let y = start;
  for (let step = 0; step < steps; step++) y = after(add(mul(propagate(graph, y, false), alpha), rest));
  return y;
}

/** Overwrites row ids[i], column c of a fresh tensor with value(i, c). */
function writeRows(t: Tensor, ids: Int32Array, value: (row: number, c: number) => number): void {
  const classes = t.shape[1];
  for (let i = 0; i < ids.length; i++)
    for (let c = 0; c < classes; c++) t.floats[ids[i] * classes + c] = value(i, c);
}
