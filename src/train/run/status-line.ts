/**
 * A line at the bottom of a terminal that is redrawn to show the current stage and its progress. It is cleared before
 * anything else is printed and never wraps. Without a terminal it does nothing.
 */
import { canRedraw, hasColors, hasUnicode, paint, type TextSink } from './terminal.js';

export interface ProgressView {
  /** The current stage: `epoch 3/10`. */
  readonly label: string;
  /** From 0 to 1; null if unknown. */
  readonly fraction: number | null;
  /** Rate, loss, time left, the most important first; the last ones are dropped on a narrow terminal. */
  readonly details?: readonly string[];
}

const shownEveryMs = 80;
const eraseLine = '\r\x1b[K';
const lines = new WeakMap<TextSink, StatusLine>();

export class StatusLine {
  readonly #stream: TextSink;
  readonly #now: () => number;
  /** Whether lines are drawn at all. */
  readonly isShown: boolean;
  #drawn = '';
  #drawnAt = Number.NEGATIVE_INFINITY;

  /** @param now a clock in milliseconds, for tests. */
  constructor(stream: TextSink, now: () => number = () => performance.now()) {
    this.#stream = stream;
    this.#now = now;
    this.isShown = canRedraw(stream);
  }

  /** Returns the line of a stream, shared by all callers. */
  static of(stream: TextSink): StatusLine {
    const known = lines.get(stream) ?? new StatusLine(stream);
    lines.set(stream, known);
    return known;
  }

  /** Draws the line, at most every few milliseconds unless `force` is true. */
  show(view: ProgressView, force = false): void {
    if (!this.isShown || (!force && this.#now() - this.#drawnAt < shownEveryMs)) return;
    // Some terminals wrap as soon as the last column is used.
    const text = renderProgress(
      view,
      (this.#stream.columns ?? 80) - 1,
      hasColors(this.#stream),
      hasUnicode(),
    );
    this.#drawnAt = this.#now();
    if (text === this.#drawn) return;
    this.#drawn = text;
    this.#stream.write(`${eraseLine}${text}`);
  }

  /** Clears the line. Call it before anything else is printed on the terminal. */
  clear(): void {
    if (this.#drawn === '') return;
    this.#drawn = '';
    this.#drawnAt = Number.NEGATIVE_INFINITY;
    this.#stream.write(eraseLine);
  }
}

const [narrowestBar, widestBar] = [8, 28];

/** Formats a view as one line of at most `width` characters: label, bar, percentage, details. */
export function renderProgress(view: ProgressView, width: number, colors: boolean, unicode: boolean): string {
  const { label, fraction, details = [] } = view;
  if (fraction === null) return cut([label, ...details].join('  '), width, unicode);
  const done = Math.min(1, Math.max(0, fraction));
  const fixed = `${String(Math.floor(100 * done)).padStart(3)} %`;
  const kept = [...details];
  const room = (): number => width - [label, fixed, ...kept].join('  ').length - 2;
  while (kept.length > 0 && room() < narrowestBar) kept.pop();
  const bar = Math.min(widestBar, room());
  const rest = [fixed, ...kept].join('  ');
  if (bar < narrowestBar) return cut(`${label}  ${rest.trimStart()}`, width, unicode);
  const filled = Math.round(done * bar);
  const [full, empty] = unicode ? ['█', '░'] : ['#', '.'];
  const drawn = paint(full.repeat(filled), 'cyan', colors) + paint(empty.repeat(bar - filled), 'dim', colors);
  return `${label}  ${drawn}  ${rest}`;
}

function cut(text: string, width: number, unicode: boolean): string {
  const end = unicode ? '…' : '...';
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - end.length))}${end}`;
}
