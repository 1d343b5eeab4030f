/** Opens the stream of a temporal run: reads the events, splits them by time and selects the held-out nodes. */

import {
  loadTemporalDataset,
  readTemporal,
  type TemporalData,
  type TemporalDatasetName,
  type TgbNegatives,
} from '../../../data/index.js';
import type { EventArrays } from '../../../data/temporal/temporal-data.js';
import { splitByTime, TemporalGraph, type TemporalSplit } from '../../../graph/index.js';
import { kernels } from '../../../native/index.js';
import { randn } from '../../../tensor/index.js';
import { StateError } from '../../../util/errors.js';
import { Random } from '../../../util/philox.js';
import { readListedNegatives } from './listed-negatives.js';
import type { TemporalRunSections } from './schema.js';
import { streamOptions } from './stream-options.js';

export interface OpenedStream {
  readonly data: TemporalData;
  readonly graph: TemporalGraph;
  /** All events, without neighbours from events that involve a node held out from training. */
  readonly trainGraph: TemporalGraph;
  readonly split: TemporalSplit;
  readonly rows: { readonly train: Int32Array; readonly validation: Int32Array; readonly test: Int32Array };
  /** The negatives of files; empty if none are given. */
  readonly negatives: readonly TgbNegatives[];
  /** A description with checksums that identifies the stream and its splits. */
  readonly fingerprint: string;
}

export async function openStream(config: TemporalRunSections): Promise<OpenedStream> {
  const { name, path, directed, train_share, validation_share, new_node_share } = config.dataset;
  const { query, database } = config.dataset;
  const data =
    name !== ''
      ? await loadTemporalDataset(name as TemporalDatasetName)
      : await readTemporal(
          query === '' ? path : { query, ...(database === '' ? {} : { database }) },
          streamOptions(config),
        );
  const { numNodes } = data;
  if (data.events.src.length < 2)
    throw new StateError(
      `train: expected at least 2 events, one for training and one for evaluation, got ${data.events.src.length} in ${name || path || 'the query'}. Check the file and dataset.format.`,
    );
  const { types_as_features: typed, random_node_features: width } = config.dataset;
  const random = new Random(config.training.random_seed, featureStream);
  const nodeFeatures = data.nodeFeatures ?? (width > 0 ? randn([numNodes, width], { random }) : null);
  const graph = new TemporalGraph(typed ? withTypes(data) : data.events, {
    numNodes,
    directed,
    ...(nodeFeatures === null ? {} : { nodeFeatures }),
  });
  const split = splitByTime(graph, {
    train: train_share,
    validation: validation_share,
    newNodeFraction: new_node_share,
    seed: config.training.random_seed,
    ...(data.split === undefined ? {} : { ends: data.split }),
  });
  const { trainEnd, validationEnd, trainMask } = split;
  const kept = new Uint8Array(graph.numEvents).fill(1);
  kept.set(trainMask);
  const rows = {
    train: rowsWhere(0, trainEnd, (row) => trainMask[row] === 1),
    validation: rowsWhere(trainEnd, validationEnd),
    test: rowsWhere(validationEnd, graph.numEvents),
  };
  if (rows.train.length === 0)
    throw new StateError(
      `train: expected events to train on, got none of ${graph.numEvents} before quantile ${train_share} of the event times. Raise dataset.train_share or lower dataset.new_node_share.`,
    );
  const trainGraph = kept.every((flag) => flag === 1) ? graph : graph.where(kept);
  const negatives = await readListedNegatives(config.evaluation.negatives_path);
  return { data, graph, trainGraph, split, rows, negatives, fingerprint: fingerprint(graph, split) };
}

/** The random stream of these draws, separate from others with the same seed. */
const featureStream = 0x66656174;

/** Returns the events with their one-hot types prepended to their features. */
function withTypes({ events, typeNames, featureWidth, name }: TemporalData): EventArrays {
  const { types, features } = events;
  if (types === undefined)
    throw new StateError(
      `dataset.types_as_features: expected events with types, got ${name}, which has none. Remove the key.`,
    );
  const kinds = typeNames?.length ?? types.reduce((most, type) => Math.max(most, type + 1), 0);
  const width = kinds + featureWidth;
  const all = new Float32Array(types.length * width);
  for (let row = 0; row < types.length; row++) {
    all[row * width + types[row]] = 1;
    if (features !== undefined)
      all.set(features.subarray(row * featureWidth, (row + 1) * featureWidth), row * width + kinds);
  }
  return { ...events, features: all };
}

function rowsWhere(begin: number, end: number, keep: (row: number) => boolean = () => true): Int32Array {
  const rows = new Int32Array(end - begin);
  let count = 0;
  for (let row = begin; row < end; row++) if (keep(row)) rows[count++] = row;
  return rows.slice(0, count);
}

function fingerprint(graph: TemporalGraph, { trainEnd, validationEnd, trainMask }: TemporalSplit): string {
  const { src, dst, time, features, numNodes, numEvents, directed } = graph;
  const sum = (array: Int32Array | Float64Array | Float32Array | Uint8Array): string => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    return kernels().crc32(bytes, bytes.length, 0).toString(16);
  };
  const sums = [src, dst, time, ...(features === null ? [] : [features])].map(sum);
  const splits = `validation from event ${trainEnd}, test from ${validationEnd}, held out ${sum(trainMask)}`;
  return `${numNodes} nodes, ${numEvents} ${directed ? 'directed ' : ''}events, sums ${sums.join(' ')}, ${splits}`;
}
