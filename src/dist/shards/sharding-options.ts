/** Options of how distributed graphs fetch rows; the same on all workers. */
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import type { PartitionData } from '../partition/partition-data.js';
import { type Compression, compressions, RowCodec } from './row-codec.js';
import type { RowLink } from './row-link.js';
import type { ShardMode } from './shard-rows.js';

/** Smaller messages cost more than the memory they save. */
const leastWindow = 1024;

export interface ShardingOptions {
  /** 'sar' (the default) fetches source rows again in backward where it needs them, 'sa' keeps them. */
  readonly mode?: ShardMode;
  /** Chunks fetched ahead of the one that is computed; default 1. More hide latency and take more memory. */
  readonly pipelineDepth?: number;
  /**
   * Rows per chunk; default: a quarter of the largest worker's nodes, at least 1024. Smaller chunks take less memory
   * and more messages.
   */
  readonly windowRows?: number;
  /**
   * Encodes rows and gradients in messages as half floats ('f16', 'bf16') or eight bits ('int8'); 'none' by default.
   * Results are then close to those on one machine. With `graph.beginStep()` before each step, gradients have error
   * feedback.
   */
  readonly compression?: Compression;
  /** Maximum number of bytes that a one-shot exchange has in flight; 0 (the default): no limit. */
  readonly maxCollectiveSize?: number;
}

export function checkShardingOptions(
  where: string,
  options: ShardingOptions,
  { nodeRanges }: PartitionData,
): Required<ShardingOptions> {
  const largest = nodeRanges.reduce((most, { start, end }) => Math.max(most, end - start), 0);
  const { mode = 'sar', pipelineDepth = 1, maxCollectiveSize = 0, compression = 'none' } = options;
  const { windowRows = Math.max(leastWindow, Math.ceil(largest / 4)) } = options;
  if (mode !== 'sar' && mode !== 'sa') {
    const hint = 'For one-shot exchange use getFullPartitionGraph().';
    throw new ValueError(expected(where, "'sar' or 'sa'", 'mode', mode, hint));
  }
  if (!compressions.includes(compression))
    throw new ValueError(expected(where, `one of ${compressions.join(', ')}`, 'compression', compression));
  checkInteger(where, 'pipelineDepth', pipelineDepth, 0);
  checkInteger(where, 'windowRows', windowRows, 1);
  checkInteger(where, 'maxCollectiveSize', maxCollectiveSize, 0);
  return { mode, pipelineDepth, windowRows, maxCollectiveSize, compression };
}

/** Sets the codec of a link according to the options; graphs that share a link share it. */
export function useCodec(link: RowLink, { compression }: Required<ShardingOptions>): void {
  if (compression !== 'none') link.codec ??= new RowCodec(compression);
}
