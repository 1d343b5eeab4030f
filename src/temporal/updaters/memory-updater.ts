/**
 * Base of all memory updaters: the time of their input, the treatment of nodes without mail, and the product of mail and time with
 * the input weights. An updater works on copies: it returns new memory and writes nothing.
 *
 * Two rules differ in the literature; both are implemented. Time of the input: that of the mail (TGN, DistTGL), so that the result
 * does not depend on the query time, or that of the query (TGL). No mail yet: the memory is kept (TGN), or updated from
 * a mail of zeros (TGL).
 */
import { Module, type ParameterOptions } from '../../nn/index.js';
import { concat, type FloatDType, fromTypedArray, reshape, type Tensor, where } from '../../tensor/index.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { MailBoxRows } from '../mailbox/rows.js';

export type TimeInput = 'mail' | 'query';
export type EmptyMail = 'keep' | 'update';

export interface MemoryUpdaterOptions extends ParameterOptions {
  /** D: width of the memory; a mail has 2D. */
  readonly dimMemory: number;
  /** E: width of the edge features that come with a mail; 0 without. */
  readonly dimEdge?: number;
  /** Width of the encoding of time. */
  readonly dimTime: number;
  /** Default 'mail'. */
  readonly timeInput?: TimeInput;
  /** Default 'keep'. */
  readonly emptyMail?: EmptyMail;
}

export interface UpdatedMemory {
  /** [n, D]. */
  readonly memory: Tensor;
  /** When the memory is of, [n]. */
  readonly time: Float64Array;
}

export abstract class MemoryUpdater extends Module {
  readonly timeInput: TimeInput;
  readonly emptyMail: EmptyMail;

  constructor(options: Pick<MemoryUpdaterOptions, 'timeInput' | 'emptyMail'>) {
    super();
    const { timeInput = 'mail', emptyMail = 'keep' } = options;
    if (timeInput !== 'mail' && timeInput !== 'query')
      throw new ValueError(expected('MemoryUpdater', "'mail' or 'query'", 'timeInput', timeInput));
    if (emptyMail !== 'keep' && emptyMail !== 'update')
      throw new ValueError(expected('MemoryUpdater', "'keep' or 'update'", 'emptyMail', emptyMail));
    this.timeInput = timeInput;
    this.emptyMail = emptyMail;
  }

  /** New memory of all rows, whether they have mail or not. `now` is the time of the input, [n]. */
  protected abstract update(rows: MailBoxRows, features: Tensor | null, now: Float64Array): Tensor;

  /**
   * @param rows state of n nodes.
   * @param features edge features of the mails [n·K, E], or the mails with them [n·K, 2D + E].
   * @param queryTimes when the memory is asked for [n]; needed with timeInput 'query'.
   */
  forward(rows: MailBoxRows, features: Tensor | null, queryTimes: Float64Array | null): UpdatedMemory {
    const now = this.#inputTimes(rows, queryTimes);
    if (this.emptyMail === 'update') return { memory: this.update(rows, features, now), time: now };
    const { mailCount, memory, memoryTime } = rows;
    const n = mailCount.length;
    const empty = new Int32Array(n);
    let count = 0;
    for (let i = 0; i < n; i++) if (mailCount[i] === 0) empty[count++] = i;
    if (count === n) return { memory, time: memoryTime };
    if (count === 0) return { memory: this.update(rows, features, now), time: now };
    const kept = empty.subarray(0, count);
    const time = now.slice();
    for (let i = 0; i < count; i++) time[kept[i]] = memoryTime[kept[i]];
    return { memory: this.updateBut(kept, rows, features, now), time };
  }

  /** As `update`, but rows named by `kept` have no mail and stay as they are. */
  protected updateBut(
    kept: Int32Array,
    rows: MailBoxRows,
    features: Tensor | null,
    now: Float64Array,
  ): Tensor {
    const changes = new Uint8Array(rows.mailCount.length).fill(1);
    for (let i = 0; i < kept.length; i++) changes[kept[i]] = 0;
    const flags = fromTypedArray(changes, [changes.length, 1]);
    return where(flags, this.update(rows, features, now), rows.memory);
  }

  /** 'mail': of the latest mail, or of the memory where there is none. */
  #inputTimes(rows: MailBoxRows, queryTimes: Float64Array | null): Float64Array {
    if (this.timeInput === 'query') {
      if (queryTimes === null || queryTimes.length !== rows.memoryTime.length)
        throw new ValueError(
          expected(
            this.constructor.name,
            `${rows.memoryTime.length} times (timeInput 'query')`,
            'queryTimes',
            queryTimes,
          ),
        );
      return queryTimes;
    }
    const slots = slotsOf(rows);
    const { memoryTime, mailCount, mailTime } = rows;
    const times = memoryTime.slice();
    for (let i = 0; i < times.length; i++) {
      if (mailCount[i] > 0)
        times[i] = slots === 1 ? mailTime[i] : latestTime(rows, i * slots, (i + 1) * slots);
    }
    return times;
  }
}

/** Time of the latest mail of the slots begin … end. */
function latestTime({ mailEvents, mailTime }: MailBoxRows, begin: number, end: number): number {
  let latest = -Infinity;
  for (let p = begin; p < end; p++) if (mailEvents[p] >= 0) latest = Math.max(latest, mailTime[p]);
  // A mail without event, as set by hand: its slot counts all the same.
  return latest === -Infinity ? mailTime[begin] : latest;
}

/** K: mails that a row has room for. */
export function slotsOf(rows: MailBoxRows): number {
  return rows.memoryTime.length === 0 ? 1 : rows.mailTime.length / rows.memoryTime.length;
}

/** a − b in f64, then in the dtype asked for. */
export function spanTensor(a: Float64Array, b: Float64Array, dtype: FloatDType): Tensor {
  const spans = dtype === 'f64' ? new Float64Array(a.length) : new Float32Array(a.length);
  for (let i = 0; i < spans.length; i++) spans[i] = a[i] - b[i];
  return fromTypedArray(spans);
}

/** Every mail as a row with its edge features: [n·K, 2D + E]. Features that have that width are the whole mails. */
export function mailRows(where: string, rows: MailBoxRows, features: Tensor | null, width: number): Tensor {
  if (features !== null && features.shape[1] === width) return features;
  const count = rows.mailTime.length;
  const mailWidth = 2 * rows.memory.shape[1];
  const mails = rows.mail.shape[1] === mailWidth ? rows.mail : reshape(rows.mail, [count, mailWidth]);
  const whole = features === null ? mails : concat([mails, features], 1);
  if (whole.shape[1] !== width)
    throw new ShapeError(expected(where, `mails of width ${width}`, 'rows and features', whole.shape[1]));
  return whole;
}

/** An updater that keeps the memory. The rules about time still decide the time of the memory. */
export class IdentityMemoryUpdater extends MemoryUpdater {
  constructor(options: Pick<MemoryUpdaterOptions, 'timeInput' | 'emptyMail'> = {}) {
    super(options);
    checkOptionNames('IdentityMemoryUpdater', options, { timeInput: true, emptyMail: true });
  }

  protected update(rows: MailBoxRows): Tensor {
    return rows.memory;
  }
}
