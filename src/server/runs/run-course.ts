/**
 * The records of a run as a page needs them, kept between requests: of a file that has grown only the new lines are parsed, because
 * a page asks twice a second about a run that is being trained.
 */
import { readSync } from 'node:fs';
import type { MetricsRecord } from '../../train/run/metrics-file.js';
import { CurveCollector, type RunCurves } from '../../train/run/run-curves.js';
import { type FileMark, isSameFile, markOf } from './file-mark.js';
import { parseRecord } from './parse-record.js';
import { withRunFile } from './run-file.js';

/** A line longer than this is not a record of a run. */
const longestLine = 4 * 1024 * 1024;

export class RunCourse {
  readonly #path: string;
  #curves = new CurveCollector();
  #records: MetricsRecord[] = [];
  #started: string | null = null;
  #mark: FileMark | null = null;
  #position = 0;
  /** Bytes that have been looked at: more than `#position` within a line that is too long. */
  #scanned = 0;

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
    if (!isKept || found.size < this.#scanned) this.#forget();
    this.#mark = found;
    if (found !== null) withRunFile(this.#path, (file, { size }) => this.#read(file, size));
  }

  #forget(): void {
    this.#curves = new CurveCollector();
    this.#records = [];
    this.#started = null;
    this.#position = this.#scanned = 0;
  }

  #read(file: number, end: number): void {
    if (this.#scanned >= end) return;
    const bytes = Buffer.allocUnsafe(Math.min(longestLine, end - this.#scanned));
    while (this.#scanned < end) {
      const isInside = this.#scanned > this.#position;
      const wanted = Math.min(bytes.length, end - this.#scanned);
      const found = bytes.subarray(0, readSync(file, bytes, 0, wanted, this.#scanned));
      const lines = found.lastIndexOf(10) + 1;
      if (lines > 0) {
        // The first one is the end of a line that is too long.
        this.#add(found.toString('utf8', isInside ? found.indexOf(10) + 1 : 0, lines));
        this.#position = this.#scanned += lines;
      } else if (found.length > 0 && (isInside || found.length === longestLine))
        this.#scanned += found.length;
      else return;
    }
  }

  #add(text: string): void {
    for (const line of text.split('\n')) {
      const record = line === '' ? null : parseRecord(line);
      if (record === null) continue;
      const { event, time } = record;
      this.#started ??= typeof time === 'string' ? time : null;
      this.#curves.add(record);
      if (event === 'eval' || event === 'baseline') this.#records.push(record);
    }
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
