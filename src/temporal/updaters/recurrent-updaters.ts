/**
 * Memory updaters that are recurrent cells: input [mail ‖ edge features ‖ TE(now − memory time)], state the memory (Rossi
 * et al. 2020, TGN, eq. 3; JODIE and DyRep take the plain cell). Gates and their order are those of `GRUCell` and
 * `RNNCell`. A node has one mail.
 */
import { newFanParameter } from '../../nn/factory.js';
import type { TimeEncode } from '../../nn/index.js';
import { type FloatDType, linear, type Tensor } from '../../tensor/index.js';
import { gruGates, rnnGates } from '../../tensor/ops/cells.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { MailBoxRows } from '../mailbox/rows.js';
import { type MailLinear, recurrentInput } from './mail-linear.js';
import { MemoryUpdater, type MemoryUpdaterOptions, mailRows, slotsOf, spanTensor } from './memory-updater.js';

/** gates(W_i·[mail ‖ TE] + b_i, W_h·memory + b_h, memory). */
export class GRUMemoryUpdater extends MemoryUpdater {
  readonly timeEncode: TimeEncode;
  /** Rows in the order r, z, n. */
  readonly input: MailLinear;
  readonly weightHh: Tensor;
  readonly biasHh: Tensor;

  constructor(options: MemoryUpdaterOptions) {
    super(options);
    checkOptionNames('GRUMemoryUpdater', options, {
      dtype: true,
      random: true,
      dimMemory: true,
      dimEdge: true,
      dimTime: true,
      timeInput: true,
      emptyMail: true,
    });
    const { timeEncode, input } = recurrentInput('GRUMemoryUpdater', 3, options);
    const { dimMemory } = options;
    this.timeEncode = timeEncode;
    this.input = input;
    this.weightHh = newFanParameter([3 * dimMemory, dimMemory], dimMemory, options);
    this.biasHh = newFanParameter([3 * dimMemory], dimMemory, options);
  }

  protected update(rows: MailBoxRows, features: Tensor | null, now: Float64Array): Tensor {
    return this.updateBut(new Int32Array(0), rows, features, now);
  }

  protected override updateBut(
    kept: Int32Array,
    rows: MailBoxRows,
    features: Tensor | null,
    now: Float64Array,
  ): Tensor {
    const gi = inputProduct('GRUMemoryUpdater', this.input, this.timeEncode, rows, features, now);
    return gruGates(gi, linear(rows.memory, this.weightHh, this.biasHh), rows.memory, kept);
  }
}

/** tanh(W_i·[mail ‖ TE] + b_i + W_h·memory + b_h). */
export class RNNMemoryUpdater extends MemoryUpdater {
  readonly timeEncode: TimeEncode;
  readonly input: MailLinear;
  readonly weightHh: Tensor;
  readonly biasHh: Tensor;

  constructor(options: MemoryUpdaterOptions) {
    super(options);
    checkOptionNames('RNNMemoryUpdater', options, {
      dtype: true,
      random: true,
      dimMemory: true,
      dimEdge: true,
      dimTime: true,
      timeInput: true,
      emptyMail: true,
    });
    const { timeEncode, input } = recurrentInput('RNNMemoryUpdater', 1, options);
    const { dimMemory } = options;
    this.timeEncode = timeEncode;
    this.input = input;
    this.weightHh = newFanParameter([dimMemory, dimMemory], dimMemory, options);
    this.biasHh = newFanParameter([dimMemory], dimMemory, options);
  }

  protected update(rows: MailBoxRows, features: Tensor | null, now: Float64Array): Tensor {
    const gi = inputProduct('RNNMemoryUpdater', this.input, this.timeEncode, rows, features, now);
    return rnnGates(gi, linear(rows.memory, this.weightHh, this.biasHh));
  }
}

function inputProduct(
  where: string,
  input: MailLinear,
  timeEncode: TimeEncode,
  rows: MailBoxRows,
  features: Tensor | null,
  now: Float64Array,
): Tensor {
  if (slotsOf(rows) !== 1)
    throw new ValueError(
      expected(where, 'one mail per node', 'rows', slotsOf(rows), 'Several need a transformer updater.'),
    );
  const dtype = rows.memory.dtype as FloatDType;
  const mails = mailRows(where, rows, features, input.weightMail.shape[1]);
  return input.forward(mails, timeEncode.forward(spanTensor(now, rows.memoryTime, dtype)));
}
