/** Prepares an opened run for a stream: names and destinations that grow, the scorer, the rules and the identity. */
import { crc32 } from 'node:zlib';
import type { OnlineScorer } from '../../temporal/online.js';
import { type OpenedEventRun, onlineScorer } from '../../train/index.js';
import { EventColumnMaker } from '../event-columns.js';
import { DestinationPool, GrowingNodes } from './growing-nodes.js';
import { RollingQuality } from './quality.js';
import type { StreamIdentity } from './state-folder.js';
import { StreamModel } from './stream-model.js';
import { rulesOf, type StreamRules } from './stream-rules.js';
import type { StreamOptions } from './types.js';

export interface StreamParts {
  /** The run with growing names and destinations. */
  readonly run: OpenedEventRun;
  readonly scorer: OnlineScorer;
  readonly model: StreamModel;
  readonly rules: StreamRules;
  readonly identity: StreamIdentity;
}

export function makeStreamParts(given: OpenedEventRun, options: StreamOptions): StreamParts {
  const { stream, config, parts } = given;
  const { state } = parts;
  const rules = rulesOf(options, stream.graph.lastTime, state === null || state.grow !== undefined);
  const nodes = new GrowingNodes(stream.data.nodes);
  const pool = new DestinationPool(stream.data.dstPool);
  const data = Object.defineProperty({ ...stream.data, nodes }, 'dstPool', { get: () => pool.nodes });
  const run: OpenedEventRun = { ...given, stream: { ...stream, data } };
  const scorer = onlineScorer(run, 'openStream');
  const batchSize = options.batchSize ?? config.model.train.batch_size;
  const { quality = {} } = options;
  const model = new StreamModel({
    ...{ scorer, nodes, pool, batchSize, columns: new EventColumnMaker(run) },
    quality: quality === false ? null : new RollingQuality(quality),
  });
  const identity = { format: 2 as const, stream: stream.fingerprint, model: parametersOf(given), batchSize };
  return { run, scorer, model, rules, identity };
}

/** Returns a checksum of the parameters. */
function parametersOf({ parts }: OpenedEventRun): string {
  let sum = 0;
  const named = Object.entries(parts.model.stateDict()).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, tensor] of named) {
    const data = tensor.dataSync();
    sum = crc32(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), crc32(name, sum));
  }
  return sum.toString(16).padStart(8, '0');
}
