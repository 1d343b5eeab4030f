/** Sentences about what is unusual in a graph. */
import { expect, it } from 'vitest';
import { type GraphFacts, notes } from './graph-facts.js';

const plain: Omit<GraphFacts, 'notes'> = {
  ...{ nodes: 100, edges: { train: 500 }, nodeSplits: null, features: 0, unlabelled: 0 },
  ...{ components: { count: 1, largest: 100, isolated: 0 }, selfLoops: 0, duplicates: 0, unseen: 0 },
  ...{ degrees: [], hubs: [], relations: [], types: [], classes: [], columns: [] },
};

it('says nothing about a graph without peculiarities', () => {
  expect(notes(plain)).toEqual([]);
});

it('speaks of copies in the test split only where edges are split', () => {
  expect(notes({ ...plain, duplicates: 5 })).toEqual(['5 edges occur more than once (1.0 %).']);
  expect(notes({ ...plain, duplicates: 5, edges: { train: 400, test: 100 } })[0]).toContain('test split');
});

it('names classes that few nodes have', () => {
  const classes = [
    { name: 'family', nodes: 100 },
    { name: 'student', nodes: 102 },
    { name: 'vip', nodes: 5 },
  ];
  expect(notes({ ...plain, classes })).toEqual([
    expect.stringContaining('class vip has 5 of 207 labelled nodes'),
  ]);
});
