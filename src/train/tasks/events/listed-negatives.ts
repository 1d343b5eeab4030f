/**
 * Negatives from the files of the Temporal Graph Benchmark, found by (source, destination, time). Events have different numbers
 * of them: shorter lists are filled with the event's own destination, and `ignored` lists these places.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readTgbNegatives, type TgbNegatives } from '../../../data/index.js';
import type { EventStream } from '../../../temporal/event-stream.js';
import type { TemporalNegatives } from '../../../temporal/index.js';
import { StateError } from '../../../util/errors.js';

/** Negatives of evaluation, drawn or listed. */
export type EvaluationNegatives = Pick<TemporalNegatives, 'amount' | 'drawFor' | 'ignored'>;

/** Reads the two files of a folder; none for an empty path. */
export async function readListedNegatives(folder: string): Promise<TgbNegatives[]> {
  if (folder === '') return [];
  const names = readdirSync(folder);
  const all: TgbNegatives[] = [];
  for (const split of ['val', 'test']) {
    const found = names.filter((name) => new RegExp(`_${split}_ns(_v\\d+)?\\.pkl(\\.gz)?$`).test(name));
    if (found.length !== 1)
      throw new StateError(
        `evaluation.negatives_path: expected one file *_${split}_ns.pkl in ${folder}, got ${found.length === 0 ? 'none' : found.join(', ')}.`,
      );
    all.push(await readTgbNegatives(join(folder, found[0])));
  }
  return all;
}

export class ListedNegatives implements EvaluationNegatives {
  readonly amount: number;
  readonly #stream: EventStream;
  readonly #lists: ReadonlyMap<string, Int32Array>;

  constructor(stream: EventStream, files: readonly TgbNegatives[]) {
    this.#stream = stream;
    const lists = new Map<string, Int32Array>();
    let most = 1;
    for (const { src, dst, time, offsets, ids } of files)
      for (let i = 0; i < src.length; i++) {
        const list = ids.subarray(offsets[i], offsets[i + 1]);
        const wrong = list.find((id) => id >= stream.numNodes);
        if (wrong !== undefined)
          throw new StateError(
            `evaluation.negatives_path: expected nodes below ${stream.numNodes}, those of the stream, got ${wrong}. Use the files of the same dataset.`,
          );
        lists.set(keyOf(src[i], dst[i], time[i]), list);
        most = Math.max(most, list.length);
      }
    this.#lists = lists;
    this.amount = most;
  }

  drawFor(rows: Int32Array): Int32Array {
    const { amount } = this;
    const out = new Int32Array(rows.length * amount);
    for (const [i, row] of rows.entries()) {
      out.fill(this.#stream.dst[row], i * amount, (i + 1) * amount);
      out.set(this.#listOf(row), i * amount);
    }
    return out;
  }

  ignored(rows: Int32Array): Int32Array {
    const found: number[] = [];
    for (const [i, row] of rows.entries())
      for (let k = this.#listOf(row).length; k < this.amount; k++) found.push(i * this.amount + k);
    return Int32Array.from(found);
  }

  #listOf(row: number): Int32Array {
    const { src, dst, time } = this.#stream;
    const list = this.#lists.get(keyOf(src[row], dst[row], time[row]));
    if (list !== undefined) return list;
    throw new StateError(
      `evaluation.negatives_path: expected negatives for the event ${src[row]} → ${dst[row]} at ${time[row]}, got none. Use the files of the same dataset and protocol: tgb.`,
    );
  }
}

function keyOf(src: number, dst: number, time: number): string {
  return `${src} ${dst} ${time}`;
}
