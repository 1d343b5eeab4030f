/** The memory section of a model file, with TGL's names. */
import { checkInteger, expected, ValueError } from '../../util/errors.js';

export interface MemoryParam {
  readonly type: 'node' | 'none';
  /** Width of a node's memory. */
  readonly dim_out: number;
  readonly dim_time?: number;
  /** Which nodes get the mail of an event: its two ends, or their sampled neighbours as well. */
  readonly deliver_to?: 'self' | 'neighbors';
  /** How several mails of one commit to one node are combined: the latest, or their mean. */
  readonly mail_combine?: 'last' | 'mean';
  readonly memory_update?: 'gru' | 'rnn' | 'transformer' | 'identity';
  /** Mails that a node keeps. */
  readonly mailbox_size?: number;
  readonly attention_head?: number;
  readonly combine_node_feature?: boolean;
}

/** The values of the section that a mailbox needs, checked. */
export interface MailBoxShape {
  /** D. */
  readonly width: number;
  /** K. */
  readonly slots: number;
  readonly deliverTo: 'self' | 'neighbors';
  readonly combine: 'last' | 'mean';
}

/** @param given the section, or a list of it alone, as a section is written in TGL's files. */
export function mailBoxShape(given: MemoryParam | readonly [MemoryParam]): MailBoxShape {
  const where = 'SharedMailBox';
  const param: MemoryParam = Array.isArray(given) && given.length === 1 ? given[0] : given;
  if (typeof param !== 'object' || param === null || Array.isArray(param))
    throw new ValueError(expected(where, 'the memory section of a model file', 'memoryParam', param));
  const { type, deliver_to: deliverTo = 'self', mail_combine: combine = 'last' } = param;
  if (type !== 'node') {
    const advice = 'A model without memory needs no mailbox.';
    throw new ValueError(expected(where, "'node'", 'memoryParam.type', type, advice));
  }
  if (deliverTo !== 'self' && deliverTo !== 'neighbors') {
    throw new ValueError(expected(where, "'self' or 'neighbors'", 'memoryParam.deliver_to', deliverTo));
  }
  if (combine !== 'last' && combine !== 'mean')
    throw new ValueError(expected(where, "'last' or 'mean'", 'memoryParam.mail_combine', combine));
  return {
    width: checkInteger(where, 'memoryParam.dim_out', param.dim_out, 1),
    slots: checkInteger(where, 'memoryParam.mailbox_size', param.mailbox_size ?? 1, 1),
    deliverTo,
    combine,
  };
}
