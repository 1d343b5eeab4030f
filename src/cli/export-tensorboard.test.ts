/** Event files of TensorBoard: framing and checksums, tags, steps and values. */
import { expect, it } from 'vitest';
import { crc32c } from '../util/crc32c.js';
import { eventFile } from './export-tensorboard.js';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

it('has the checksum of RFC 3720, appendix B.4', () => {
  expect(crc32c(bytesOf('123456789'))).toBe(0xe3069283);
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
  expect(crc32c(new Uint8Array(32).fill(255))).toBe(0x62a8ab43);
});

/** Takes records apart; throws for one whose checksums are wrong. */
function records(file: Uint8Array): Uint8Array[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const check = (stored: number, data: Uint8Array): void => {
    const rotated = (stored - 0xa282ead8) >>> 0;
    expect(((rotated >>> 17) | (rotated << 15)) >>> 0).toBe(crc32c(data));
  };
  const found: Uint8Array[] = [];
  for (let at = 0; at < file.length; ) {
    const length = Number(view.getBigUint64(at, true));
    check(view.getUint32(at + 8, true), file.subarray(at, at + 8));
    const data = file.subarray(at + 12, at + 12 + length);
    check(view.getUint32(at + 12 + length, true), data);
    found.push(data);
    at += 16 + length;
  }
  return found;
}

it('writes a version, then one event for each record with numbers', () => {
  const time = '2026-01-01T00:00:00.000Z';
  const file = eventFile([
    { time, event: 'epoch', epoch: 3, loss: 0.5, stages: { forward: 1 } },
    { time, event: 'baseline', set: 'test', mrr: 0.1 },
    { time, event: 'eval', set: 'validation', epoch: 3, mrr: 0.25, seconds: 2 },
  ]);
  const [version, loss, validation, ...others] = records(file).map((data) => Buffer.from(data));
  expect(others).toEqual([]);
  expect(version.includes('brain.Event:2')).toBe(true);
  expect(loss.includes('train/loss')).toBe(true);
  // Step 3 is field 2, a varint; .5 is field 2 of the value, a float.
  expect(loss.includes(Buffer.from([0x10, 3]))).toBe(true);
  expect(loss.includes(Buffer.from([0x15, 0, 0, 0, 0x3f]))).toBe(true);
  expect(loss.readDoubleLE(1)).toBe(Date.parse(time) / 1000);
  expect(validation.includes('validation/mrr')).toBe(true);
  expect(validation.includes('seconds')).toBe(false);
});
