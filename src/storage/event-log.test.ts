/** The event log: order, group commit, segments, torn tails at every byte, damage, the lock. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EventLog, type EventLogOptions } from './event-log.js';
import { encodeRecord, encodeSegmentHeader } from './log-records.js';

const folders: string[] = [];
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  folders.push(mkdtempSync(join(tmpdir(), 'skein-log-')));
  return folders[folders.length - 1];
}

async function readAll(log: EventLog, after = 0): Promise<string[]> {
  const found: string[] = [];
  for await (const { sequence, content } of log.records(after))
    found.push(`${sequence}:${new TextDecoder().decode(content)}`);
  return found;
}

/** Writes records and returns the path of the only segment. */
async function logOf(
  folder: string,
  texts: readonly string[],
  options: EventLogOptions = {},
): Promise<string> {
  const log = await EventLog.open(folder, { groupMilliseconds: 0, ...options });
  for (const text of texts) await log.append(encode(text));
  await log.close();
  return join(folder, segmentsOf(folder)[0]);
}

const segmentsOf = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.wal'))
    .sort();

describe('EventLog', () => {
  test('numbers records from 1 and continues after it was closed', async () => {
    const folder = newFolder();
    await logOf(folder, ['a', 'b']);
    const log = await EventLog.open(folder);
    expect(log.last).toBe(2);
    expect(log.torn).toBeNull();
    expect(await log.append(encode('c'))).toBe(3);
    expect(await readAll(log)).toEqual(['1:a', '2:b', '3:c']);
    expect(await readAll(log, 2)).toEqual(['3:c']);
    await log.close();
    await expect(log.append(encode('d'))).rejects.toThrow('closed');
  });

  test('appends that wait share one fsync', async () => {
    const log = await EventLog.open(newFolder(), { groupMilliseconds: 20, groupWeight: 1000 });
    const all = Array.from({ length: 300 }, (_, i) => log.append(encode(`r${i}`)));
    expect(log.unwritten).toBe(300);
    expect(await Promise.all(all)).toEqual(all.map((_, i) => i + 1));
    expect(log.fsyncLatency().count).toBe(1);
    expect(log.unwritten).toBe(0);
    // The weight starts a write before the time is over.
    const started = performance.now();
    const slow = log.append(encode('x'), 999);
    await Promise.all([slow, log.append(encode('y'), 1)]);
    expect(performance.now() - started).toBeLessThan(15 + 1000);
    await log.close();
  });

  test('begins new segments and removes old ones', async () => {
    const folder = newFolder();
    await logOf(
      folder,
      Array.from({ length: 20 }, (_, i) => `record ${i}`),
      { segmentBytes: 100 },
    );
    const before = segmentsOf(folder).length;
    expect(before).toBeGreaterThan(4);
    const log = await EventLog.open(folder);
    expect(await readAll(log, 7)).toHaveLength(13);
    await log.removeUpTo(10);
    expect(segmentsOf(folder).length).toBeLessThan(before);
    expect(await readAll(log, 10)).toHaveLength(10);
    // Records that were removed are missed.
    await expect(readAll(log, 0)).rejects.toThrow(/expected record 1 .* Restore the missing file/);
    await log.close();
  });

  test('a log that ends before a record that was on the disk is damaged, and stays as it is', async () => {
    const folder = newFolder();
    const path = await logOf(folder, ['first', 'second', 'third']);
    truncateSync(path, readFileSync(path).length - 3);
    const bytes = readFileSync(path);
    await expect(EventLog.open(folder, { durable: 3 })).rejects.toThrow(
      /expected record 3.*got records up to 2/,
    );
    expect(readFileSync(path)).toEqual(bytes);
    rmSync(path);
    await expect(EventLog.open(folder, { durable: 3 })).rejects.toThrow(/expected record 3.*got none/);
    await (await EventLog.open(folder)).close();
  });

  test('cuts a tail that was torn at any byte of the last record, and reports it', async () => {
    const source = newFolder();
    const bytes = readFileSync(await logOf(source, ['first', 'second', 'third']));
    const last = 24 + 'third'.length;
    for (let cut = 1; cut < last; cut++) {
      const folder = newFolder();
      writeFileSync(join(folder, 'log-0000000000000001.wal'), bytes.subarray(0, bytes.length - cut));
      const log = await EventLog.open(folder, { groupMilliseconds: 0 });
      expect(log.torn).toContain(`at byte ${bytes.length - last}`);
      expect(log.last).toBe(2);
      await log.append(encode('again'));
      expect(await readAll(log)).toEqual(['1:first', '2:second', '3:again']);
      await log.close();
    }
  });

  test('cuts a changed last record, zeros, and a header without records', async () => {
    const source = newFolder();
    const bytes = readFileSync(await logOf(source, ['first', 'second']));
    const changed = Buffer.from(bytes);
    changed[changed.length - 1] ^= 1;
    const padded = Buffer.concat([bytes, Buffer.alloc(100)]);
    const cases: [Buffer, string[]][] = [
      [changed, ['1:first']],
      [padded, ['1:first', '2:second']],
      [Buffer.alloc(0), []],
      [Buffer.alloc(40), []],
      [Buffer.from(encodeSegmentHeader(1)).subarray(0, 9), []],
    ];
    for (const [content, expected] of cases) {
      const folder = newFolder();
      writeFileSync(join(folder, 'log-0000000000000001.wal'), content);
      const log = await EventLog.open(folder, { groupMilliseconds: 0 });
      expect(log.torn).not.toBeNull();
      expect(await readAll(log)).toEqual(expected);
      expect(await log.append(encode('next'))).toBe(expected.length + 1);
      await log.close();
      const again = await EventLog.open(folder);
      expect(again.torn).toBeNull();
      expect(await readAll(again)).toHaveLength(expected.length + 1);
      await again.close();
    }
  });

  test('damage before an acknowledged record is an error with file and offset, at every byte', async () => {
    const source = newFolder();
    const bytes = readFileSync(await logOf(source, ['first', 'second', 'third']));
    const end = bytes.length - 24 - 'third'.length;
    for (let at = 0; at < end; at++) {
      const folder = newFolder();
      const path = join(folder, 'log-0000000000000001.wal');
      const changed = Buffer.from(bytes);
      changed[at] ^= 0x40;
      writeFileSync(path, changed);
      // The record of the damaged byte is named.
      const offset = at < 16 ? 0 : at < 16 + 29 ? 16 : 16 + 29;
      await expect(EventLog.open(folder)).rejects.toThrow(new RegExp(`at byte ${offset} of ${path}`));
      expect(readFileSync(path)).toEqual(changed);
    }
  });

  test('a damaged header with a single record after it is an error, not an empty log', async () => {
    const source = newFolder();
    const bytes = readFileSync(await logOf(source, ['only']));
    for (const at of [0, 8, 15]) {
      const folder = newFolder();
      const path = join(folder, 'log-0000000000000001.wal');
      const changed = Buffer.from(bytes);
      changed[at] ^= 0x40;
      // The record itself may be torn as well.
      for (const content of [changed, changed.subarray(0, 17)]) {
        writeFileSync(path, content);
        await expect(EventLog.open(folder)).rejects.toThrow(new RegExp(`at byte 0 of ${path}`));
        expect(readFileSync(path)).toEqual(content);
      }
    }
  });

  test('a hole in a write that was never acknowledged is a torn tail', async () => {
    const folder = newFolder();
    const parts = [1, 2, 3].map((sequence) => encodeRecord(sequence, 0, encode(`r${sequence}`)));
    parts[1].fill(0);
    writeFileSync(
      join(folder, 'log-0000000000000001.wal'),
      Buffer.concat([encodeSegmentHeader(1), ...parts]),
    );
    const log = await EventLog.open(folder);
    expect(log.last).toBe(1);
    expect(log.torn).toContain('incomplete write');
    await log.close();
  });

  test('a segment before the last must be complete', async () => {
    const folder = newFolder();
    await logOf(folder, ['a', 'b', 'c', 'd'], { segmentBytes: 60 });
    const [first] = segmentsOf(folder);
    const path = join(folder, first);
    truncateSync(path, readFileSync(path).length - 1);
    const log = await EventLog.open(folder);
    await expect(readAll(log)).rejects.toThrow(path);
    await log.close();
  });

  test('one process at a time; a failed open releases the lock', async () => {
    const folder = newFolder();
    const log = await EventLog.open(folder);
    await expect(EventLog.open(folder)).rejects.toThrow(`process ${process.pid} has open`);
    await log.close();
    const again = await EventLog.open(folder);
    await again.close();
    await expect(EventLog.open(folder, { groupWeight: 0 })).rejects.toThrow('groupWeight');
  });
});
