/** Rows that were read in two places, as arrays of one. */
import type { FloatArray, TypedArray } from '../../native/index.js';
import type { ReadArrays } from '../../temporal/mailbox/read-rows.js';
import type { MailBoxRows } from '../../temporal/mailbox/rows.js';

export function joinRead(a: MailBoxRows, b: MailBoxRows): ReadArrays {
  const features = ({ mailFeatures }: MailBoxRows): FloatArray => mailFeatures?.floats ?? new Float32Array(0);
  return {
    memory: joined(a.memory.floats, b.memory.floats),
    memoryTime: joined(a.memoryTime, b.memoryTime),
    mail: joined(a.mail.floats, b.mail.floats),
    mailTime: joined(a.mailTime, b.mailTime),
    mailEvents: joined(a.mailEvents, b.mailEvents),
    count: joined(a.mailCount, b.mailCount),
    mailFeatures: joined(features(a), features(b)),
  };
}

function joined<T extends TypedArray>(a: T, b: T): T {
  const all = new (a.constructor as new (length: number) => T)(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}
