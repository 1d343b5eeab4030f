/**
 * Checks that all workers construct the same distributed graph: rows of another graph, or messages of another length or
 * encoding, would give wrong numbers and no error. Workers compare their data before they connect.
 *
 * Edges themselves are not compared: the ranges of node and edge ids by type and partition distinguish partitionings.
 */
import { ValueError } from '../../util/errors.js';
import type { Communicator } from '../comm/communicator.js';
import type { PartitionData } from '../partition/partition-data.js';
import type { ShardingOptions } from './sharding-options.js';

/** Names and values that must be the same on all workers. */
type Fields = Readonly<Record<string, unknown>>;

/** Maximum number of characters of a value in an error. */
const maxShown = 80;

/**
 * Collective: two short exchanges. Throws the same error on all workers if one has a different graph, different options
 * that messages depend on, or makes a different call; `more` are further values that must agree.
 */
export function checkAgreement(
  where: string,
  comm: Communicator,
  pd: PartitionData,
  { mode, windowRows, compression, maxCollectiveSize }: Required<ShardingOptions>,
  more: Fields = {},
): void {
  if (comm.size === 1) return;
  const { partitionBook: book } = pd;
  const fields: Fields = {
    call: where,
    'data of': pd.rank === comm.rank ? 'this rank' : `rank ${pd.rank}`,
    'node types': pd.nodeTypeNames,
    'edge types': pd.edgeTypeNames,
    'node ranges': pd.nodeRanges.map(({ start, end }) => [start, end]),
    'node ranges of partitions': rangesOf(book.nodeMap),
    'edge ranges of partitions': rangesOf(book.edgeMap),
    mode,
    windowRows,
    compression,
    maxCollectiveSize,
    ...more,
  };
  const bytes = comm.allGather(new TextEncoder().encode(JSON.stringify(fields)));
  const all = bytes.map((part) => JSON.parse(new TextDecoder().decode(part)) as Fields);
  const differences = all.flatMap((other, rank) => differencesOf(all[0], other, rank));
  if (differences.length === 0) return;
  throw new ValueError(
    `${where}: expected the same graph and options on all ranks, got ${differences.join('; ')}. ` +
      'Load the same partitions and pass the same options on every rank.',
  );
}

function rangesOf(map: PartitionData['partitionBook']['nodeMap']): number[][][] {
  return map.map((ranges) => ranges.map(({ start, end }) => [start, end]));
}

function differencesOf(first: Fields, other: Fields, rank: number): string[] {
  const names = new Set([...Object.keys(first), ...Object.keys(other)]);
  return [...names].flatMap((name) => {
    const [here, there] = [JSON.stringify(first[name]), JSON.stringify(other[name])];
    if (here === there) return [];
    return [`${name} ${excerpt(here, there)} on rank 0 and ${excerpt(there, here)} on rank ${rank}`];
  });
}

/** Formats a value; of a long one, the section where it differs from the other. */
function excerpt(text = 'none', other = 'none'): string {
  if (text.length <= maxShown) return text;
  let at = 0;
  while (at < text.length && text[at] === other[at]) at++;
  const start = Math.max(0, Math.min(at - maxShown / 4, text.length - maxShown));
  const end = start + maxShown;
  return `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`;
}
