/**
 * The members of apache-arrow that conversions need, as structural types: tables, columns, chunks and constructors. Declared
 * here so that programs do not need that library's types.
 */

export interface ArrowType {
  readonly typeId: number;
  /** For integers. */
  readonly bitWidth?: number;
  readonly isSigned?: boolean;
  /** For floats: 0 half, 1 single, 2 double. */
  readonly precision?: number;
  /** For fixed-size lists. */
  readonly listSize?: number;
  readonly children?: readonly { readonly type: ArrowType }[] | null;
}

/** A chunk of a column. */
export interface ArrowData {
  readonly type: ArrowType;
  readonly length: number;
  /** Rows before the first in a bitmap; `values` starts with the first row. */
  readonly offset: number;
  readonly nullCount: number;
  readonly values: unknown;
  readonly children?: readonly ArrowData[];
}

export interface ArrowColumn {
  readonly type: ArrowType;
  readonly length: number;
  readonly nullCount: number;
  readonly data: readonly ArrowData[];
}

export interface ArrowTable {
  readonly schema: { readonly fields: readonly { readonly name: string }[] };
  readonly numRows: number;
  getChild(name: string): ArrowColumn | null;
}

/** The module itself: `import * as arrow from 'apache-arrow'`. */
export interface ArrowModule {
  readonly Table: new (columns: never) => ArrowTable;
  readonly Vector: new (data: never) => object;
  readonly Field: new (name: string, type: never, nullable?: boolean) => object;
  readonly FixedSizeList: new (size: number, child: never) => object;
  readonly Float16: new () => object;
  readonly Float32: new () => object;
  readonly Float64: new () => object;
  readonly Int32: new () => object;
  readonly Int64: new () => object;
  readonly Uint8: new () => object;
  readonly Uint32: new () => object;
  readonly Bool: new () => object;
  makeData(props: never): object;
  tableFromIPC(bytes: never): ArrowTable;
  tableToIPC(table: never, type?: never): Uint8Array;
}
