/**
 * dataset.yaml of a prepared directory: Marius's eleven keys, and a section `skein` with everything else (format version,
 * seed, columns, partitions, length and CRC-32 of each file).
 *
 * The first line is a comment with a checksum of the rest: otherwise a damaged count would be reported as an error of the
 * file that it counts. It comes first so that a truncated file still has it; a file without it (from Marius or older
 * versions) is accepted. This module handles the text only; prepared-dataset.ts reads the files.
 */
import { parse, stringify } from 'yaml';
import { textChecksum } from '../../util/crc32.js';
import { FormatError } from '../../util/errors.js';
import type { NodeTypes } from '../formats/node-types.js';

/** The counts of a prepared directory, under Marius's names. */
export interface PreparedStats {
  readonly dataset_dir: string;
  /** Training edges; with classified nodes, all edges. */
  readonly num_edges: number;
  readonly num_nodes: number;
  /** 1 for edges without a type. */
  readonly num_relations: number;
  /** Edges of the split; with classified nodes, nodes of the split. −1 in Marius's files if there is none. */
  readonly num_train: number;
  readonly num_valid: number;
  readonly num_test: number;
  /** −1 without features. */
  readonly node_feature_dim: number;
  readonly rel_feature_dim: number;
  /** −1 without labels. */
  readonly num_classes: number;
  /** Partitions of the edge buckets; 1 if edges are not sorted by bucket. */
  readonly num_partitions: number;
}

/**
 * Returns the number of edges of a prepared graph. Marius's `num_edges` counts training edges alone if edges are split,
 * and all edges if nodes are split.
 */
export function countEdges(stats: PreparedStats, nodesAreSplit: boolean): number {
  const { num_edges, num_valid, num_test } = stats;
  return nodesAreSplit ? num_edges : num_edges + Math.max(0, num_valid) + Math.max(0, num_test);
}

export interface FileRecord {
  readonly bytes: number;
  readonly crc32: string;
}

/** The `skein` section. */
export interface PreparedDetails {
  readonly format_version: number;
  readonly seed: number;
  /** Numbers in an edge row: 2 (source, destination) or 3 (source, relation, destination). */
  readonly columns: 2 | 3;
  readonly num_partitions: number;
  /** Whether validation and test edges are sorted by bucket too. */
  readonly partitioned_eval: boolean;
  /** Whether ids of the input were renumbered, so that there are mapping files. */
  readonly remapped: boolean;
  /** Types of sources and destinations if these have separate ids; nodes/types.bin has the type of each node. */
  readonly node_types?: NodeTypes;
  /** Names of the text columns of nodes, and the size of their vocabulary; absent without text. */
  readonly text?: { readonly columns: readonly string[]; readonly words: number };
  /** By path in the directory, with forward slashes. */
  readonly files: Readonly<Record<string, FileRecord>>;
}

export const formatVersion = 1;

/** One byte per node: the index of its type in `node_types`. */
export const nodeTypesFile = 'nodes/types.bin';

const counts = [
  ...['num_edges', 'num_nodes', 'num_relations', 'num_train', 'num_valid', 'num_test'],
  ...['node_feature_dim', 'rel_feature_dim', 'num_classes'],
] as const;

/** Returns the text of dataset.yaml. */
export function formatDatasetYaml(stats: PreparedStats, details: PreparedDetails): string {
  const { num_partitions, ...ours } = stats;
  const value = { ...ours, initialized: true, skein: { ...details, num_partitions } };
  const text = stringify(value, { lineWidth: 0 });
  return `# Checksum of the lines below: ${textChecksum(text)}\n${text}`;
}

const sealLine = /^# Checksum of the lines below: ([0-9a-f]{8})\n/;

/** Throws if the text was changed after it was written. */
function checkSeal(text: string, path: string): void {
  const [line, sum] = sealLine.exec(text) ?? [];
  if (line === undefined || textChecksum(text.slice(line.length)) === sum) return;
  throw new FormatError(
    `${path}: expected the contents that preprocessing wrote (checksum ${sum}), got others. The file is damaged; prepare the directory again. If it was changed on purpose, remove its first line.`,
    { path },
  );
}

/** Parses dataset.yaml; `path` names it in messages, `directory` is its current location. */
export function parseDatasetYaml(
  text: string,
  path: string,
  directory: string,
): { stats: PreparedStats; details: PreparedDetails | null } {
  const fail = (what: string, name: string, got: unknown): never => {
    throw new FormatError(`${path}: expected ${what} for ${name}, got ${JSON.stringify(got)}.`, {
      path,
      key: name,
    });
  };
  checkSeal(text, path);
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    return fail('YAML', 'the file', (error as Error).message.split('\n')[0]);
  }
  if (!isRecord(value)) return fail('keys and values', 'the file', value);
  const number = (name: string, missing?: number): number => {
    const got = value[name] ?? missing;
    return typeof got === 'number' && Number.isSafeInteger(got) && got >= -1
      ? got
      : fail('a whole number', name, got);
  };
  const stats = Object.fromEntries(
    counts.map((name) => [name, number(name, name === 'num_nodes' || name === 'num_edges' ? undefined : -1)]),
  ) as unknown as Omit<PreparedStats, 'dataset_dir' | 'num_partitions'>;
  if (stats.num_nodes < 0 || stats.num_nodes > 2 ** 31 - 1)
    fail('a whole number from 0 to 2147483647', 'num_nodes', stats.num_nodes);
  const details = value['skein'] === undefined ? null : parseDetails(value['skein'], fail);
  return {
    stats: { ...stats, dataset_dir: directory, num_partitions: details?.num_partitions ?? 1 },
    details,
  };
}

type Fail = (what: string, name: string, got: unknown) => never;

function parseDetails(value: unknown, fail: Fail): PreparedDetails {
  if (!isRecord(value)) return fail('keys and values', 'skein', value);
  const { format_version, seed, columns, num_partitions, partitioned_eval, remapped, files } = value;
  if (format_version !== formatVersion)
    fail(
      `${formatVersion} (another version of Skein wrote the directory)`,
      'skein.format_version',
      format_version,
    );
  if (columns !== 2 && columns !== 3) fail('2 or 3', 'skein.columns', columns);
  if (!Number.isSafeInteger(num_partitions) || (num_partitions as number) < 1)
    fail('a whole number of at least 1', 'skein.num_partitions', num_partitions);
  if (typeof seed !== 'number') fail('a number', 'skein.seed', seed);
  if (typeof partitioned_eval !== 'boolean')
    fail('true or false', 'skein.partitioned_eval', partitioned_eval);
  if (typeof remapped !== 'boolean') fail('true or false', 'skein.remapped', remapped);
  const types = value['node_types'];
  if (types !== undefined && !(Array.isArray(types) && types.length === 2 && types.every(isText)))
    fail('two names', 'skein.node_types', types);
  const text = value['text'];
  const isTextSection =
    isRecord(text) &&
    Array.isArray(text['columns']) &&
    text['columns'].every(isText) &&
    Number.isSafeInteger(text['words']);
  if (text !== undefined && !isTextSection) fail('columns and words', 'skein.text', text);
  if (!isRecord(files)) return fail('the files', 'skein.files', files);
  for (const [name, record] of Object.entries(files)) {
    const isValid =
      isRecord(record) &&
      Number.isSafeInteger(record['bytes']) &&
      /^[0-9a-f]{8}$/.test(String(record['crc32']));
    if (!isValid) fail('bytes and crc32', `skein.files.${name}`, record);
    if (name.startsWith('/') || name.split('/').includes('..'))
      fail('a path in the directory', 'skein.files', name);
  }
  return value as unknown as PreparedDetails;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
