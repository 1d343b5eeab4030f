import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readRecords } from './delimited.js';
import { findTextLayout, type TextOptions } from './text-layout.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-comments-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function read(text: string, options: TextOptions = {}) {
  const path = join(folder, 't.txt');
  writeFileSync(path, text);
  const notes: string[] = [];
  const layout = await findTextLayout(path, { ...options, onNote: (note) => notes.push(note) });
  const rows: string[] = [];
  if (layout !== null)
    for await (const block of readRecords(layout))
      for (let row = 0; row < block.rows; row++) rows.push(block.fields(row).join(' '));
  const said = notes.find((note) => note.includes('starting with'))?.replace(/^.*at the top: /, '') ?? '';
  return { header: layout?.header ?? null, rows, said };
}

describe('what starts with # is data', () => {
  test.each([
    ['below a header', 'source,target\n#a,#b\nc,#a\n#b,c\n', ['#a #b', 'c #a', '#b c']],
    ['above the first plain line', '#a,#b\nc,#a\n#b,c\n', ['#a #b', 'c #a', '#b c']],
    ['in every line', '#cats\t#dogs\n#dogs\t#mice\n', ['#cats #dogs', '#dogs #mice']],
    ['between blanks, where others do too', '#a #b\nc #a\n', ['#a #b', 'c #a']],
    ['in a list', '#cats\n#dogs\nmice\n', ['#cats', '#dogs', 'mice']],
  ])('%s', async (_, text, rows) => {
    expect((await read(text)).rows).toEqual(rows);
  });

  test('and both numbers of lines are said', async () => {
    const { rows, said } = await read('# made by hand\n#a,#b\nc,#a\n');
    expect([rows.length, said]).toEqual([2, '1 line skipped as comments, 1 line read as data']);
  });

  test('in more lines than are looked at', async () => {
    const { rows } = await read(Array.from({ length: 3000 }, (_, i) => `#a${i},#b${i}\n`).join(''));
    expect([rows.length, rows[0]]).toEqual([3000, '#a0 #b0']);
  });
});

describe('what starts with # is a comment', () => {
  test.each([
    ['the head of a SNAP file', '# Nodes: 4 Edges: 2\n# FromNodeId\tToNodeId\n0\t1\n2\t3\n', 2],
    ['with names for nodes', '# FromNodeId\tToNodeId\na\tb\nb\tc\n', 1],
    ['names of columns without a blank', '#source,target\na,b\nb,c\n', 1],
    ['a line that was taken out of numbers', '#0,1\n2,3\n4,5\n', 1],
    ['another number of columns', '#made by hand\na,b\nb,c\n', 1],
    ['a word and a number between blanks', '#created 2020\na b\nb c\n', 1],
    ['two signs', '##a,b\na,b\nb,c\n', 1],
  ])('%s', async (_, text, skipped) => {
    const { rows, said } = await read(text);
    expect([rows.length, said]).toEqual([2, `${skipped} line${skipped > 1 ? 's' : ''} skipped as comments`]);
  });

  test('above a header, whatever its columns', async () => {
    const { header, rows } = await read('#a,b\nsource,target\nc,d\n');
    expect([header, rows]).toEqual([['source', 'target'], ['c d']]);
  });

  test('after another sign that was asked for, and nothing after none', async () => {
    expect((await read('%a,b\nc,d\n', { comment: '%' })).rows).toEqual(['c d']);
    expect((await read('# a,b\nc,d\n', { comment: '' })).rows).toEqual(['# a b', 'c d']);
  });
});
