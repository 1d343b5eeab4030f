/** Node ids of files: from ids to numbers and back, for every format. */
import { readTemporal } from 'skein/data';
import { ValueError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { streamNames } from '#internal/data/temporal/event-nodes.js';
import { makeFile } from './event-file-fixtures.js';

describe('nodes of event files', () => {
  test('ids from 1 are spoken of as the file does', async () => {
    const { nodes } = await readTemporal(makeFile('a.txt', '1 2 5\n3 1 6\n'));
    expect(nodes).toMatchObject({ kind: 'shifted', size: 3 });
    expect([nodes.idOf('1'), nodes.idOf(3), nodes.idOf(' 2 ')]).toEqual([0, 2, 1]);
    for (const raw of ['0', 4, '1.5', 1.5, 'x', '', '-1']) expect(nodes.idOf(raw)).toBeUndefined();
    expect([nodes.nameOf(0), nodes.nameOf(2)]).toEqual(['1', '3']);
    expect(nodes.sideOf(0)).toBeNull();
    expect(() => nodes.nameOf(3)).toThrow(ValueError);
    const tgn = await readTemporal(
      makeFile('ml_d.csv', ',u,i,ts,label,idx\n0,1,3,0.0,0.0,1\n1,2,3,4.5,1.0,2\n'),
    );
    expect([tgn.nodes.idOf(3), tgn.nodes.nameOf(0)]).toEqual([2, '1']);
  });

  test('ids from 0 are the numbers', async () => {
    const { nodes } = await readTemporal(makeFile('a.txt', '0 2 5\n1 0 6\n'), { numNodes: 9 });
    expect(nodes).toMatchObject({ kind: 'same', size: 9 });
    expect([nodes.idOf('0'), nodes.idOf(8), nodes.idOf(9), nodes.nameOf(8)]).toEqual([0, 8, undefined, '8']);
  });

  test('ids with gaps', async () => {
    const { nodes } = await readTemporal(makeFile('q.txt', '9 4 1\n4 7 2\n9 2000000000 3\n'), {
      numNodes: 5,
    });
    expect(nodes).toMatchObject({ kind: 'ids', size: 5 });
    expect([9, 4, 7, 2e9, 5, 2e9 + 1, 0].map((raw) => nodes.idOf(raw))).toEqual([
      ...[0, 1, 2, 3, undefined, undefined, undefined],
    ]);
    expect([0, 1, 2, 3, 4].map((id) => nodes.nameOf(id))).toEqual(['9', '4', '7', '2000000000', '#4']);
  });

  test('users and items of JODIE have ids of their own, also with gaps', async () => {
    const header = 'user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n';
    const data = await readTemporal(makeFile('j.csv', `${header}0,5000,1,0\n1,0,2,0\n0,0,3,0\n`));
    const { nodes, numNodes, events } = data;
    expect(numNodes).toBe(4);
    expect(Array.from(events.dst)).toEqual([2, 3, 3]);
    expect(nodes.kind).toBe('sides');
    expect([nodes.idOf(0, 'src'), nodes.idOf(0, 'dst'), nodes.idOf('5000', 'dst')]).toEqual([0, 3, 2]);
    expect([nodes.idOf(0), nodes.idOf(5000, 'src'), nodes.idOf(1, 'dst')]).toEqual(Array(3).fill(undefined));
    expect([0, 1, 2, 3].map((id) => `${nodes.sideOf(id)} ${nodes.nameOf(id)}`)).toEqual([
      ...['src 0', 'src 1', 'dst 5000', 'dst 0'],
    ]);
    const names = streamNames(data);
    expect([names.nameOf(1), names.nameOf(2), names.idOf('dst:0')]).toEqual(['src:1', 'dst:5000', 3]);
    expect([names.idOf('0'), names.idOf('src:5000')]).toEqual([undefined, undefined]);
  });
});
