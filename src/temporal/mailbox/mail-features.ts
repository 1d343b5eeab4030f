/** Features of the events that mails came from. */
import { kernels } from '../../native/index.js';
import { concat, fromTypedArray, noGrad, reshape, type Tensor } from '../../tensor/index.js';
import type { MailBoxRows } from './rows.js';

/** [n·K, E]: the kept means, or the rows of the events; zeros where no mail lies. */
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
