import { describe, expect, it } from 'vitest';
import { chooseLinkSettings } from './link-settings.js';
import { chooseNodeSettings } from './node-settings.js';
import { chooseRecommenderSettings } from './recommender-template.js';

describe('chooseLinkSettings', () => {
  it.each([
    // name, nodes, relations, training edges; width, epochs, batch size, penalty, weight of relation prediction, rate
    ['umls', [135, 46, 5216], [128, 100, 100, 0.02, 0.125, 0.1]],
    ['nations', [14, 55, 1592], [128, 100, 100, 0.02, 0.125, 0.1]],
    ['fb15k-237', [14_541, 237, 272_115], [512, 30, 1000, 0.05, 1, 0.1]],
    ['wn18rr', [40_943, 11, 86_835], [256, 35, 500, 0.1, 0.125, 0.3]],
    ['codex-s', [2034, 42, 32_888], [512, 40, 500, 0.01, 0.125, 0.1]],
  ])(
    'follows the size of %s',
    (_name, [nodes, relations, train], [width, epochs, batch, penalty, weight, rate]) => {
      const facts = { num_nodes: nodes, num_relations: relations, num_train: train, has_relations: true };
      expect(chooseLinkSettings(facts)).toMatchObject({
        ...{ against: 'ALL', decoder: 'COMPLEX', width, batchSize: batch },
        ...{ epochs, penalty, relationWeight: weight, learningRate: rate },
      });
    },
  );

  it('samples negatives where all nodes are too many', () => {
    const facts = { num_nodes: 123_182, num_relations: 37, num_train: 1_079_040 };
    expect(chooseLinkSettings(facts)).toMatchObject({ against: 'SAMPLED', negatives: 1000, width: 128 });
  });

  it('has wider rows for more time, and narrower ones for less', () => {
    const facts = { num_nodes: 14_541, num_relations: 237, num_train: 272_115 };
    const widths = [60, 1800, 3600, 4 * 3600].map((seconds) => chooseLinkSettings(facts, seconds).width);
    expect(widths).toEqual([64, 512, 1000, 2000]);
  });

  it('compares nodes directly where edges have no relation', () => {
    const facts = { num_nodes: 1000, num_relations: 1, num_train: 5000, has_relations: false };
    expect(chooseLinkSettings(facts)).toMatchObject({ decoder: 'DOT', relationWeight: 0 });
  });
});

describe('chooseRecommenderSettings', () => {
  it('takes all neighbours of small graphs and samples those of large ones', () => {
    const facts = (edges: number) => ({ num_nodes: 3000, num_relations: 1, num_train: edges });
    expect(chooseRecommenderSettings(facts(600))).toMatchObject({
      neighbors: -1,
      batchSize: 100,
      numChunks: 2,
    });
    expect(chooseRecommenderSettings(facts(38_490))).toMatchObject({
      neighbors: -1,
      batchSize: 3850,
      numChunks: 49,
    });
    expect(chooseRecommenderSettings(facts(20_000_000))).toMatchObject({ neighbors: 20, batchSize: 20_000 });
  });
});

describe('chooseNodeSettings', () => {
  it('computes small graphs whole and samples large ones', () => {
    const cora = {
      num_nodes: 2708,
      num_edges: 10_556,
      num_relations: 1,
      num_train: 140,
      node_feature_dim: 1433,
    };
    expect(chooseNodeSettings(cora)).toMatchObject({ fullBatch: true, dropout: 0.5 });
    const products = { num_nodes: 2_449_029, num_edges: 123_718_280, num_relations: 1, num_train: 196_615 };
    expect(chooseNodeSettings(products)).toMatchObject({ fullBatch: false, batchSize: 1000 });
  });
});
