/**
 * Conversion of Arrow columns to tensor views. The library is passed in (`import * as arrow from 'apache-arrow'`); reading
 * needs only its objects, from any copy of it.
 *
 * A column of numbers without nulls in one chunk becomes a view of its memory; several chunks are joined by one copy. A
 * column of FixedSizeList is a matrix [rows, width]. int8, int16 and uint16 become i32, Boolean is unpacked to bytes. Columns
 * with nulls, text, dates, dictionaries and lists of several lengths throw an error that names the column. Arrow has no
 * bf16.
 */
import { DTypeError, describe, expected, FormatError, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { TensorView } from '../tensor-view.js';
import { type ViewArray, type ViewDType, viewDTypes } from '../view-dtype.js';
import { checkArrowBytes } from './arrow-check.js';
import type { ArrowColumn, ArrowData, ArrowModule, ArrowTable, ArrowType } from './arrow-like.js';

/** Arrow's type ids. */
const typeIds = { int: 2, float: 3, bool: 6, fixedSizeList: 16 } as const;

export interface ArrowTableOptions {
  /** Columns to read. Default: all. */
  readonly columns?: readonly string[];
}

/**
 * Returns a column as a view: [rows], or [rows, width] for fixed-size lists. It may share the memory of the column.
 *
 * @example
 * const x = fromArrow(table.getChild('features')).toTensor();
 */
export function fromArrow(column: ArrowColumn | null, name = 'column'): TensorView {
  const where = 'fromArrow';
  if (column === null || !Array.isArray(column?.data) || typeof column.length !== 'number')
    throw new ValueError(expected(where, 'a column of an Arrow table', name, column));
  checkNoNulls(name, column);
  const { type } = column;
  if (type.typeId !== typeIds.fixedSizeList) {
    const { array, dtype } = joinChunks(name, type, column.data);
    return TensorView.fromTyped(array, [column.length], { dtype });
  }
  const width = type.listSize as number;
  const inner = column.data.map((data) => innerData(name, data, width));
  const child = type.children?.[0]?.type;
  if (child === undefined) throw unreadableError(name, type);
  const { array, dtype } = joinChunks(name, child, inner);
  return TensorView.fromTyped(array, [column.length, width], { dtype });
}

/** Returns the columns of a table as views by name. */
export function tensorsFromArrow(
  table: ArrowTable,
  options: ArrowTableOptions = {},
): Record<string, TensorView> {
  checkOptionNames('tensorsFromArrow', options, { columns: true });
  const where = 'tensorsFromArrow';
  if (typeof table?.getChild !== 'function' || !Array.isArray(table.schema?.fields))
    throw new ValueError(expected(where, 'an Arrow table', 'table', table));
  const existing = table.schema.fields.map(({ name }) => name);
  const twice = existing.find((name, i) => existing.indexOf(name) !== i);
  if (twice !== undefined) throw new FormatError(`${where}: expected each column once, got ${twice} again.`);
  const views = (options.columns ?? existing).map(
    (name) => [name, fromArrow(columnOf(table, name), name)] as const,
  );
  return Object.fromEntries(views);
}

/** Reads the columns of an Arrow file or stream (IPC, Feather version 2). */
export function parseArrow(
  arrow: Pick<ArrowModule, 'tableFromIPC'>,
  bytes: Uint8Array,
  options: ArrowTableOptions = {},
): Record<string, TensorView> {
  checkOptionNames('parseArrow', options, { columns: true });
  const where = 'parseArrow';
  if (!(bytes instanceof Uint8Array)) throw new ValueError(expected(where, 'a Uint8Array', 'bytes', bytes));
  checkArrowBytes(bytes);
  let table: ArrowTable;
  try {
    table = arrow.tableFromIPC(bytes as never);
  } catch (error) {
    throw new FormatError(
      `${where}: expected an Arrow file or stream, got ${(error as Error).message}.`,
      {},
      {
        cause: error,
      },
    );
  }
  // The library reads empty input and zeros as a stream that has ended.
  if (table.schema.fields.length === 0)
    throw new FormatError(`${where}: expected an Arrow file or stream with columns, got none.`);
  return tensorsFromArrow(table, options);
}

/** @internal Returns the column of that name; throws an error that lists the existing ones. */
export function columnOf(table: ArrowTable, name: string): ArrowColumn {
  const column = table.getChild(name);
  if (column !== null) return column;
  const existing = table.schema.fields.map((field) => field.name).join(', ') || 'none';
  throw new FormatError(`fromArrow: expected a column ${name}, got ${existing}.`, { column: name });
}

function checkNoNulls(name: string, { nullCount, length }: { nullCount: number; length: number }): void {
  if (nullCount > 0)
    throw new FormatError(
      `fromArrow: expected no nulls for ${name}, got ${nullCount} among ${length} rows. Fill or drop them first.`,
      { column: name },
    );
}

/** Returns the elements of a chunk of fixed-size lists. */
function innerData(name: string, data: ArrowData, width: number): ArrowData {
  const child = data.children?.[0];
  if (child === undefined || child.length < data.length * width)
    throw new FormatError(
      `fromArrow: expected ${data.length * width} elements in the lists of ${name}, got fewer.`,
    );
  checkNoNulls(name, child);
  return { ...copyFields(child), length: data.length * width };
}

/** Copies a chunk, because a spread does not copy the getters of a class instance. */
function copyFields({ type, length, offset, nullCount, values, children }: ArrowData): ArrowData {
  return { type, length, offset, nullCount, values, ...(children === undefined ? {} : { children }) };
}

function joinChunks(
  name: string,
  type: ArrowType,
  chunks: readonly ArrowData[],
): { array: ViewArray; dtype: ViewDType } {
  const dtype = dtypeOf(name, type);
  const arrays = chunks.map((chunk) => elementsOf(name, type, dtype, chunk));
  if (arrays.length === 1) return { array: arrays[0], dtype };
  const { array: kind, bytes } = viewDTypes[dtype];
  const total = arrays.reduce((sum, { length }) => sum + length, 0);
  const joined = new kind(new ArrayBuffer(total * bytes), 0, total);
  let at = 0;
  for (const array of arrays) {
    joined.set(array as never, at);
    at += array.length;
  }
  return { array: joined, dtype };
}

function dtypeOf(name: string, type: ArrowType): ViewDType {
  if (type.typeId === typeIds.bool) return 'bool';
  if (type.typeId === typeIds.float)
    return (['f16', 'f32', 'f64'] as const)[type.precision ?? -1] ?? throwUnreadable(name, type);
  if (type.typeId !== typeIds.int) return throwUnreadable(name, type);
  if (type.bitWidth === 64) return type.isSigned === true ? 'i64' : throwUnreadable(name, type);
  if (type.bitWidth === 32) return type.isSigned === true ? 'i32' : 'u32';
  return type.bitWidth === 8 && type.isSigned === false ? 'u8' : 'i32';
}

function throwUnreadable(name: string, type: ArrowType): never {
  throw unreadableError(name, type);
}

function unreadableError(name: string, type: ArrowType): DTypeError {
  const advice = 'Exclude it with `columns`, or cast it in the table.';
  const what = 'a column of numbers or of fixed-size lists of numbers';
  return new DTypeError(expected('fromArrow', what, name, String(type), advice), { column: name });
}

/** Returns the elements of one chunk: its memory if views have the type, otherwise a copy. */
function elementsOf(name: string, type: ArrowType, dtype: ViewDType, data: ArrowData): ViewArray {
  const { values, length, offset } = data;
  if (!ArrayBuffer.isView(values)) {
    if (length === 0) return new viewDTypes[dtype].array(new ArrayBuffer(0), 0, 0);
    throw new FormatError(`fromArrow: expected memory for ${name}, got ${describe(values)}.`);
  }
  if (dtype === 'bool') {
    const bits = values as Uint8Array;
    return Uint8Array.from({ length }, (_, i) => (bits[(offset + i) >> 3] >> ((offset + i) & 7)) & 1);
  }
  const own = (values as ViewArray).subarray(0, length);
  if (own.length !== length)
    throw new ShapeError(expected('fromArrow', `${length} elements`, name, `${own.length}`));
  return dtype === 'i32' && type.bitWidth !== 32 ? Int32Array.from(own as Int32Array) : own;
}
