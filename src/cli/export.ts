/** The work of `skein export`: finds the tables of a directory or a packed model and writes each to a file. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { exportTable } from '../data/index.js';
import { type ExportFormat, exportFormats } from '../data/prepare/export-table.js';
import { type NamedTable, openFlatTables } from '../data/prepare/flat-tables.js';
import { streamNames } from '../data/temporal/event-nodes.js';
import { checkPackedConfig } from '../train/check-packed-config.js';
import { isEventRun } from '../train/find-run.js';
import { encodeAllNodes, loadPlugins, Output, openRun } from '../train/index.js';
import { isPackedRun, withRunDirectory } from '../train/run/unpacked-run.js';
import { openRunTables } from '../train/tasks/graph/run-tables.js';
import { StorageError, ValueError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';
import type { PluginOptions } from './options/options.js';

export interface ExportCommand extends PluginOptions {
  readonly format: string;
  readonly delim: string;
  readonly outputDir?: string;
  readonly tables?: readonly string[];
  readonly what?: readonly string[];
  readonly overwrite: boolean;
  readonly json: boolean;
}

/** Functions that find tables in a directory, tried in order. */
const openers: readonly ((directory: string) => Promise<NamedTable[]>)[] = [openRunTables, openFlatTables];

/** The source of an export: `directory` is the run, which a packed model has in a temporary place; messages name `path`. */
export interface ExportSource {
  readonly path: string;
  readonly directory: string;
  /** The directory of the files to write. */
  readonly target: string;
}

export async function exportCommand(path: string, command: ExportCommand): Promise<void> {
  if (command.format.toLowerCase() === 'tensorboard')
    return (await import('./export-tensorboard.js')).exportTensorBoard(path, command);
  const format = command.format.toLowerCase() === 'onnx' ? null : parseFormat(command.format);
  for (const kind of command.what ?? [])
    if (!Object.hasOwn(kinds, kind))
      throw new ValueError(
        `export: expected one of ${Object.keys(kinds).join(', ')} for --what, got ${kind}.`,
      );
  const isPacked = isPackedRun(path);
  if (!isPacked && statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new StorageError(`export: expected a directory or a packed model (.tgz), got ${path}.`, { path });
  await loadPlugins(command.plugin, 'export');
  const target = command.outputDir ?? (isPacked ? dirname(path) : path);
  await withRunDirectory(path, (directory) => {
    if (isPacked) checkPackedConfig(path, directory);
    return exportFrom({ path, directory, target }, format, command);
  });
}

async function exportFrom(
  source: ExportSource,
  format: ExportFormat | null,
  command: ExportCommand,
): Promise<void> {
  const { path: given, directory, target } = source;
  const output = new Output({ json: command.json });
  const temporal = isEventRun(directory);
  if (format === null) {
    if (temporal)
      throw new ValueError(
        `export: expected one of ${exportFormats.join(', ')} for --format, got onnx. A temporal run (${given}) cannot be exported to ONNX.`,
      );
    return (await import('./export-onnx.js')).exportRunOnnx(source, command);
  }
  if (temporal) checkTemporalTables(given, command);
  const tables: NamedTable[] = temporal ? [await memoryTable(source)] : [];
  if (tables.length === 0) for (const open of openers) tables.push(...(await open(directory)));
  const isRun = existsSync(join(directory, 'full_config.yaml'));
  // A model without embeddings has no other node table.
  const encoded = command.what?.includes('encoded') ?? (isRun && tables.length === 0);
  if (encoded && tables.every(({ name }) => name !== encodedTable))
    tables.push(await encodedNodes(directory, output));
  if (tables.length === 0)
    throw new StorageError(`export: expected a model in ${given}, got none. Train one first.`, {
      path: given,
    });
  const files: string[] = [];
  for (const table of selectTables(tables, command)) {
    const path = join(target, `${table.name}.${format}`);
    const stage = output.stage(`writing ${path}`, { plain: false });
    const written = await exportTable({
      ...{ rows: table.rows, names: table.names, format, path, overwrite: command.overwrite },
      delimiter: command.delim.replaceAll('\\t', '\t'),
      tensor: table.name,
      progress: stage.update,
    });
    output.text(`${table.name}: ${table.rows.rows} rows of ${table.rows.width} in ${written.join(', ')}`);
    output.event('export', {
      table: table.name,
      rows: table.rows.rows,
      width: table.rows.width,
      files: written,
    });
    files.push(...written);
  }
  output.event('done', { files });
  output.doneIn();
}

function parseFormat(text: string): ExportFormat {
  const lower = text.toLowerCase();
  // Marius's binary format holds the numbers alone; .npy adds a header.
  const format = exportFormats.find((known) => known === (lower === 'binary' ? 'npy' : lower));
  if (format === undefined)
    throw new ValueError(
      `export: expected one of ${exportFormats.join(', ')}, onnx, tensorboard for --format, got ${text}.`,
    );
  return format;
}

const encodedTable = 'encoded_nodes';

/** Tables by the short names of --what. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  embeddings: ['embeddings'],
  encoded: [encodedTable],
  relations: ['relation_embeddings', 'inverse_relation_embeddings'],
  features: ['features'],
  memory: ['memory'],
};

/** Throws unless the requested table of a temporal run is its memory, the only one it has. */
function checkTemporalTables(path: string, { what, tables }: ExportCommand): void {
  const check = (option: string, names: readonly string[] = []): void => {
    const other = names.find((name) => name !== 'memory');
    if (other === undefined) return;
    throw new ValueError(
      `export: expected memory for ${option}, got ${other}. The temporal run ${path} has no other table: embeddings depend on the time. Score pairs with "${invocation()} predict".`,
    );
  };
  check('--what', what);
  check('--tables', tables);
}

/** Returns the memory of all nodes of a temporal run. */
async function memoryTable({ directory, path }: ExportSource): Promise<NamedTable> {
  const { parts, stream, config } = await openRun(directory, { command: 'export', over: 'events' });
  if (parts.mailbox === null)
    throw new ValueError(
      `export: expected a temporal run with memory, got ${path}, ${config.model.sections === null ? `a model of kind ${config.model.kind}` : 'whose memory.type is set to none'}. It has no node memory; score pairs with "${invocation()} predict".`,
    );
  const { numNodes } = stream.graph;
  const { memory } = parts.mailbox.getMemory(Int32Array.from({ length: numNodes }, (_, i) => i));
  const [rows, width] = memory.shape;
  const values = memory.dataSync() as Float32Array;
  const read = (start: number, end: number): Float32Array => values.subarray(start * width, end * width);
  return { name: 'memory', names: streamNames(stream.data), rows: { rows, width, read } };
}

/** Computes the encoder output of all nodes. */
async function encodedNodes(directory: string, output: Output): Promise<NamedTable> {
  const run = await openRun(directory, { command: 'export', over: 'graph' });
  const stage = output.stage('encoding all nodes');
  try {
    const { rows, width } = await encodeAllNodes(run);
    return {
      name: encodedTable,
      names: await run.dataset.nodeNames(),
      rows: {
        rows: run.storage.numNodes,
        width,
        read: (start, end) => rows.subarray(start * width, end * width),
      },
    };
  } finally {
    stage.end();
    await run.close();
  }
}

function selectTables(
  tables: readonly NamedTable[],
  { what, tables: names }: ExportCommand,
): readonly NamedTable[] {
  if (what === undefined && names === undefined) return tables;
  const find = (option: string, given: string, wanted: readonly string[]): NamedTable[] => {
    const matches = tables.filter(({ name }) => wanted.includes(name));
    if (matches.length > 0) return matches;
    const existing = tables.map(({ name }) => name).join(', ');
    throw new ValueError(`export: expected one of ${existing} for ${option}, got ${given}.`);
  };
  const all = [
    ...(what ?? []).flatMap((kind) => find('--what', kind, kinds[kind])),
    ...(names ?? []).flatMap((name) => find('--tables', name, [name])),
  ];
  return [...new Set(all)];
}
