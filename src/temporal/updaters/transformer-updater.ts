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
import { add, concat, permute, relu, reshape, type Tensor } from '../../tensor/index.js';
import { checkInteger, checkNumber, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Random } from '../../util/philox.js';
import { type AttentionEdges, headProduct, temporalAttention } from '../layers/attention-op.js';
import type { MailBoxRows } from '../mailbox/rows.js';
import { MailLinear } from './mail-linear.js';
import { MemoryUpdater, type MemoryUpdaterOptions, mailRows, slotsOf } from './memory-updater.js';

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
  readonly attDropout: number;
  readonly #random: Random | null;

  constructor(options: TransformerMemoryUpdaterOptions) {
    super(options);
    checkOptionNames('TransformerMemoryUpdater', options, {
      dtype: true,
      random: true,
      dimMemory: true,
      dimEdge: true,
      dimTime: true,
      timeInput: true,
      emptyMail: true,
      heads: true,
      dropout: true,
      attDropout: true,
    });
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
    this.attDropout = checkNumber(where, 'attDropout', options.attDropout ?? 0, 0, 1);
    this.#random = options.random ?? null;
  }

  protected update(rows: MailBoxRows, features: Tensor | null, now: Float64Array): Tensor {
    const { memory } = rows;
    const [n, width] = memory.shape;
    const { heads } = this;
    const mails = mailRows('TransformerMemoryUpdater', rows, features, this.key.weightMail.shape[1]);
    const byHead = (x: Tensor): Tensor => permute(reshape(x, [n, heads, width / heads]), [1, 0, 2]);
    // As over sampled events: keys and values meet one row per node and head instead of one per mail.
    const query = headProduct(byHead(this.query.forward(memory)), packedByHead(this.key, heads), false);
    const { weight, bias } = this.timeEncode;
    const mixed = temporalAttention(
      openSlots(rows, now, this.emptyMail === 'update'),
      query,
      mails,
      weight,
      bias,
      {
        slope,
        dropout: this.training ? this.attDropout : 0,
        ...(this.#random === null ? {} : { random: this.#random }),
      },
    );
    const values = permute(headProduct(mixed, packedByHead(this.value, heads), true), [1, 0, 2]);
    const attended = this.norm.forward(add(memory, reshape(values, [n, width])));
    return relu(this.dropout.forward(this.out.forward(attended)));
  }

  protected override describe(): string {
    return `${this.query.inFeatures}, ${this.heads} heads`;
  }
}

/** [heads, size, dimMail + dimTime + 1]: the rows of each head with the bias as last column. */
function packedByHead({ weightMail, weightTime, bias }: MailLinear, heads: number): Tensor {
  const rows = concat([weightMail, weightTime, reshape(bias, [bias.size, 1])], 1);
  return reshape(rows, [heads, bias.size / heads, rows.shape[1]]);
}

/** Every mail as an edge to its node; the filled slots, which are the first of a node, or all of them. */
function openSlots(rows: MailBoxRows, now: Float64Array, all: boolean): AttentionEdges {
  const slots = slotsOf(rows);
  const n = now.length;
  const indptr = new Int32Array(n + 1);
  for (let i = 0; i < n; i++) indptr[i + 1] = indptr[i] + (all ? slots : rows.mailCount[i]);
  const neighbors = new Int32Array(indptr[n]);
  const spans = rows.memory.dtype === 'f64' ? new Float64Array(indptr[n]) : new Float32Array(indptr[n]);
  for (let i = 0; i < n; i++) {
    for (let p = indptr[i]; p < indptr[i + 1]; p++) {
      neighbors[p] = i * slots + p - indptr[i];
      spans[p] = now[i] - rows.mailTime[neighbors[p]];
    }
  }
  return { indptr, neighbors, eventRows: neighbors, spans, features: null, featureWidth: 0 };
}
