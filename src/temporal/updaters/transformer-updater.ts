/**
 * The memory updater of APAN (Wang et al. 2021) in TGL's form: the memory attends to the K mails of its node.
 *
 *   q = W_q·memory, k_s and v_s = W·[mail_s ‖ TE(now − time of mail_s)],
 *   a = softmax over s of LeakyReLU(q·k_s, 0.2) per head (not scaled),
 *   memory' = relu(dropout(W_o·LN(memory + Σ a_s·v_s))).
 *
 * With emptyMail 'keep' slots without mail get no attention; with 'update' they attend as zeros, as in TGL.
 */
import { Dropout, LayerNorm, Linear, TimeEncode } from '../../nn/index.js';
import {
  add,
  type FloatDType,
  fromTypedArray,
  leakyRelu,
  mul,
  relu,
  reshape,
  softmax,
  sum,
  type Tensor,
} from '../../tensor/index.js';
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import type { MailBoxRows } from '../mailbox/rows.js';
import { MailLinear } from './mail-linear.js';
import { MemoryUpdater, type MemoryUpdaterOptions, mailRows, slotsOf, spanTensor } from './memory-updater.js';

export interface TransformerMemoryUpdaterOptions extends MemoryUpdaterOptions {
  /** Default 2; divides dimMemory. */
  readonly heads?: number;
  readonly dropout?: number;
  /** Dropout of attention weights. */
  readonly attDropout?: number;
}

const slope = 0.2;

export class TransformerMemoryUpdater extends MemoryUpdater {
  readonly heads: number;
  readonly timeEncode: TimeEncode;
  readonly query: Linear;
  readonly key: MailLinear;
  readonly value: MailLinear;
  readonly norm: LayerNorm;
  readonly out: Linear;
  readonly dropout: Dropout;
  readonly attDropout: Dropout;

  constructor(options: TransformerMemoryUpdaterOptions) {
    super(options);
    const where = 'TransformerMemoryUpdater';
    const dimMemory = checkInteger(where, 'dimMemory', options.dimMemory, 1);
    const dimTime = checkInteger(where, 'dimTime', options.dimTime, 1);
    const dimMail = 2 * dimMemory + checkInteger(where, 'dimEdge', options.dimEdge ?? 0);
    this.heads = checkInteger(where, 'heads', options.heads ?? 2, 1);
    if (dimMemory % this.heads !== 0)
      throw new ValueError(expected(where, `a divisor of dimMemory ${dimMemory}`, 'heads', this.heads));
    const mailOptions = { ...options, dimMail, dimTime, dimOut: dimMemory, fan: dimMail + dimTime };
    const random = options.random === undefined ? {} : { random: options.random };
    this.timeEncode = new TimeEncode(dimTime, options);
    this.query = new Linear(dimMemory, dimMemory, options);
    this.key = new MailLinear(mailOptions);
    this.value = new MailLinear(mailOptions);
    this.norm = new LayerNorm(dimMemory, options);
    this.out = new Linear(dimMemory, dimMemory, options);
    this.dropout = new Dropout(options.dropout ?? 0, random);
    this.attDropout = new Dropout(options.attDropout ?? 0, random);
  }

  protected update(rows: MailBoxRows, features: Tensor | null, now: Float64Array): Tensor {
    const { memory } = rows;
    const [n, width] = memory.shape;
    const dtype = memory.dtype as FloatDType;
    const slots = slotsOf(rows);
    const mails = mailRows('TransformerMemoryUpdater', rows, features, this.key.weightMail.shape[1]);
    const nowOfSlot = rows.mailTime.map((_, p) => now[Math.floor(p / slots)]);
    const time = this.timeEncode.forward(spanTensor(nowOfSlot, rows.mailTime, dtype));
    const perHead = [n, slots, this.heads, width / this.heads];
    const q = reshape(this.query.forward(memory), [n, 1, this.heads, width / this.heads]);
    const k = reshape(this.key.forward(mails, time), perHead);
    const v = reshape(this.value.forward(mails, time), perHead);
    // [n, K, heads]
    const scores = leakyRelu(sum(mul(q, k), 3), slope);
    const open = this.emptyMail === 'keep' ? add(scores, closedSlots(rows, slots, dtype)) : scores;
    const attention = this.attDropout.forward(softmax(open, 1));
    const mixed = sum(mul(reshape(attention, [n, slots, this.heads, 1]), v), 1);
    const attended = this.norm.forward(add(memory, reshape(mixed, [n, width])));
    return relu(this.dropout.forward(this.out.forward(attended)));
  }

  protected override describe(): string {
    return `${this.query.inFeatures}, ${this.heads} heads`;
  }
}

/** [n, K, 1]: 0 where mail lies, so low elsewhere that softmax gives 0. Filled slots are the first of a node. */
function closedSlots(rows: MailBoxRows, slots: number, dtype: FloatDType): Tensor {
  const n = rows.mailCount.length;
  const closed = dtype === 'f64' ? new Float64Array(n * slots) : new Float32Array(n * slots);
  for (let i = 0; i < n; i++) closed.fill(-1e30, i * slots + rows.mailCount[i], (i + 1) * slots);
  return fromTypedArray(closed, [n, slots, 1]);
}
