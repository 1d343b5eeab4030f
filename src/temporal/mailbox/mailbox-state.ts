/** Memory and mail as the state of a run: the delta of a batch is made from the updated memory of its ends. */
import { checkOptionNames } from '../../util/option-names.js';
import type { TemporalBatch } from '../batch.js';
import type { TemporalOutput } from '../models/output.js';
import { type MailOptions, stateDelta } from '../steps.js';
import type { CommittedState, StateSnapshot } from '../temporal-state.js';
import type { StateDelta } from './rows.js';
import type { SharedMailBox } from './shared-mailbox.js';
import type { MailBoxSnapshot } from './snapshot.js';

export class MailboxState implements CommittedState<StateDelta> {
  readonly name = 'mailbox';
  readonly mailbox: SharedMailBox;
  readonly mailOptions: MailOptions;

  constructor(mailbox: SharedMailBox, mailOptions: MailOptions = { useSrcEmb: false, useDstEmb: false }) {
    checkOptionNames('MailboxState', mailOptions, { useSrcEmb: true, useDstEmb: true });
    this.mailbox = mailbox;
    this.mailOptions = mailOptions;
  }

  get bytes(): number {
    return this.mailbox.bytes;
  }

  prepare(batch: TemporalBatch, output: () => TemporalOutput): StateDelta {
    return stateDelta(this.mailbox, batch, output(), this.mailOptions);
  }

  check(delta: StateDelta): void {
    this.mailbox.check(delta);
  }

  commit(delta: StateDelta): void {
    this.mailbox.commit(delta);
  }

  reset(): void {
    this.mailbox.reset();
  }

  snapshot(): StateSnapshot {
    return { ...this.mailbox.snapshot() };
  }

  restore(saved: StateSnapshot): void {
    this.mailbox.restore(saved as unknown as MailBoxSnapshot);
  }

  grow(numNodes: number): void {
    if (numNodes > this.mailbox.numNodes) this.mailbox.grow(numNodes);
  }

  drain(): void {
    this.mailbox.drain();
  }
}
