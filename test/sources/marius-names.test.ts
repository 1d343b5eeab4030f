/** Every class of Marius's document is in skein/marius, and no class name means two things in Skein's own entry points. */
import * as skein from 'skein';
import * as marius from 'skein/marius';
import * as sample from 'skein/sample';
import * as train from 'skein/train';
import { expect, test } from 'vitest';

/** Classes and functions that the document's text and programs name. */
const named = [
  ...[
    'Trainer',
    'SynchronousTrainer',
    'Evaluator',
    'SynchronousEvaluator',
    'Model',
    'NodeClassificationModel',
  ],
  ...[
    'LinkPredictionModel',
    'Featurizer',
    'Encoder',
    'Decoder',
    'RelationOperator',
    'Comparator',
    'LossFunction',
  ],
  ...['Regularizer', 'Reporter', 'ProgressReporter', 'LinkPredictionReporter', 'NodeClassificationReporter'],
  ...[
    'GraphBatcher',
    'Batch',
    'EdgeSampler',
    'RandomEdgeSampler',
    'NegativeSampler',
    'RandomNegativeSampler',
  ],
  ...[
    'NeighborSampler',
    'kHopNeighborSampler',
    'NodeSampler',
    'GraphModelStorage',
    'MariusGraph',
    'GNNGraph',
  ],
  ...['parseConfig', 'initializeModel', 'initializeStorage'],
];

test.each(named)('%s is exported', (name) => {
  expect(typeof (marius as Record<string, unknown>)[name]).toBe('function');
});

test('skein, skein/train and skein/sample have one thing under one name', () => {
  const meanings = new Map<string, unknown>();
  const twice: string[] = [];
  for (const entry of [skein, train, sample])
    for (const [name, value] of Object.entries(entry)) {
      if (meanings.has(name) && meanings.get(name) !== value) twice.push(name);
      meanings.set(name, value);
    }
  expect(twice).toEqual([]);
});

test('names of the document that differ from ours are in skein/marius alone, but for the samplers and batches of skein/sample', () => {
  const differs = (entry: object) =>
    Object.entries(marius).flatMap(([name, value]) => {
      const ours = (entry as Record<string, unknown>)[name];
      return ours === undefined || ours === value ? [] : [name];
    });
  expect(differs(train)).toEqual([]);
  expect(differs(sample).toSorted()).toEqual(['Batch', 'EdgeSampler', 'NegativeSampler', 'NeighborSampler']);
});
