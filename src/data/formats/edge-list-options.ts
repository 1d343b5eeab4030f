/** Options of `readEdgeList`, checked before a file is opened. */
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import type { Column } from './text-layout.js';

export type { Column } from './text-layout.js';

export interface EdgeListOptions {
  /** Default 0. */
  readonly source?: Column;
  /** Default 1. */
  readonly target?: Column;
  readonly weight?: Column;
  readonly time?: Column;
  /** Type of each edge as text, numbered in order of first appearance. */
  readonly type?: Column;
  /** Whether the first line names the columns. Default: detected (header.ts). */
  readonly header?: boolean;
  /** Default: detected from the first lines: a tab, a comma, a semicolon, a bar, or runs of blanks. */
  readonly delimiter?: string;
  /** Start of a comment line; '' for none. Default '#'. */
  readonly comment?: string;
  /**
   * `integers` (default): ids are whole numbers and are kept, less `idBase`. `names`: any text, numbered in order of first
   * appearance. With names, comments are recognised before the first edge only.
   */
  readonly ids?: 'integers' | 'names';
  /** The smallest id, 0 or 1. Default 0. */
  readonly idBase?: 0 | 1;
  /** Ids must be below `numNodes` + `idBase`. Default: from the largest id. */
  readonly numNodes?: number;
}

/** Numbers from here on round to infinity as f32: the largest f32 plus half a step. */
export const f32Limit = 2 ** 128 - 2 ** 103;

type Check = (name: string, value: unknown) => void;

const reject = (what: string, name: string, value: unknown): never => {
  throw new ValueError(expected('readEdgeList', what, name, value));
};
const isColumn: Check = (name, value) => {
  if (typeof value !== 'string') checkInteger('readEdgeList', name, value, 0, 2 ** 31 - 1);
};
/** Text that separates fields or starts comments. */
const isSign =
  (least: number, most: number): Check =>
  (name, value) => {
    const fits = typeof value === 'string' && value.length >= least && Buffer.byteLength(value) <= most;
    if (!fits || /[\r\n"\0]/.test(value))
      reject(`${least} to ${most} bytes of text without quotes and line ends`, name, value);
  };

const optionChecks: Readonly<Record<keyof EdgeListOptions, Check>> = {
  source: isColumn,
  target: isColumn,
  weight: isColumn,
  time: isColumn,
  type: isColumn,
  header: (name, value) => {
    if (typeof value !== 'boolean') reject('true or false', name, value);
  },
  delimiter: isSign(1, 4),
  comment: isSign(0, 16),
  ids: (name, value) => {
    if (value !== 'integers' && value !== 'names') reject('"integers" or "names"', name, value);
  },
  idBase: (name, value) => checkInteger('readEdgeList', name, value, 0, 1),
  numNodes: (name, value) => checkInteger('readEdgeList', name, value, 0, 2 ** 31 - 1),
};

/** Throws on unknown options and on values outside their range. */
export function checkEdgeListOptions(options: EdgeListOptions): void {
  if (typeof options !== 'object' || options === null) reject('an object', 'options', options);
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(optionChecks, name))
      reject(`one of ${Object.keys(optionChecks).join(', ')}`, 'an option', name);
    if (value !== undefined) optionChecks[name as keyof EdgeListOptions](name, value);
  }
  const { delimiter, comment = '#' } = options;
  if (
    delimiter !== undefined &&
    comment !== '' &&
    (delimiter.includes(comment) || comment.includes(delimiter))
  )
    reject(`a sign that does not overlap the delimiter ${JSON.stringify(delimiter)}`, 'comment', comment);
}
