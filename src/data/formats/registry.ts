/**
 * The formats of node classification data. `readNodeData` detects the format of a path.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expected, ValueError } from '../../util/errors.js';
import type { NodeData } from '../node-data.js';
import { readOgb } from './ogb.js';
import { readPlanetoid } from './planetoid.js';
import { readShchur } from './shchur.js';

export interface NodeFormat {
  readonly name: string;
  /** Description of a path of this format, for messages. */
  readonly describe: string;
  /** Returns whether the path has this format, by file names alone. */
  detect(path: string): boolean;
  read(path: string): Promise<NodeData>;
}

/** Returns the names in a folder; none if it is not a folder. */
function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Returns the datasets whose Planetoid files are in a folder. */
function planetoidNames(path: string): string[] {
  return namesIn(path).flatMap((name) => /^ind\.(.+)\.allx$/.exec(name)?.[1] ?? []);
}

export const nodeFormats: readonly NodeFormat[] = [
  {
    name: 'planetoid',
    describe: 'a folder with the files ind.<name>.* of one dataset',
    detect: (path) => planetoidNames(path).length === 1,
    read: (path) => readPlanetoid(path, planetoidNames(path)[0]),
  },
  {
    name: 'shchur',
    describe: 'an .npz file with adj_*, attr_* and labels',
    detect: (path) => path.endsWith('.npz'),
    read: (path) => readShchur(path),
  },
  {
    name: 'ogb',
    describe: 'a folder with raw/ and split/',
    detect: (path) => ['edge.csv.gz', 'data.npz'].some((name) => existsSync(join(path, 'raw', name))),
    read: (path) => readOgb(path),
  },
];

/** Reads node classification data of any known format. */
export async function readNodeData(path: string): Promise<NodeData> {
  const format = nodeFormats.find((one) => one.detect(path));
  if (format === undefined) {
    const known = nodeFormats.map((one) => one.describe).join(', or ');
    throw new ValueError(expected('readNodeData', known, 'path', path));
  }
  return format.read(path);
}
