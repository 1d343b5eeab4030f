/** What `readEdgeList` is told, checked before a file is opened. */
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
  /** A word for the kind of each edge, numbered in order of first appearance. */
  readonly type?: Column;
  /** Whether the first line names the columns; by default its look decides (header.ts). */
  readonly header?: boolean;
  /** By default what the first lines show: a tab, a comma, a semicolon, a bar, or runs of blanks. */
  readonly delimiter?: string;
  /** What starts a comment line; '' for none. Default '#'. */
  readonly comment?: string;
  /**
   * `integers` (default): ids are whole numbers and stay what they are, less `idBase`. `names`: any text, numbered in
   * order of first appearance. With names, comments are understood before the first edge only.
   */
  readonly ids?: 'integers' | 'names';
  /** The smallest id, 0 or 1. Default 0. */
  readonly idBase?: 0 | 1;
  /** Ids must be below `numNodes` + `idBase`. By default the largest decides. */
  readonly numNodes?: number;
}

/** From here on a number becomes infinite as an f32: the largest f32 and half a step. */
export const f32Limit = 2 ** 128 - 2 ** 103;

type Check = (name: string, value: unknown) => void;

const refuse = (what: string, name: string, value: unknown): never => {
  throw new ValueError(expected('readEdgeList', what, name, value));
};
const isColumn: Check = (name, value) => {
  if (typeof value !== 'string') checkInteger('readEdgeList', name, value, 0, 2 ** 31 - 1);
};
/** Text that goes to the reader of tables as a setting. */
const isSign =
  (least: number, most: number): Check =>
  (name, value) => {
    const fits = typeof value === 'string' && value.length >= least && Buffer.byteLength(value) <= most;
    if (!fits || /[\r\n"\0]/.test(value))
      refuse(`${least} to ${most} bytes of text without quotes and line ends`, name, value);
  };

const optionChecks: Readonly<Record<keyof EdgeListOptions, Check>> = {
  source: isColumn,
  target: isColumn,
  weight: isColumn,
  time: isColumn,
  type: isColumn,
  header: (name, value) => {
    if (typeof value !== 'boolean') refuse('true or false', name, value);
  },
  delimiter: isSign(1, 4),
  comment: isSign(0, 16),
  ids: (name, value) => {
    if (value !== 'integers' && value !== 'names') refuse('"integers" or "names"', name, value);
  },
  idBase: (name, value) => checkInteger('readEdgeList', name, value, 0, 1),
  numNodes: (name, value) => checkInteger('readEdgeList', name, value, 0, 2 ** 31 - 1),
};

/** Refuses unknown options and values outside their range, by name. */
export function checkEdgeListOptions(options: EdgeListOptions): void {
  if (typeof options !== 'object' || options === null) refuse('an object', 'options', options);
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(optionChecks, name))
      refuse(`one of ${Object.keys(optionChecks).join(', ')}`, 'an option', name);
    if (value !== undefined) optionChecks[name as keyof EdgeListOptions](name, value);
  }
  const { delimiter, comment = '#' } = options;
  if (
    delimiter !== undefined &&
    comment !== '' &&
    (delimiter.includes(comment) || comment.includes(delimiter))
  )
    refuse(`a sign that is no part of the delimiter ${JSON.stringify(delimiter)}`, 'comment', comment);
}
