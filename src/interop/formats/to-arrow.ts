/**
 * Conversion of tensor views to Arrow tables: vectors become columns, matrices columns of fixed-size lists, all with the same
 * number of rows. Memory is shared with the views, except bool, which Arrow packs into bits.
 */
import { DTypeError, expected, ShapeError, ValueError } from '../../util/errors.js';
import { TensorView } from '../tensor-view.js';
import type { ViewArray, ViewDType } from '../view-dtype.js';
import type { ArrowModule } from './arrow-like.js';

/** Class of each type in Arrow's module. */
const typeNames = {
  f16: 'Float16',
  f32: 'Float32',
  f64: 'Float64',
  i32: 'Int32',
  i64: 'Int64',
  u8: 'Uint8',
  u32: 'Uint32',
  bool: 'Bool',
} as const satisfies Record<Exclude<ViewDType, 'bf16'>, keyof ArrowModule>;

/**
 * Returns a table with a column per view. The views must outlive it.
 *
 * @param arrow the module: `import * as arrow from 'apache-arrow'`.
 */
export function toArrow<Arrow extends ArrowModule>(
  arrow: Arrow,
  views: Readonly<Record<string, TensorView>>,
): InstanceType<Arrow['Table']> {
  checkModule(arrow);
  let rows: number | null = null;
  const columns = Object.entries(views).map(([name, view]) => {
    if (!(view instanceof TensorView)) throw new ValueError(expected('toArrow', 'a TensorView', name, view));
    rows ??= view.shape[0] ?? null;
    if ((view.shape.length !== 1 && view.shape.length !== 2) || view.shape[0] !== rows) {
      const want = rows === null ? '[rows] or [rows, width]' : `[${rows}] or [${rows}, width]`;
      throw new ShapeError(expected('toArrow', want, name, `shape [${view.shape.join(', ')}]`));
    }
    return [name, columnOf(arrow, name, view)] as const;
  });
  return new arrow.Table(Object.fromEntries(columns) as never) as InstanceType<Arrow['Table']>;
}

/** Returns the bytes of an Arrow file (Feather version 2) with a column per view. */
export function writeArrow(arrow: ArrowModule, views: Readonly<Record<string, TensorView>>): Uint8Array {
  return arrow.tableToIPC(toArrow(arrow, views) as never, 'file' as never);
}

function checkModule(arrow: ArrowModule): void {
  const needed = ['Table', 'Vector', 'Field', 'FixedSizeList', 'makeData'] as const;
  const missing = needed.find((name) => typeof arrow?.[name] !== 'function');
  if (missing !== undefined)
    throw new ValueError(
      `toArrow: expected the module apache-arrow for arrow, got one without ${missing}. Pass import * as arrow from 'apache-arrow'.`,
    );
}

function columnOf(arrow: ArrowModule, name: string, view: TensorView): object {
  if (view.dtype === 'bf16')
    throw new DTypeError(expected('toArrow', 'a type that Arrow has', name, 'bf16', 'Cast it to f32.'));
  const data = view.toTyped();
  const type = new arrow[typeNames[view.dtype]]();
  const flat = arrow.makeData({
    type,
    length: data.length,
    nullCount: 0,
    data: view.dtype === 'bool' ? packBits(data) : data,
  } as never);
  if (view.shape.length === 1) return new arrow.Vector([flat] as never);
  const [rows, width] = view.shape;
  const list = new arrow.FixedSizeList(width, new arrow.Field('item', type as never, false) as never);
  const lists = arrow.makeData({ type: list, length: rows, nullCount: 0, child: flat } as never);
  return new arrow.Vector([lists] as never);
}

function packBits(flags: ViewArray): Uint8Array {
  // Arrow pads its buffers to 8 bytes.
  const bits = new Uint8Array(Math.ceil(flags.length / 64) * 8);
  for (let i = 0; i < flags.length; i++) if (flags[i]) bits[i >> 3] |= 1 << (i & 7);
  return bits;
}
