/** How distributed graphs fetch rows; the same on all workers. */
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import type { ShardMode } from './shard-rows.js';

export interface ShardingOptions {
  /** 'sar' (the default) fetches source rows again in backward where it needs them, 'sa' keeps them. */
  readonly mode?: ShardMode;
  /** Rounds fetched ahead of the one that is computed; 1 by default. More hides latency, and takes memory for as many shards. */
  readonly pipelineDepth?: number;
  /** Bytes that a one-shot exchange has under way at once; 0 (the default): all. */
  readonly maxCollectiveSize?: number;
}

export function checkShardingOptions(where: string, options: ShardingOptions): Required<ShardingOptions> {
  const { mode = 'sar', pipelineDepth = 1, maxCollectiveSize = 0 } = options;
  if (mode !== 'sar' && mode !== 'sa') {
    const hint = 'For one-shot exchange use getFullPartitionGraph().';
    throw new ValueError(expected(where, "'sar' or 'sa'", 'mode', mode, hint));
  }
  checkInteger(where, 'pipelineDepth', pipelineDepth, 0);
  checkInteger(where, 'maxCollectiveSize', maxCollectiveSize, 0);
  return { mode, pipelineDepth, maxCollectiveSize };
}
