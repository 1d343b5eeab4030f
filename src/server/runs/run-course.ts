/**
 * The records of a run as a page needs them, kept between requests: of a file that has grown only the new lines are parsed, because
 * a page asks twice a second about a run that is being trained.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import type { MetricsRecord } from '../../train/run/metrics-file.js';
import { CurveCollector, type RunCurves } from '../../train/run/run-curves.js';
import { type FileMark, isSameFile, markOf } from './file-mark.js';

const chunk = 1024 * 1024;

export class RunCourse {
  readonly #path: string;
  #curves = new CurveCollector();
  #records: MetricsRecord[] = [];
  #started: string | null = null;
  #mark: FileMark | null = null;
  #position = 0;

  /** @param path metrics.jsonl of the run */
  constructor(path: string) {
    this.#path = path;
  }

  get curves(): RunCurves {
    return this.#curves.curves;
  }

  /** Evaluations and baselines, in the order of the file. */
  get records(): readonly MetricsRecord[] {
    return this.#records;
  }

  /** The time of the first record, as ISO 8601. */
  get started(): string | null {
    return this.#started;
  }

  /** Bytes of the file that have been read: up to the end of the last complete line. */
  get position(): number {
    return this.#position;
  }

  /** Number of points and records that are kept. */
  get size(): number {
    return this.curves.epochs.length + 2 * this.#records.length;
  }

  /** Reads what has been written since the last call. A file that was replaced or cut is read from its beginning. */
  refresh(): void {
    const before = this.#mark;
    const found = markOf(this.#path, before);
    const isKept = found !== null && before !== null && isSameFile(before, found);
    if (!isKept || found.size < this.#position) this.#forget();
    this.#mark = found;
    if (found !== null && found.size > this.#position) this.#read(found.size);
  }

  #forget(): void {
    this.#curves = new CurveCollector();
    this.#records = [];
    this.#started = null;
    this.#position = 0;
  }

  #read(end: number): void {
    const file = openSync(this.#path, 'r');
    try {
      let length = chunk;
      while (this.#position < end) {
        const bytes = Buffer.allocUnsafe(Math.min(length, end - this.#position));
        const count = readSync(file, bytes, 0, bytes.length, this.#position);
        const lines = bytes.subarray(0, count).lastIndexOf(10) + 1;
        if (lines > 0) {
          this.#add(bytes.toString('utf8', 0, lines));
          this.#position += lines;
        } else if (count < length) return;
        // A line that is longer than a chunk is read again as a whole.
        else length *= 2;
      }
    } finally {
      closeSync(file);
    }
  }

  #add(text: string): void {
    for (const line of text.split('\n')) {
      const record = line === '' ? null : parse(line);
      if (record === null) continue;
      const { event, time } = record;
      this.#started ??= typeof time === 'string' ? time : null;
      this.#curves.add(record);
      if (event === 'eval' || event === 'baseline') this.#records.push(record);
    }
  }
}

/** Returns null for a line that is not a record. */
function parse(line: string): MetricsRecord | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as MetricsRecord) : null;
  } catch {
    return null;
  }
}

/** Points and records of all runs together: the courses that were asked for longest ago make room. */
const mostKept = 1_000_000;

/** Courses of the runs that were asked for last. */
export class RunCourses {
  readonly #courses = new Map<string, RunCourse>();

  /** Returns the course of a file as it is now. */
  of(path: string): RunCourse {
    const course = this.#courses.get(path) ?? new RunCourse(path);
    this.#courses.delete(path);
    course.refresh();
    this.#courses.set(path, course);
    let size = 0;
    for (const one of this.#courses.values()) size += one.size;
    for (const [oldest, one] of this.#courses) {
      if (size <= mostKept || one === course) break;
      this.#courses.delete(oldest);
      size -= one.size;
    }
    return course;
  }
}
