/** Copies rows of the arrays of a mailbox. */
import { kernels } from '../../native/index.js';
import { Tensor } from '../../tensor/index.js';
import { readWholeMail } from './mail-features.js';
import type { MailBoxRows } from './rows.js';
import type { StateArrays, StateSizes } from './state.js';
import type { WholeFeatures } from './state-store.js';

/** The arrays that are read. */
export type ReadArrays = Omit<StateArrays, 'cursor' | 'memoryEvents'>;

/**
 * @param rows which rows of the arrays.
 * @param nodes ids of the rows; kept.
 * @param whole read mails together with these features.
 */
export function readRows(
  state: ReadArrays,
  sizes: StateSizes,
  rows: Int32Array,
  nodes: Int32Array,
  whole: WholeFeatures | null,
): MailBoxRows {
  const n = rows.length;
  const { width, slots, dtype, meanWidth } = sizes;
  const gather = kernels().gatherRows;
  const memory = Tensor.allocate(dtype, [n, width]);
  const mailEvents = new Int32Array(n * slots);
  gather(state.mailEvents, rows, mailEvents, n, slots * 4);
  const wholeMail =
    whole === null
      ? null
      : readWholeMail(state.mail, rows, whole.features, mailEvents, 2 * width, whole.width);
  const mail =
    wholeMail?.rows.view([n, 2 * width], wholeMail.rows.strides) ??
    Tensor.allocate(dtype, [n, slots * 2 * width]);
  const read = {
    ...{ nodes, memory, mail, mailEvents },
    memoryTime: new Float64Array(n),
    mailTime: new Float64Array(n * slots),
    mailCount: new Int32Array(n),
  };
  const elementBytes = memory.floats.BYTES_PER_ELEMENT;
  gather(state.memory, rows, memory.floats, n, width * elementBytes);
  gather(state.memoryTime, rows, read.memoryTime, n, 8);
  gather(state.mailTime, rows, read.mailTime, n, slots * 8);
  gather(state.count, rows, read.mailCount, n, 4);
  if (wholeMail !== null) return { ...read, wholeMail };
  gather(state.mail, rows, mail.floats, n, slots * 2 * width * elementBytes);
  if (meanWidth === 0) return read;
  const means = Tensor.allocate(dtype, [n * slots, meanWidth]);
  gather(state.mailFeatures, rows, means.floats, n, slots * meanWidth * elementBytes);
  return { ...read, mailFeatures: means };
}
