/**
 * Splits a stream by time into training, validation and test, and holds nodes back from training, to measure a model on
 * nodes that it has never seen (Rossi et al.: "Temporal graph networks for deep learning
 * on dynamic graphs", 2020).
 */
import { checkInteger, checkNumber, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Random } from '../util/philox.js';
import type { TemporalGraph } from './temporal-graph.js';

export interface TemporalSplitOptions {
  /** The fraction of the events for training. */
  readonly train?: number;
  readonly validation?: number;
  /** The first rows after training and after validation; fractions are then ignored. */
  readonly ends?: { readonly trainEnd: number; readonly validationEnd: number };
  /** The fraction of all nodes to hold back, drawn from those that appear after training. */
  readonly newNodeFraction?: number;
  readonly seed?: number;
}

/** A split: training rows end at trainEnd, validation rows at validationEnd, the others are for testing. */
export interface TemporalSplit {
  readonly trainEnd: number;
  readonly validationEnd: number;
  /** By node: 1 if it is held back from training. */
  readonly newNodes: Uint8Array;
  /** By row below trainEnd: 0 if an end of the event is held back, so that it is not a training event. */
  readonly trainMask: Uint8Array;
  /** By row: 1 if an end of the event is in no training event. */
  readonly isNew: Uint8Array;
}

const name = 'splitByTime';

export function splitByTime(graph: TemporalGraph, options: TemporalSplitOptions = {}): TemporalSplit {
  checkOptionNames('splitByTime', options, {
    train: true,
    validation: true,
    ends: true,
    newNodeFraction: true,
    seed: true,
  });
  const train = checkNumber(name, 'train', options.train ?? 0.7, 0, 1);
  const validation = checkNumber(name, 'validation', options.validation ?? 0.15, 0, 1);
  const fraction = checkNumber(name, 'newNodeFraction', options.newNodeFraction ?? 0, 0, 1);
  const seed = checkInteger(name, 'seed', options.seed ?? 0);
  // Rounded, since sums of decimal fractions are inexact: 0.1 + 0.2 should be 0.3.
  const both = Number((train + validation).toFixed(12));
  if (both > 1)
    throw new ValueError(expected(name, 'fractions with a sum of at most 1', 'validation', validation));
  const { src, dst, time, numNodes, numEvents } = graph;
  const { trainEnd, validationEnd } =
    options.ends === undefined ? endsByFraction() : checkEnds(options.ends, numEvents);
  function endsByFraction(): { trainEnd: number; validationEnd: number } {
    if (numEvents === 0) return { trainEnd: 0, validationEnd: 0 };
    return {
      trainEnd: rowsUpTo(time, quantile(time, train)),
      validationEnd: rowsUpTo(time, quantile(time, both)),
    };
  }
  const newNodes = holdBack(graph, trainEnd, fraction, seed);
  const trainMask = new Uint8Array(trainEnd);
  const seen = new Uint8Array(numNodes);
  for (let row = 0; row < trainEnd; row++) {
    if (newNodes[src[row]] === 1 || newNodes[dst[row]] === 1) continue;
    trainMask[row] = 1;
    seen[src[row]] = 1;
    seen[dst[row]] = 1;
  }
  const isNew = new Uint8Array(numEvents);
  for (let row = 0; row < numEvents; row++) isNew[row] = 1 - (seen[src[row]] & seen[dst[row]]);
  return { trainEnd, validationEnd, newNodes, trainMask, isNew };
}

function checkEnds(
  { trainEnd, validationEnd }: { readonly trainEnd: number; readonly validationEnd: number },
  numEvents: number,
): { trainEnd: number; validationEnd: number } {
  checkInteger(name, 'ends.validationEnd', validationEnd, 0, numEvents);
  checkInteger(name, 'ends.trainEnd', trainEnd, 0, validationEnd);
  return { trainEnd, validationEnd };
}

/** Computes a quantile of ascending values by linear interpolation between the two nearest, as NumPy computes it. */
function quantile(sorted: Float64Array, q: number): number {
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const a = sorted[low];
  const b = sorted[Math.min(low + 1, sorted.length - 1)];
  const share = at - low;
  return share < 0.5 ? a + (b - a) * share : b - (b - a) * (1 - share);
}

function rowsUpTo(time: Float64Array, limit: number): number {
  let low = 0;
  for (let high = time.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if (time[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Draws nodes of events after training, as many as `fraction` of all nodes with events. */
function holdBack(graph: TemporalGraph, trainEnd: number, fraction: number, seed: number): Uint8Array {
  const { src, dst, numNodes, numEvents } = graph;
  const held = new Uint8Array(numNodes);
  if (fraction === 0) return held;
  const later = new Uint8Array(numNodes);
  const active = new Uint8Array(numNodes);
  for (let row = 0; row < numEvents; row++) {
    for (const node of [src[row], dst[row]]) {
      active[node] = 1;
      if (row >= trainEnd) later[node] = 1;
    }
  }
  const candidates: number[] = [];
  let nodes = 0;
  for (let v = 0; v < numNodes; v++) {
    nodes += active[v];
    if (later[v] === 1) candidates.push(v);
  }
  const wanted = Math.min(Math.floor(fraction * nodes), candidates.length);
  const random = new Random(seed);
  for (let i = 0; i < wanted; i++) {
    const j = i + random.nextInt(candidates.length - i);
    [candidates[i], candidates[j]] = [candidates[j], candidates[i]];
    held[candidates[i]] = 1;
  }
  return held;
}
