/** Which columns share their ids, by their names: the table of docs/preprocessing.md. */
import { expect, test } from 'vitest';
import { nodeTypesOf, typeOfColumn } from './node-types.js';

test.each([
  ...[
    ['source', 'target'],
    ['src', 'dst'],
    ['from', 'to'],
    ['head', 'tail'],
    ['subject', 'object'],
    ['u', 'v'],
  ],
  ...[
    ['id1', 'id2'],
    ['node_1', 'node_2'],
    ['parent', 'child'],
    ['Sender', 'Receiver'],
    ['citing', 'cited'],
  ],
  ...[
    ['fromNodeId', 'toNodeId'],
    ['user1', 'user2'],
    ['source_user', 'target_user'],
    ['user', 'user_id'],
  ],
  ...[
    ['user', 'friend'],
    ['person', 'target'],
    ['a', 'b'],
    ['0', '1'],
    ['entity1', 'entity2'],
  ],
])('%s and %s share their ids', (source, target) => {
  expect(nodeTypesOf(source, target)).toBeNull();
});

test.each([
  ['user', 'item', 'user', 'item'],
  ['user_id', 'item_id', 'user', 'item'],
  ['userId', 'movieId', 'user', 'movie'],
  ['userid', 'itemid', 'user', 'item'],
  ['customer', 'product', 'customer', 'product'],
  ['Author', 'Paper', 'author', 'paper'],
  ['from_account', 'to_shop', 'account', 'shop'],
])('%s and %s are two types', (source, target, first, second) => {
  expect(nodeTypesOf(source, target)).toEqual([first, second]);
});

test('given types are used; without names there is one type', () => {
  expect(nodeTypesOf('user', 'item', ['node'])).toBeNull();
  expect(nodeTypesOf('source', 'target', ['user', 'item'])).toEqual(['user', 'item']);
  expect(nodeTypesOf(null, null, ['user', 'item'])).toEqual(['user', 'item']);
  expect(nodeTypesOf(null, 'item')).toBeNull();
});

test('columns of node files', () => {
  expect(
    ['user', 'user_id', 'Users', 'items', 'id', 'name'].map((column) =>
      typeOfColumn(column, ['user', 'item']),
    ),
  ).toEqual(['user', 'user', 'user', 'item', null, null]);
});
