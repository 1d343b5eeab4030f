/**
 * Capabilities of a stream: redrawing a line, colours, width. They depend on the stream and on environment variables
 * (NO_COLOR, FORCE_COLOR, TERM, LANG) alone.
 */

/** A writable text stream; a terminal has `isTTY` and `columns`. */
export interface TextSink {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns whether a line can be redrawn; a dumb terminal cannot erase one. */
export function canRedraw({ isTTY }: TextSink, env: Environment = process.env): boolean {
  return isTTY === true && env['TERM'] !== 'dumb';
}

/** Returns whether to use colours. FORCE_COLOR overrides NO_COLOR, as in Node.js; by default only terminals get colours. */
export function hasColors(stream: TextSink, env: Environment = process.env): boolean {
  const force = env['FORCE_COLOR'];
  if (force !== undefined) return force !== '0' && force !== 'false';
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  return canRedraw(stream, env);
}

/** Returns whether block characters can be shown: the locale must be UTF-8. */
export function hasUnicode(env: Environment = process.env): boolean {
  return (
    process.platform === 'win32' || /utf-?8/i.test(env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '')
  );
}

const styles = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2, bold: 1 } as const;
export type Style = keyof typeof styles;

/** Returns the text in a style if `on` is true, otherwise unchanged. */
export function paint(text: string, style: Style, on: boolean): string {
  return on ? `\x1b[${styles[style]}m${text}\x1b[0m` : text;
}
