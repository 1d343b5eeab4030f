import type { FloatArray, TypedArray } from '../../native/index.js';
import type { ReadArrays } from '../../temporal/mailbox/read-rows.js';
import type { MailBoxRows } from '../../temporal/mailbox/rows.js';

/** Concatenates rows that were read from two stores. */
export function joinRead(a: MailBoxRows, b: MailBoxRows): ReadArrays {
  const features = ({ mailFeatures }: MailBoxRows): FloatArray => mailFeatures?.floats ?? new Float32Array(0);
  return {
    memory: concat(a.memory.floats, b.memory.floats),
    memoryTime: concat(a.memoryTime, b.memoryTime),
    mail: concat(a.mail.floats, b.mail.floats),
    mailTime: concat(a.mailTime, b.mailTime),
    mailEvents: concat(a.mailEvents, b.mailEvents),
    count: concat(a.mailCount, b.mailCount),
    mailFeatures: concat(features(a), features(b)),
  };
}

function concat<T extends TypedArray>(a: T, b: T): T {
  const all = new (a.constructor as new (length: number) => T)(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}
