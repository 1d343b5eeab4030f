/**
 * What a stream can show: whether a line can be redrawn, whether colours are welcome, how wide it is. Decided by the stream
 * and the usual environment variables (NO_COLOR, FORCE_COLOR, TERM, LANG), never by what is printed.
 */

/** A stream that takes text; a terminal has `isTTY` and `columns`. */
export interface TextSink {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the line under the cursor can be written again. A dumb terminal has no way to erase one. */
export function canRedraw({ isTTY }: TextSink, env: Environment = process.env): boolean {
  return isTTY === true && env['TERM'] !== 'dumb';
}

/** FORCE_COLOR wins over NO_COLOR, as in Node.js itself; without either, terminals get colours and files do not. */
export function hasColors(stream: TextSink, env: Environment = process.env): boolean {
  const force = env['FORCE_COLOR'];
  if (force !== undefined) return force !== '0' && force !== 'false';
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  return canRedraw(stream, env);
}

/** Whether block characters can be shown; where the locale says nothing about UTF-8 they become question marks. */
export function hasUnicode(env: Environment = process.env): boolean {
  return (
    process.platform === 'win32' || /utf-?8/i.test(env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '')
  );
}

const styles = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2, bold: 1 } as const;
export type Style = keyof typeof styles;

/** The text in a style where `on` is true, as it is elsewhere. */
export function paint(text: string, style: Style, on: boolean): string {
  return on ? `\x1b[${styles[style]}m${text}\x1b[0m` : text;
}
