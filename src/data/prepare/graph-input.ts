/**
 * Graph source from files and queries that may be larger than memory: ids are numbered in order of first appearance (row by
 * row, source before destination, then those of the node files), edges are spooled as numbers in the order of the input to
 * the working folder. Memory is that of the names (name-numbers.ts).
 */
import { closeSync, openSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FormatError, InternalError } from '../../util/errors.js';
import type { ByteNames } from '../formats/byte-names.js';
import { type NodeTypes, nodeTypesNote, nodeTypesOf } from '../formats/node-types.js';
import { bytesOf, readAt } from './binary-file.js';
import { type EdgeInput, openEdgeInputs, readInputs } from './edge-input.js';
import { EdgeSpool } from './edge-spool.js';
import type { EdgeBlock, GraphSource, OnNote, OnPrepareProgress } from './graph-source.js';
import { KeptNumbers, SpillingNameNumbers } from './name-numbers.js';
import { readNodeInput } from './node-input.js';
import { makeNodeTables } from './node-tables.js';
import type { TextInput } from './text-input.js';

export interface InputContext {
  /** Folder for intermediate files. */
  readonly folder: string;
  /** Maximum memory of the name table in bytes. */
  readonly nameBytes: number;
  readonly progress: OnPrepareProgress;
  readonly note: OnNote;
}

/** Reads the input of the options. */
export async function readGraph(options: TextInput, context: InputContext): Promise<GraphSource> {
  const inputs = await openEdgeInputs(options.edges, options, context.note);
  const types = detectTypes(inputs[0], options, context.note);
  const source = await readAll(options, context, inputs, types);
  if (source !== null) return source;
  context.note(
    `node types: one, since many ids are in both columns of edges (--node-types ${types?.join(' ')} to override)`,
  );
  return (await readAll(options, context, inputs, null)) as GraphSource;
}

function detectTypes(input: EdgeInput, options: TextInput, note: OnNote): NodeTypes | null {
  const { header, indices } = input;
  const column = (index: number): string | null => header?.[index] ?? null;
  const types = nodeTypesOf(column(indices.source), column(indices.target), options.nodeTypes);
  if (types === null || !options.noRemapIds) return types;
  note(`node types: one, since ids are kept; ${types.join(' and ')} with the same number are one node`);
  return null;
}

/** Returns null if the values show that the two types are one. */
async function readAll(
  options: TextInput,
  context: InputContext,
  inputs: readonly EdgeInput[],
  types: NodeTypes | null,
): Promise<GraphSource | null> {
  const folder = join(context.folder, types === null ? 'input' : 'typed-input');
  await mkdir(folder);
  const keep = options.noRemapIds ?? false;
  const names = keep ? new KeptNumbers(folder) : new SpillingNameNumbers(folder, context.nameBytes, types);
  const { indices } = inputs[0];
  const hasTypes = indices.type !== null;
  const hasWeights = indices.weight !== null;
  const { numNodes: given, numRelations } = options;
  const spool = new EdgeSpool(folder, names, { hasTypes, hasWeights, keep, numNodes: given, numRelations });
  const splitSizes = await readInputs(inputs, spool, context.progress);
  if (options.nodeTypes === undefined && names instanceof SpillingNameNumbers && names.sharesNames()) {
    spool.finish();
    await names.finish();
    await rm(folder, { recursive: true });
    return null;
  }
  const typed = names instanceof SpillingNameNumbers ? names.typed : 0;
  const typesNote = nodeTypesNote(types, options.nodeTypes !== undefined, typed);
  const input = await readNodeInput({ options, folder, names, types, note: context.note });
  context.progress({ stage: 'number', done: 0, total: 1 });
  const numbered = await names.finish();
  const relations = spool.finish();
  context.progress({ stage: 'number', done: 1, total: 1 });
  const numNodes = keep ? (given ?? numbered.size) : numbered.size;
  if (numNodes > 2 ** 31 - 1)
    throw new FormatError(`preprocess: expected fewer than 2^31 nodes, got ${numNodes}.`);
  const total = splitSizes.reduce((a, b) => a + b, 0);
  const { encoding } = input;
  const nodes = await makeNodeTables(input, options, numbered, numNodes, context.note);
  if (typesNote !== null) context.note(typesNote);
  return {
    ...{ numNodes, numRelations: relations, hasWeights, splitSizes },
    ...(types === null ? {} : { nodeTypes: types }),
    blocks: () => edgeBlocks(numbered.idsPath, spool, total),
    nodeNames: () => numbered.names(),
    relationNames: () => (keep || !hasTypes ? null : typeNames(spool.types)),
    nodes,
    ...(encoding === null ? {} : { sideFiles: { 'nodes/encoding.json': [encoding.toText()] } }),
  };
}

async function* typeNames(types: ByteNames): AsyncGenerator<readonly string[]> {
  yield Array.from({ length: types.size }, (_, id) => types.nameOf(id));
}

const blockRows = 1 << 16;

async function* edgeBlocks(idsPath: string, spool: EdgeSpool, total: number): AsyncGenerator<EdgeBlock> {
  const pairs = new Int32Array(2 * blockRows);
  const [src, dst] = [new Int32Array(blockRows), new Int32Array(blockRows)];
  const rel = spool.relationsPath === null ? null : new Int32Array(blockRows);
  const weight = spool.weightsPath === null ? null : new Float32Array(blockRows);
  const files = [idsPath, spool.relationsPath, spool.weightsPath].map((path) =>
    path === null ? null : openSync(path, 'r'),
  );
  const read = (file: number | null, array: Int32Array | Float32Array | null, start: number): void => {
    if (file !== null && array !== null && !readAt(file, bytesOf(array), 4 * start))
      throw new InternalError(`${idsPath}: expected ${total} edges`);
  };
  try {
    for (let row = 0; row < total; row += blockRows) {
      const count = Math.min(blockRows, total - row);
      read(files[0], pairs.subarray(0, 2 * count), 2 * row);
      read(files[1], rel?.subarray(0, count) ?? null, row);
      read(files[2], weight?.subarray(0, count) ?? null, row);
      for (let i = 0; i < count; i++) {
        src[i] = pairs[2 * i];
        dst[i] = pairs[2 * i + 1];
      }
      yield { count, src, rel, dst, weight };
    }
  } finally {
    for (const file of files) if (file !== null) closeSync(file);
  }
}
