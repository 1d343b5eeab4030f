/** Features of the events of mails. */
import { type FloatArray, kernels } from '../../native/index.js';
import { concat, fromTypedArray, noGrad, reshape, Tensor } from '../../tensor/index.js';
import { expected, ShapeError } from '../../util/errors.js';
import type { MailBoxRows, WholeMail } from './rows.js';

/** Returns [n·K, E]: the stored means, or the rows of the events; zeros for empty slots. */
export function mailFeatures(
  rows: MailBoxRows,
  features: Float32Array | null,
  width: number,
  dtype: 'f32' | 'f64',
): Tensor | null {
  if (rows.mailFeatures !== undefined) return rows.mailFeatures;
  if (features === null || width === 0) return null;
  const events = rows.mailEvents;
  const n = events.length;
  const picked = gatherEvents(features, events, width);
  if (dtype === 'f32') return fromTypedArray(picked, [n, width]);
  return fromTypedArray(Float64Array.from(picked), [n, width]);
}

function gatherEvents(features: Float32Array, events: Int32Array, width: number): Float32Array {
  const n = events.length;
  const picked = new Float32Array(n * width);
  const holes = events.includes(-1);
  const ids = holes ? events.map((event) => Math.max(event, 0)) : events;
  if (features.length < width) return picked;
  const known = Math.floor(features.length / width);
  const bad = kernels().findOutOfRange(ids, n, 0, known);
  if (bad >= 0) {
    const what = `features of ${ids[bad] + 1} events`;
    throw new ShapeError(expected('getMail', what, 'edgeFeatures', `${known} rows`));
  }
  kernels().gatherRows(features, ids, picked, n, width * 4);
  for (let i = 0; holes && i < n; i++) if (events[i] < 0) picked.fill(0, i * width, (i + 1) * width);
  return picked;
}

/** [n, K, 2D + E]. */
export function withFeatures(
  rows: MailBoxRows,
  features: Tensor | null,
  slots: number,
  width: number,
): Tensor {
  return noGrad(() => {
    const n = rows.nodes.length;
    const mail = reshape(rows.mail, [n, slots, width]);
    if (features === null) return mail;
    return concat([mail, reshape(features, [n, slots, features.shape[1]])], 2);
  });
}

/** Returns [n, 2D + E]: the mails of nodes with one slot, each followed by the features of its event (zeros without). */
export function readWholeMail(
  mail: FloatArray,
  ids: Int32Array,
  features: Float32Array,
  events: Int32Array,
  mailWidth: number,
  width: number,
): WholeMail {
  const n = ids.length;
  const known = Math.floor(features.length / width);
  const bad = kernels().findOutOfRange(events, n, -1, known);
  if (bad >= 0) {
    const what = `features of ${events[bad] + 1} events`;
    throw new ShapeError(expected('read', what, 'edgeFeatures', `${known} rows`));
  }
  const rows = Tensor.allocate('f32', [n, mailWidth + width]);
  const stride = 4 * (mailWidth + width);
  kernels().gatherRowsStrided(mail, ids, rows.floats, n, 4 * mailWidth, stride);
  kernels().gatherRowsStrided(features, events, rows.floats.subarray(mailWidth), n, 4 * width, stride);
  return { rows, events, features };
}
