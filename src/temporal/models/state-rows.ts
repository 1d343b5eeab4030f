/** Rows of state and features as a model needs them: some of the nodes of a batch, and the edge features of mails. */
import { kernels } from '../../native/index.js';
import { cast, type FloatDType, fromTypedArray, gatherRows, type Tensor } from '../../tensor/index.js';
import { expected, ShapeError } from '../../util/errors.js';
import { type MailBoxRows, wholeMailOf } from '../mailbox/rows.js';

/** Returns the state of the given rows, in their order; a row may appear more than once. */
export function selectState(state: MailBoxRows, rows: Int32Array): MailBoxRows {
  const slots = state.memoryTime.length === 0 ? 1 : state.mailTime.length / state.memoryTime.length;
  const mailTime = new Float64Array(rows.length * slots);
  const mailEvents = new Int32Array(rows.length * slots);
  for (let i = 0; i < rows.length; i++) {
    for (let k = 0; k < slots; k++) {
      mailTime[i * slots + k] = state.mailTime[rows[i] * slots + k];
      mailEvents[i * slots + k] = state.mailEvents[rows[i] * slots + k];
    }
  }
  return {
    nodes: rows.map((row) => state.nodes[row]),
    memory: gatherRows(state.memory, rows),
    memoryTime: selectTimes(state.memoryTime, rows),
    ...selectMail(state, rows, mailEvents),
    mailEvents,
    mailTime,
    mailCount: rows.map((row) => state.mailCount[row]),
    ...(state.mailFeatures === undefined
      ? {}
      : { mailFeatures: selectSlots(state.mailFeatures, rows, slots) }),
  };
}

/** Gathers whole mails from their own matrix: gathering from a view would copy it first. */
function selectMail(
  state: MailBoxRows,
  rows: Int32Array,
  events: Int32Array,
): Pick<MailBoxRows, 'mail' | 'wholeMail'> {
  const features = state.wholeMail?.features ?? null;
  const whole = wholeMailOf(state, features);
  if (whole === null || features === null) return { mail: gatherRows(state.mail, rows) };
  const picked = gatherRows(whole, rows);
  const mail = picked.view([rows.length, state.mail.shape[1]], picked.strides);
  return { mail, wholeMail: { rows: picked, events, features } };
}

function selectSlots(x: Tensor, rows: Int32Array, slots: number): Tensor {
  return gatherRows(
    x,
    Int32Array.from(
      { length: rows.length * slots },
      (_, p) => rows[Math.floor(p / slots)] * slots + (p % slots),
    ),
  );
}

export function selectRows(from: Int32Array, rows: Int32Array): Int32Array {
  const selected = new Int32Array(rows.length);
  for (let i = 0; i < rows.length; i++) selected[i] = from[rows[i]];
  return selected;
}

export function selectTimes(times: Float64Array, rows: Int32Array): Float64Array {
  const selected = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) selected[i] = times[rows[i]];
  return selected;
}

/** Returns the distinct values in ascending order, and the position of each given value among them. */
export function distinct(values: Int32Array): {
  readonly unique: Int32Array;
  readonly positions: Int32Array;
} {
  const unique = Int32Array.from(new Set(values)).sort();
  const at = new Map(Array.from(unique, (value, i) => [value, i] as const));
  return { unique, positions: values.map((value) => at.get(value) as number) };
}

/** Returns the features of the events of mails [m, width]; 0 for empty slots (−1). */
export function mailFeatures(
  features: Float32Array,
  width: number,
  events: Int32Array,
  dtype: FloatDType,
): Tensor {
  const rows = new Float32Array(events.length * width);
  const known = Math.floor(features.length / width);
  const ids = new Int32Array(events.length);
  for (let i = 0; i < events.length; i++) {
    if (events[i] >= known)
      throw new ShapeError(
        expected('GeneralModel', `features of ${events[i] + 1} events`, 'edgeFeatures', `${known} rows`),
      );
    ids[i] = Math.max(0, events[i]);
  }
  if (known > 0) kernels().gatherRows(features, ids, rows, ids.length, width * 4);
  for (let i = 0; i < events.length; i++) if (events[i] < 0) rows.fill(0, i * width, (i + 1) * width);
  return cast(fromTypedArray(rows, [events.length, width]), dtype);
}
