/** What `skein predict` is asked about: edges or nodes of a file, by raw ids or by the numbers of the prepared graph. */
import { readFileSync } from 'node:fs';
import { readRecords } from '../data/formats/delimited.js';
import { typedName, typeOfColumn } from '../data/formats/node-types.js';
import { columnPlace, findTextLayout } from '../data/formats/text-layout.js';
import {
  type EdgeColumns,
  IdentityNames,
  type NameTable,
  type OnNote,
  readRawEdges,
  TypedNames,
} from '../data/index.js';
import type { OtherTestSet } from '../predict/index.js';
import type { OpenedGraphRun } from '../train/index.js';
import { FormatError, StorageError, ValueError } from '../util/errors.js';
import { columnOption, type HeaderOptions, headerGiven } from './options.js';

export interface PredictInput extends HeaderOptions {
  readonly inputFile?: string;
  readonly format?: string;
  /** Marius's name of `format`. */
  readonly inputFormat?: string;
  readonly srcColumn?: string;
  readonly dstColumn?: string;
  readonly edgeTypeColumn?: string;
  readonly timeColumn?: string;
  readonly idColumn?: string;
  readonly preprocessInput?: boolean | string;
  /** Marius's list of source, relation (of events: time) and destination. */
  readonly columns?: readonly string[];
  readonly delim?: string;
  readonly dtype: string;
}

const formats = ['binary', 'csv', 'tsv', 'delimited', 'parquet', 'json'];

/** Reads the file; null when none is given. */
export async function readInput(
  run: OpenedGraphRun,
  command: PredictInput,
  onNote: OnNote,
): Promise<OtherTestSet | null> {
  const { inputFile: path } = command;
  const format = command.format ?? command.inputFormat;
  if (path === undefined) return null;
  if (format !== undefined && !formats.includes(format))
    throw new ValueError(`predict: expected one of ${formats.join(', ')} for --format, got ${format}.`);
  const ofNodes = run.config.model.learning_task === 'NODE_CLASSIFICATION';
  if (format === 'binary' || (format === undefined && path.endsWith('.bin'))) {
    const numbers = readNumbers(path, command.dtype);
    if (ofNodes) return { nodes: distinct(checked(path, numbers, 1, run)) };
    return { edges: checked(path, numbers, run.dataset.numColumns, run) };
  }
  const raw = flag('--preprocess-input', command.preprocessInput) ?? true;
  const { num_nodes, num_relations } = run.dataset.stats;
  const nodes = raw ? await run.dataset.nodeNames() : new IdentityNames(num_nodes);
  if (ofNodes) {
    const encoding = nodes instanceof TypedNames ? await run.dataset.nodeEncoding() : null;
    const usual = encoding?.type ?? null;
    return { nodes: distinct(await readNodeIds(path, command, { names: nodes, type: usual }, onNote)) };
  }
  const relations = raw ? await run.dataset.relationNames() : new IdentityNames(num_relations);
  const names = { nodes, relations: run.dataset.hasRelations ? relations : null };
  return { edges: await readRawEdges(path, edgeColumns(command), names, onNote) };
}

/** Columns, header and delimiter of a file of edges. */
export function edgeColumns(command: PredictInput): EdgeColumns {
  const { delim } = command;
  const format = command.format ?? command.inputFormat;
  const columns = listOf(command.columns).map(columnOption);
  if (columns.length !== 0 && columns.length !== 2 && columns.length !== 3)
    throw new ValueError(
      `predict: expected source, relation and destination (or source and destination) for --columns, got ${columns.length} columns.`,
    );
  const header = headerGiven('predict', command);
  const usual = format === 'csv' ? ',' : format === 'tsv' ? '\t' : undefined;
  const delimiter = delim?.replaceAll('\\t', '\t') ?? usual;
  const [source, middle, last] = columns;
  const named = (['srcColumn', 'dstColumn', 'edgeTypeColumn'] as const).map((name) => {
    const text = command[name];
    return text === undefined ? undefined : columnOption(text);
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

/** `a b`, `a,b` and `[a, b]` are the same list. */
export function listOf(given: readonly string[] | undefined): string[] {
  return (given ?? []).flatMap((text) => text.split(/[[\],\s]+/)).filter((text) => text !== '');
}

/** The value of an option that may stand alone or with true or false. */
export function flag(option: string, value: boolean | string | undefined): boolean | undefined {
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
    throw new StorageError(`predict: expected to read ${path}, got ${reason}. Look at the spelling.`, {
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

/** The numbers of rows of `columns`, if all are ids of the graph. */
function checked(
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

/** Ids in the first column, or in that of --id-column. */
async function readNodeIds(
  path: string,
  command: PredictInput,
  { names, type: usual }: { readonly names: NameTable; readonly type: string | null },
  onNote: OnNote,
): Promise<Int32Array> {
  const { delimiter, header } = edgeColumns({ ...command, columns: [] });
  const given = command.idColumn ?? listOf(command.columns)[0];
  const column = columnOption(given ?? '0');
  const layout = await findTextLayout(path, { delimiter, header, wanted: [column], onNote });
  if (layout === null) throw new FormatError(`${path}: expected at least one node, got none.`, { path });
  const place = columnPlace(layout, '--id-column', column);
  const typed = names instanceof TypedNames;
  // An id alone is one of the table that the graph was prepared with.
  const type = typed ? (typeOfColumn(layout.header?.[place], names.types) ?? usual) : null;
  const ids: number[] = [];
  for await (const block of readRecords(layout)) {
    for (let row = 0; row < block.rows; row++) {
      const name = block.text(row, place);
      const id = (type === null ? undefined : names.idOf(typedName(type, name))) ?? names.idOf(name);
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

function distinct(ids: Int32Array): Int32Array {
  return Int32Array.from(new Set(ids));
}
