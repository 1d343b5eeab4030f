/** The input file of `skein predict`: edges or nodes, by raw ids or by the numbers of the prepared graph. */
import { readFileSync } from 'node:fs';
import { readRecords } from '../../data/formats/delimited.js';
import { typedName, typeOfColumn } from '../../data/formats/node-types.js';
import { columnIndex, findTextLayout } from '../../data/formats/text-layout.js';
import { readRawEdges } from '../../data/index.js';
import type { OnNote } from '../../data/prepare/graph-source.js';
import { IdentityNames, type NameTable, TypedNames } from '../../data/prepare/name-table.js';
import type { EdgeColumns } from '../../data/prepare/preprocess-options.js';
import type { OtherTestSet } from '../../predict/predict-split.js';
import type { OpenedGraphRun } from '../../train/index.js';
import { FormatError, StorageError, ValueError } from '../../util/errors.js';
import { type HeaderOptions, parseColumn, resolveHeader } from '../options/options.js';

export interface PredictInput extends HeaderOptions {
  readonly inputFile?: string;
  readonly format?: string;
  /** Marius's name for `format`. */
  readonly inputFormat?: string;
  readonly srcColumn?: string;
  readonly dstColumn?: string;
  readonly edgeTypeColumn?: string;
  readonly timeColumn?: string;
  readonly idColumn?: string;
  readonly preprocessInput?: boolean | string;
  /** Marius's list of source, relation and destination; for events, of source, destination and time. */
  readonly columns?: readonly string[];
  readonly delim?: string;
  readonly dtype: string;
  readonly skipUnknown?: boolean;
}

/** Names that replace those of the graph, for edges of new nodes. */
interface InputNames {
  readonly nodes?: NameTable;
  /** Called for each edge or node that `--skip-unknown` skips. */
  readonly onSkipped?: () => void;
}

const formats = ['binary', 'csv', 'tsv', 'delimited', 'parquet', 'json'];

/** Reads the file; returns null if none is given. */
export async function readInput(
  run: OpenedGraphRun,
  command: PredictInput,
  onNote: OnNote,
  { nodes: given, onSkipped = () => {} }: InputNames = {},
): Promise<OtherTestSet | null> {
  const { inputFile: path } = command;
  const format = command.format ?? command.inputFormat;
  if (path === undefined) return null;
  if (format !== undefined && !formats.includes(format))
    throw new ValueError(`predict: expected one of ${formats.join(', ')} for --format, got ${format}.`);
  const classifiesNodes = run.config.model.learning_task === 'NODE_CLASSIFICATION';
  if (format === 'binary' || (format === undefined && path.endsWith('.bin'))) {
    const numbers = readNumbers(path, command.dtype);
    if (classifiesNodes) return { nodes: uniqueIds(checkIds(path, numbers, 1, run)) };
    return { edges: checkIds(path, numbers, run.dataset.numColumns, run) };
  }
  const raw = parseFlag('--preprocess-input', command.preprocessInput) ?? true;
  const { num_nodes, num_relations } = run.dataset.stats;
  const nodes = given ?? (raw ? await run.dataset.nodeNames() : new IdentityNames(num_nodes));
  const skip = command.skipUnknown === true ? { onSkipped } : {};
  if (classifiesNodes) {
    const encoding = nodes instanceof TypedNames ? await run.dataset.nodeEncoding() : null;
    const type = encoding?.type ?? null;
    return { nodes: uniqueIds(await readNodeIds(path, command, { names: nodes, type, ...skip }, onNote)) };
  }
  const relations = raw ? await run.dataset.relationNames() : new IdentityNames(num_relations);
  const names = { nodes, relations: run.dataset.hasRelations ? relations : null, ...skip };
  return { edges: await readRawEdges(path, edgeColumns(command), names, onNote) };
}

/** Returns the columns, header and delimiter of an edge file. */
export function edgeColumns(command: PredictInput): EdgeColumns {
  const { delim } = command;
  const format = command.format ?? command.inputFormat;
  const columns = parseList(command.columns).map(parseColumn);
  if (columns.length !== 0 && columns.length !== 2 && columns.length !== 3)
    throw new ValueError(
      `predict: expected source, relation and destination (or source and destination) for --columns, got ${columns.length} columns.`,
    );
  const header = resolveHeader('predict', command);
  const formatDelimiter = format === 'csv' ? ',' : format === 'tsv' ? '\t' : undefined;
  const delimiter = delim?.replaceAll('\\t', '\t') ?? formatDelimiter;
  const [source, middle, last] = columns;
  const named = (['srcColumn', 'dstColumn', 'edgeTypeColumn'] as const).map((name) => {
    const text = command[name];
    return text === undefined ? undefined : parseColumn(text);
  });
  const [src, dst, edgeType] = named;
  return {
    ...(format === 'parquet' || format === 'json' ? { format } : {}),
    ...(delimiter === undefined ? {} : { delimiter }),
    ...(header === undefined ? {} : { header }),
    ...(columns.length === 2 ? { source, target: middle } : {}),
    ...(columns.length === 3 ? { source, edgeType: middle, target: last } : {}),
    ...(src === undefined ? {} : { source: src }),
    ...(dst === undefined ? {} : { target: dst }),
    ...(edgeType === undefined ? {} : { edgeType }),
  };
}

/** Parses a list; `a b`, `a,b` and `[a, b]` are equal. */
export function parseList(given: readonly string[] | undefined): string[] {
  return (given ?? []).flatMap((text) => text.split(/[[\],\s]+/)).filter((text) => text !== '');
}

/** Parses an option that may be given alone or with true or false. */
export function parseFlag(option: string, value: boolean | string | undefined): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  const known = { true: true, '1': true, yes: true, false: false, '0': false, no: false } as const;
  const lower = value.toLowerCase();
  if (lower in known) return known[lower as keyof typeof known];
  throw new ValueError(`predict: expected true or false for ${option}, got ${value}.`);
}

function readNumbers(path: string, dtype: string): Int32Array {
  const width = { int: 4, int32: 4, long: 8, int64: 8 }[dtype];
  if (width === undefined)
    throw new ValueError(`predict: expected int32 or int64 for --dtype, got ${dtype}.`);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code;
    throw new StorageError(`predict: expected to read ${path}, got ${reason}. Check the path.`, {
      path,
    });
  }
  if (bytes.length % width !== 0)
    throw new FormatError(`${path}: expected whole numbers of ${width} bytes, got ${bytes.length} bytes.`, {
      path,
    });
  return Int32Array.from({ length: bytes.length / width }, (_, i) =>
    width === 4 ? bytes.readInt32LE(4 * i) : Number(bytes.readBigInt64LE(8 * i)),
  );
}

/** Throws unless `numbers` are rows of `columns` ids of the graph. */
function checkIds(
  path: string,
  numbers: Int32Array,
  columns: number,
  { dataset }: OpenedGraphRun,
): Int32Array {
  if (numbers.length === 0 || numbers.length % columns !== 0)
    throw new FormatError(`${path}: expected rows of ${columns} numbers, got ${numbers.length} numbers.`, {
      path,
    });
  const { num_nodes, num_relations } = dataset.stats;
  const wrong = numbers.findIndex(
    (id, i) => id < 0 || id >= (columns === 3 && i % 3 === 1 ? num_relations : num_nodes),
  );
  if (wrong >= 0)
    throw new FormatError(
      `${path}: expected ids of the prepared graph (${num_nodes} nodes, ${num_relations} relations), got ${numbers[wrong]} in row ${Math.floor(wrong / columns)}.`,
      { path, row: Math.floor(wrong / columns) },
    );
  return numbers;
}

interface ReadNames extends Pick<InputNames, 'onSkipped'> {
  readonly names: NameTable;
  readonly type: string | null;
}

/** Reads ids from the first column, or from that of --id-column. */
async function readNodeIds(
  path: string,
  command: PredictInput,
  { names, type: defaultType, onSkipped }: ReadNames,
  onNote: OnNote,
): Promise<Int32Array> {
  const { delimiter, header } = edgeColumns({ ...command, columns: [] });
  const given = command.idColumn ?? parseList(command.columns)[0];
  const column = parseColumn(given ?? '0');
  const layout = await findTextLayout(path, { delimiter, header, wanted: [column], onNote });
  if (layout === null) throw new FormatError(`${path}: expected at least one node, got none.`, { path });
  const index = columnIndex(layout, '--id-column', column);
  const typed = names instanceof TypedNames;
  // An id without a type belongs to the node table that the graph was prepared with.
  const type = typed ? (typeOfColumn(layout.header?.[index], names.types) ?? defaultType) : null;
  const ids: number[] = [];
  for await (const block of readRecords(layout)) {
    for (let row = 0; row < block.rows; row++) {
      const name = block.text(row, index);
      const id = (type === null ? undefined : names.idOf(typedName(type, name))) ?? names.idOf(name);
      if (id === undefined && onSkipped !== undefined) {
        onSkipped();
        continue;
      }
      if (id === undefined) {
        const line = block.lines[row];
        throw new FormatError(`${path}:${line}: expected a node of the graph, got ${JSON.stringify(name)}.`, {
          path,
          line,
        });
      }
      ids.push(id);
    }
  }
  return Int32Array.from(ids);
}

function uniqueIds(ids: Int32Array): Int32Array {
  return Int32Array.from(new Set(ids));
}
