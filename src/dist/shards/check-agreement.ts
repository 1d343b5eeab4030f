/**
 * Workers that make one distributed graph together must mean the same one: rows of another graph, or messages of another
 * length or form, would give wrong numbers and no error. So they compare what they hold before they connect.
 *
 * Edges themselves are not compared: ranges of node and edge ids by type and partition tell partitionings apart.
 */
import { ValueError } from '../../util/errors.js';
import type { Communicator } from '../comm/communicator.js';
import type { PartitionData } from '../partition/partition-data.js';
import type { ShardingOptions } from './sharding-options.js';

/** Name and value of what must be the same everywhere. */
type Fields = Readonly<Record<string, unknown>>;

/** Characters of a value that an error shows. */
const longest = 80;

/**
 * Collective: two short exchanges. Throws the same error on all workers when one has another graph, other options that
 * messages depend on, or makes another call; `more` is what else the call depends on.
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
      'Load the same partitions and give the same options on every rank.',
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
    return [`${name} ${shown(here, there)} on rank 0 and ${shown(there, here)} on rank ${rank}`];
  });
}

/** A value, or of a long one the place where it differs from another. */
function shown(text = 'none', other = 'none'): string {
  if (text.length <= longest) return text;
  let at = 0;
  while (at < text.length && text[at] === other[at]) at++;
  const start = Math.max(0, Math.min(at - longest / 4, text.length - longest));
  const end = start + longest;
  return `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`;
}
