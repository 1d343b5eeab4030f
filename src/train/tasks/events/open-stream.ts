/** The stream of a temporal run: read, split by time, with the nodes that training must not see. */

import {
  loadTemporalDataset,
  readTemporal,
  type TemporalData,
  type TemporalDatasetName,
} from '../../../data/index.js';
import type { EventArrays } from '../../../data/temporal/temporal-data.js';
import { splitByTime, TemporalGraph, type TemporalSplit } from '../../../graph/index.js';
import { kernels } from '../../../native/index.js';
import { randn } from '../../../tensor/index.js';
import { StateError } from '../../../util/errors.js';
import { Random } from '../../../util/philox.js';
import type { TemporalRunSections } from './schema.js';
import { streamOptions } from './stream-options.js';

export interface OpenedStream {
  readonly data: TemporalData;
  readonly graph: TemporalGraph;
  /** The same events; those that touch a node held out from training are nobody's neighbours. */
  readonly trainGraph: TemporalGraph;
  readonly split: TemporalSplit;
  readonly rows: { readonly train: Int32Array; readonly validation: Int32Array; readonly test: Int32Array };
  /** Tells one stream from another. */
  readonly fingerprint: string;
}

export async function openStream(config: TemporalRunSections): Promise<OpenedStream> {
  const { name, path, directed, train_share, validation_share, new_node_share } = config.dataset;
  const data =
    path === ''
      ? await loadTemporalDataset(name as TemporalDatasetName)
      : await readTemporal(path, streamOptions(config));
  const { numNodes } = data;
  if (data.events.src.length < 2)
    throw new StateError(
      `train: expected at least 2 events, one to learn from and one to judge by, got ${data.events.src.length} in ${path === '' ? name : path}. Check that it is the right file and dataset.format.`,
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
      `train: expected events to train on, got none of ${graph.numEvents} before the time at ${train_share} of the stream. Raise dataset.train_share or lower dataset.new_node_share.`,
    );
  const trainGraph = kept.every((flag) => flag === 1) ? graph : graph.where(kept);
  return { data, graph, trainGraph, split, rows, fingerprint: fingerprint(graph, split) };
}

/** Keeps these draws apart from others with the same seed. */
const featureStream = 0x66656174;

/** Features of events with their type, one-hot, in front. */
function withTypes({ events, typeNames, featureWidth, name }: TemporalData): EventArrays {
  const { types, features } = events;
  if (types === undefined)
    throw new StateError(
      `dataset.types_as_features: expected events with a type, got ${name} without. Leave the key out.`,
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
  const cut = `validation from event ${trainEnd}, test from ${validationEnd}, held out ${sum(trainMask)}`;
  return `${numNodes} nodes, ${numEvents} ${directed ? 'directed ' : ''}events, sums ${sums.join(' ')}, ${cut}`;
}
