/**
 * The watermark: no event before it is expected any more. It is the minimum over sources of their latest event minus the
 * lateness; sources that have been silent for a while do not hold it back, and it never goes back.
 */

export interface SourceState {
  /** Time of its latest event; −∞ before the first. */
  latest: number;
  /** Wall clock of its last record, in milliseconds. */
  heard: number;
  /** As given with its last record. */
  position: number | null;
  /** Identifies what was read before the position; null: unknown. */
  mark: string | null;
}

/** Where a source continues. */
export interface SourcePosition {
  readonly position: number;
  readonly mark: string | null;
}

export interface WatermarkRules {
  readonly lateness: number;
  readonly idleSeconds: number;
}

/** Sources that are remembered. */
const maxSources = 10_000;

export class Watermark {
  readonly #sources = new Map<string, SourceState>();
  #value: number;
  /** Time of the latest event of all sources. */
  #latest: number;

  /** @param last time of the last event of the training stream. */
  constructor(last: number) {
    this.#value = last === Number.NEGATIVE_INFINITY ? last : nextAfter(last);
    this.#latest = last;
  }

  get value(): number {
    return this.#value;
  }

  get latest(): number {
    return this.#latest;
  }

  get sources(): ReadonlyMap<string, SourceState> {
    return this.#sources;
  }

  /** Notes that a source sent events up to `latest` (−∞: none). */
  observe(source: string, latest: number, now: number, at: SourcePosition | null): void {
    const known = this.#sources.get(source);
    // The map is in the order of the last records, so the first is the longest silent.
    this.#sources.delete(source);
    this.#sources.set(source, {
      latest: Math.max(known?.latest ?? Number.NEGATIVE_INFINITY, latest),
      heard: now,
      position: at === null ? (known?.position ?? null) : at.position,
      mark: at === null ? (known?.mark ?? null) : at.mark,
    });
    this.#latest = Math.max(this.#latest, latest);
    if (this.#sources.size > maxSources) this.#forgetOne();
  }

  /** Removes the source that has been silent longest; those with positions are needed to continue. */
  #forgetOne(): void {
    for (const [name, { position }] of this.#sources)
      if (position === null) {
        this.#sources.delete(name);
        return;
      }
  }

  /** Moves the watermark by what sources have sent. */
  advance(now: number, rules: WatermarkRules): void {
    this.#value = Math.max(this.#value, this.#expected(now, rules, null, 0));
  }

  /** Returns where the watermark would be after events of a source up to `latest`. */
  after(source: string, latest: number, now: number, rules: WatermarkRules): number {
    return Math.max(this.#value, this.#expected(now, rules, source, latest));
  }

  /** Moves the watermark behind a time. */
  pass(time: number): void {
    this.#value = Math.max(this.#value, nextAfter(time));
  }

  isIdle({ heard }: SourceState, now: number, { idleSeconds }: WatermarkRules): boolean {
    return heard < now - 1000 * idleSeconds;
  }

  save(): unknown {
    return {
      value: text(this.#value),
      latest: text(this.#latest),
      sources: [...this.#sources].map(saveSource),
    };
  }

  load(saved: unknown): void {
    const { value, latest, sources } = saved as { value: string; latest: string; sources: SavedSource[] };
    this.#value = Number(value);
    this.#latest = Number(latest);
    for (const [name, time, heard, position, mark = null] of sources)
      this.#sources.set(name, { latest: Number(time), heard, position, mark });
  }

  #expected(now: number, rules: WatermarkRules, extra: string | null, extraLatest: number): number {
    let least = Number.POSITIVE_INFINITY;
    for (const [name, source] of this.#sources) {
      if (name === extra || source.latest === Number.NEGATIVE_INFINITY) continue;
      if (!this.isIdle(source, now, rules)) least = Math.min(least, source.latest);
    }
    if (extra !== null)
      least = Math.min(least, Math.max(extraLatest, this.#sources.get(extra)?.latest ?? extraLatest));
    return least === Number.POSITIVE_INFINITY ? Number.NEGATIVE_INFINITY : least - rules.lateness;
  }
}

/** Snapshots of earlier versions have no mark. */
type SavedSource = [
  ...[name: string, latest: string, heard: number, position: number | null],
  mark?: string | null,
];

function saveSource([name, { latest, heard, position, mark }]: [string, SourceState]): SavedSource {
  return [name, text(latest), heard, position, mark];
}

/** Infinity has no form in JSON. */
function text(value: number): string {
  return String(value);
}

/** Returns the smallest larger number. */
export function nextAfter(value: number): number {
  if (value === 0) return Number.MIN_VALUE;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  view.setBigInt64(0, view.getBigInt64(0) + (value > 0 ? 1n : -1n));
  return view.getFloat64(0);
}
