/**
 * The JSON that describes a partition directory: counts, id ranges and types, common to our files and DGL's, read from
 * untrusted text. Every error names the file and the key.
 */
import { realpathSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, join, normalize, relative, sep } from 'node:path';
import { codeOf, storageError } from '../../storage/atomic-file.js';
import { inFile } from '../../storage/safetensors-file.js';
import { textChecksum } from '../../util/crc32.js';
import { describe, FormatError, SkeinError } from '../../util/errors.js';
import { onlyEdgeType, onlyNodeType } from './flat-graph.js';
import { type IdRange, PartitionBook } from './partition-book.js';

export type JsonObject = Readonly<Record<string, unknown>>;

export interface Manifest {
  readonly path: string;
  readonly json: JsonObject;
  readonly name: string;
  readonly method: string;
  readonly book: PartitionBook;
}

/** Returns the text of a JSON object whose first key is a checksum of the rest; see `checkChecksum`. */
export function jsonWithChecksum(value: JsonObject): string {
  const rest = `${JSON.stringify(value, null, 1).replace(/^\{\n/, '')}\n`;
  return `{\n "checksum": "${textChecksum(rest)}",\n${rest}`;
}

const checksumPattern = /^\{\n "checksum": "([0-9a-f]{8})",\n/;

/**
 * Throws if the checksum does not match: otherwise a damaged number would be blamed on the file that it describes.
 * Files of DGL and of older versions have no checksum.
 */
function checkChecksum(path: string, text: string): void {
  const [start, sum] = checksumPattern.exec(text) ?? [];
  if (start === undefined || textChecksum(text.slice(start.length)) === sum) return;
  const advice = 'The file is damaged; use another copy. If it was edited on purpose, remove the checksum.';
  throw formatError(path, 'checksum', textChecksum(text.slice(start.length)), sum, advice);
}

/** Maximum size: a partition directory has a few ranges per type and partition. */
const maxBytes = 2 ** 28;

export function formatError(path: string, key: string, what: string, got: unknown, advice = ''): FormatError {
  const shown = typeof got === 'object' && got !== null ? JSON.stringify(got).slice(0, 80) : describe(got);
  return new FormatError(
    `${path}: expected ${what} for ${key}, got ${shown}.${advice === '' ? '' : ` ${advice}`}`,
    { path, key },
  );
}

export async function readJson(path: string): Promise<JsonObject> {
  let text: string;
  try {
    const { size } = await stat(path);
    if (size > maxBytes) throw formatError(path, 'the file', `at most ${maxBytes} bytes of JSON`, size);
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw error instanceof SkeinError ? error : storageError('read', path, error);
  }
  checkChecksum(path, text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const { message } = error as Error;
    throw new FormatError(`${path}: expected JSON, got ${message}. The file is truncated or corrupt.`, {
      path,
    });
  }
  if (!isObject(value)) throw formatError(path, 'the file', 'a JSON object', value);
  return value;
}

/** Parses the keys that both formats have. */
export function parseManifest(path: string, json: JsonObject): Manifest {
  const numParts = wholeNumber(path, 'num_parts', json['num_parts'], 1, 2 ** 20);
  const nodeTypes = typeNames(path, 'ntypes', json['ntypes'] ?? { [onlyNodeType]: 0 });
  const edgeTypes = typeNames(path, 'etypes', json['etypes'] ?? { [onlyEdgeType]: 0 });
  for (const type of edgeTypes) checkEdgeType(path, type, nodeTypes);
  const nodeMap = idMap(path, 'node_map', json['node_map'], nodeTypes, numParts);
  const edgeMap = idMap(path, 'edge_map', json['edge_map'], edgeTypes, numParts);
  const book = inFile(
    path,
    () => new PartitionBook({ nodeTypeNames: nodeTypes, edgeTypeNames: edgeTypes, nodeMap, edgeMap }),
  );
  checkTotal(path, 'num_nodes', json['num_nodes'], book.numNodes());
  checkTotal(path, 'num_edges', json['num_edges'], book.numEdges());
  return {
    path,
    json,
    name: typeof json['graph_name'] === 'string' ? json['graph_name'] : '',
    method: typeof json['part_method'] === 'string' ? json['part_method'] : '',
    book,
  };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function wholeNumber(path: string, key: string, value: unknown, min: number, max: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw formatError(path, key, `a whole number from ${min} to ${max}`, value);
}

/**
 * Returns a path of the manifest inside its directory, symbolic links resolved. A missing file is reported when it is
 * read.
 */
export function fileInDirectory(folder: string, path: string, key: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || value.includes('\0'))
    throw formatError(path, key, 'the name of a file', value);
  const clean = normalize(value.replaceAll('\\', '/'));
  if (isAbsolute(clean) || /^[A-Za-z]:/.test(clean) || clean.split(/[\\/]/)[0] === '..')
    throw formatError(path, key, 'a file below the directory of the JSON', value);
  const file = join(folder, clean);
  const real = realPath(file);
  if (real !== null && isOutside(realPath(folder) ?? folder, real))
    throw formatError(
      path,
      key,
      'a file below the directory of the JSON',
      `${value}, a symbolic link to another directory`,
      'Replace the link by the file.',
    );
  return file;
}

/** Resolves symbolic links; null if the path does not exist. */
function realPath(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return null;
    throw storageError('read', path, error);
  }
}

function isOutside(folder: string, file: string): boolean {
  const path = relative(folder, file);
  return isAbsolute(path) || path.split(sep)[0] === '..';
}

function checkTotal(path: string, key: string, value: unknown, total: number): void {
  if (value === undefined || value === total) return;
  throw formatError(path, key, `${total}, the sum of all ranges,`, value);
}

/** Converts { name: number } to names in the order of the numbers 0, 1, 2 … */
function typeNames(path: string, key: string, value: unknown): string[] {
  if (!isObject(value) || Object.keys(value).length === 0)
    throw formatError(path, key, 'numbers by name of type', value);
  const names = Object.entries(value).sort(([, a], [, b]) => Number(a) - Number(b));
  names.forEach(([name, number], i) => {
    if (number !== i)
      throw formatError(path, `${key}.${name}`, `the numbers 0 to ${names.length - 1}`, number);
  });
  return names.map(([name]) => name);
}

function checkEdgeType(path: string, type: string, nodeTypes: readonly string[]): void {
  const ends = type.split(':');
  if (ends.length !== 3)
    throw formatError(
      path,
      'etypes',
      "'source type:relation:destination type'",
      type,
      "Files of DGL before 1.0 name the relation only; DGL's tool change_etype_to_canonical_etype.py converts them.",
    );
  for (const end of [ends[0], ends[2]])
    if (!nodeTypes.includes(end))
      throw formatError(path, `etypes.${type}`, `one of ${nodeTypes.join(', ')}`, end);
}

/** Parses ranges by type: lists of [start, end], or of ends only; without types a bare list. */
function idMap(
  path: string,
  key: string,
  value: unknown,
  types: readonly string[],
  numParts: number,
): IdRange[][] {
  if (Array.isArray(value) && types.length === 1) return [rangesOf(path, key, value, numParts)];
  if (!isObject(value)) throw formatError(path, key, 'ranges by type', value);
  const unknown = Object.keys(value).find((type) => !types.includes(type));
  if (unknown !== undefined) throw formatError(path, key, `one of ${types.join(', ')}`, unknown);
  return types.map((type) => rangesOf(path, `${key}.${type}`, value[type], numParts));
}

function rangesOf(path: string, key: string, value: unknown, numParts: number): IdRange[] {
  if (!Array.isArray(value) || value.length !== numParts)
    throw formatError(path, key, `${numParts} ranges`, value);
  let last = 0;
  return value.map((range: unknown, part) => {
    const [start, end] = Array.isArray(range) && range.length === 2 ? range : [last, range];
    const from = wholeNumber(path, `${key}[${part}]`, start, 0, 2 ** 31 - 1);
    const to = wholeNumber(path, `${key}[${part}]`, end, from, 2 ** 31 - 1);
    last = to;
    return { start: from, end: to };
  });
}
