/** The six model files as models: they run, learn, keep their promises about state and rows. */

import { readFileSync } from 'node:fs';
import { bceWithLogits } from 'skein/nn';
import { TemporalHop } from 'skein/sample';
import { GeneralModel, type TemporalBatch, type TemporalConfig } from 'skein/temporal';
import { add, backward, fromTypedArray, ones, type Tensor, zeros } from 'skein/tensor';
import { ConfigError, Random } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseTemporalConfig } from '#internal/temporal/config/parse.js';
import { NodeClassifier } from '#internal/temporal/models/node-classifier.js';
import { expectFiniteDifferences } from '../nn/golden.js';
import { smallBatch } from './small-batch.js';

const names = ['tgn', 'tgat', 'jodie', 'apan', 'dyrep', 'dysat'] as const;
type Name = (typeof names)[number];
type Changes = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A model file, narrower and without dropout, with some keys changed. */
function configOf(name: Name, changes: Changes = {}): TemporalConfig {
  const text = readFileSync(new URL(`../../examples/temporal/${name}.yml`, import.meta.url), 'utf8');
  const document: Record<string, Record<string, unknown>[]> = parse(text);
  const narrow = (key: string): Record<string, unknown> =>
    Object.fromEntries(
      ['dim_out', 'dim_time']
        .filter((k) => Number(document[key][0][k]) > 0)
        .map((k) => [k, k === 'dim_out' ? 8 : 6]),
    );
  const small: Changes = {
    sampling: name === 'dysat' ? { duration: 12 } : {},
    memory: narrow('memory'),
    gnn: narrow('gnn'),
    train: { dropout: 0, att_dropout: 0 },
  };
  const merged = Object.fromEntries(
    Object.entries(document).map(([key, [section]]) => [key, { ...section, ...small[key], ...changes[key] }]),
  );
  return parseTemporalConfig(merged).config;
}

const dimEdge = 5;

function build(config: TemporalConfig, dimNode = 0, dtype: 'f32' | 'f64' = 'f32'): GeneralModel {
  return new GeneralModel(config, { dimEdge, dimNode, dtype, random: new Random(3) });
}

function lossOf(model: GeneralModel, batch: TemporalBatch): Tensor {
  const { positive, negative } = model.score(model.forward(batch), batch);
  const dtype = positive.dtype;
  return add(
    bceWithLogits(positive, ones(positive.shape, { dtype })),
    bceWithLogits(negative, zeros(negative.shape, { dtype })),
  );
}

/** Parameters that a loss on scores never reaches. */
function unreached(name: Name, parameter: string): boolean {
  // DyRep's attention, and what it starts from, only write mails.
  if (name === 'dyrep') return parameter.startsWith('attention') || parameter.includes('nodeMap');
  // Without node features and time the first query is a bias that starts at 0: keys follow after one step.
  if (name === 'dysat' && /^attention.\d.0.key$/.test(parameter)) return true;
  // Where nodes have no width, the weights on them are empty.
  return parameter.endsWith('.queryNode') || parameter.endsWith('.own');
}

describe('each model file', () => {
  test.each(names)(
    '%s: runs forward and backward, every parameter that takes part gets a gradient',
    (name) => {
      const config = configOf(name);
      const model = build(config);
      const batch = smallBatch({ config, dimEdge });
      const output = model.forward(batch);
      expect(output.embeddings.shape).toEqual([batch.rootNodes.length, 8]);
      backward(lossOf(model, batch));
      for (const [parameter, p] of model.namedParameters()) {
        const moved = p.grad?.dataSync().some((v) => v !== 0) ?? false;
        if (p.size > 0 && !(unreached(name, parameter) && !moved)) expect(moved, parameter).toBe(true);
        if (moved) expect(p.grad?.dataSync().every(Number.isFinite), parameter).toBe(true);
      }
    },
  );

  test.each(names)('%s: gradients by differences, with node features', (name) => {
    const config = configOf(name, {
      memory: name === 'tgat' || name === 'dysat' ? {} : { combine_node_feature: true },
    });
    const model = build(config, 3, 'f64');
    const batch = smallBatch({ config, dimEdge, dimNode: 3, dtype: 'f64' });
    const wanted =
      /updater.input.weightTime|nodeMap.bias|norm.weight|queryBias|jodieTime|combiner.biasIh|predictor.out/;
    const leaves = Object.fromEntries(
      [...model.namedParameters()].filter(([key]) => wanted.test(key) && !unreached(name, key)),
    );
    expectFiniteDifferences(() => model.forward(batch).embeddings, without(leaves, /predictor/));
    expectFiniteDifferences(
      () => model.score(model.forward(batch), batch).negative,
      without(leaves, /nothing/),
    );
  });

  test.each(names)('%s: fromYaml builds the same', (name) => {
    const text = readFileSync(new URL(`../../examples/temporal/${name}.yml`, import.meta.url), 'utf8');
    const model = GeneralModel.fromYaml(text, { dimEdge: 172 });
    expect(model.dimOut).toBe(100);
    expect(model.parameterCount()).toBeGreaterThan(10_000);
  });

  test.each<[string, unknown, string]>([
    ['broken YAML', 'gnn: [1', 'expected YAML, got an error: '],
    ['an empty text', '# nothing\n', 'got an empty text'],
    ['no text', 3, 'the text of a model file for text, got 3'],
    ['a list', '- 1', 'expected a map of sampling'],
  ])('fromYaml refuses %s', (_, text, message) => {
    const read = () => GeneralModel.fromYaml(text as string);
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(message);
  });
});

function without(leaves: Readonly<Record<string, Tensor>>, out: RegExp): Record<string, Tensor> {
  return Object.fromEntries(Object.entries(leaves).filter(([key]) => !out.test(key)));
}

describe('state', () => {
  test.each(['mail', 'query'] as const)(
    'stateOf gives the updated memory of roots, time_input %s',
    (time_input) => {
      const config = configOf('tgn', { memory: { time_input } });
      const batch = smallBatch({ config, dimEdge, empty: 0.3 });
      const model = build(config).eval();
      const output = model.forward(batch);
      const roots = Int32Array.from([...batch.srcRoots, ...batch.dstRoots]);
      const state = output.stateOf(roots);
      const times = output.timeOf(roots);
      expect(state.shape).toEqual([roots.length, 8]);
      expect(state.requiresGrad).toBe(false);
      roots.forEach((root, i) => {
        const at = batch.nodeOfRow[0][root];
        const row = time_input === 'mail' ? at : root;
        expect(rowOf(state, i)).toEqual(rowOf(output.updated as Tensor, row));
        const kept = batch.state?.mailCount[at] === 0;
        if (kept) expect(rowOf(state, i)).toEqual(rowOf(batch.state?.memory as Tensor, at));
        const asked = time_input === 'mail' ? batch.state?.mailTime[at] : batch.rootTimes[root];
        expect(times[i]).toBe(kept ? batch.state?.memoryTime[at] : asked);
      });
    },
  );

  test('identity models update the nodes of roots only, and stateOf still finds them', () => {
    const config = configOf('apan');
    const batch = smallBatch({ config, dimEdge });
    const output = build(config).eval().forward(batch);
    expect(output.updated?.shape[0]).toBe(new Set(batch.rootNodes).size);
    const same = Int32Array.from(batch.rootNodes.keys()).filter(
      (i) => batch.rootNodes[i] === batch.rootNodes[0],
    );
    for (const i of same)
      expect(output.stateOf(same.subarray(0, 1)).toArray()).toEqual(
        output.stateOf(Int32Array.of(i)).toArray(),
      );
  });

  test('embeddings for mails come outside the tape; without memory there is no state', () => {
    const dyrep = configOf('dyrep');
    const output = build(dyrep).forward(smallBatch({ config: dyrep, dimEdge }));
    expect(output.mailEmbeddings?.requiresGrad).toBe(false);
    expect(output.mailEmbeddings?.shape).toEqual(output.embeddings.shape);
    expect(output.embeddings.dataSync()).toEqual(
      output.stateOf(Int32Array.from(output.embeddings.toArray() as number[][], (_, i) => i)).dataSync(),
    );
    const tgat = configOf('tgat');
    const none = build(tgat).forward(smallBatch({ config: tgat, dimEdge }));
    expect(none.updated).toBeNull();
    expect(() => none.stateOf(Int32Array.of(0))).toThrow(/memory.type none/);
  });

  test('a batch without state, features or the right hops is rejected with an error that names them', () => {
    const config = configOf('tgn');
    const model = build(config);
    const batch = smallBatch({ config, dimEdge });
    expect(() => model.forward({ ...batch, state: null })).toThrow(/Give the loader a mailbox/);
    expect(() => model.forward({ ...batch, edgeFeatures: null })).toThrow(/edgeFeatures/);
    expect(() => model.forward({ ...batch, hops: [] })).toThrow(/expected 1 hops/);
    const withNodes = build(config, 3);
    expect(() => withNodes.forward(batch)).toThrow(/dimNode 0/);
  });
});

describe('rows', () => {
  test.each(['mail', 'query'] as const)(
    'equal (node, time) roots have equal embeddings, time_input %s',
    (time_input) => {
      const config = configOf('tgn', { memory: { time_input } });
      const batch = smallBatch({ config, dimEdge, negatives: 6 });
      const { embeddings } = build(config).eval().forward(batch);
      let pairs = 0;
      for (let i = 0; i < batch.rootNodes.length; i++) {
        for (let j = 0; j < i; j++) {
          if (batch.rootNodes[i] !== batch.rootNodes[j] || batch.rootTimes[i] !== batch.rootTimes[j])
            continue;
          expect(rowOf(embeddings, i)).toEqual(rowOf(embeddings, j));
          pairs += 1;
        }
      }
      expect(pairs).toBeGreaterThan(0);
    },
  );

  test('check 8: a root without past keeps the path of its own memory', () => {
    const config = configOf('tgn');
    const batch = smallBatch({ config, dimEdge });
    const hop = batch.hops[0];
    const bare = new TemporalHop({
      ...arraysOf(hop),
      indptr: new Int32Array(hop.numDst + 1),
      sources: new Int32Array(0),
      eventRows: new Int32Array(0),
      spans: new Float32Array(0),
    });
    const model = build(config).eval();
    const alone = model.forward({ ...batch, hops: [bare], snapshots: [[bare]] }).embeddings;
    expect(alone.dataSync().every(Number.isFinite)).toBe(true);
    const rows = Array.from(batch.rootNodes, (_, i) => rowOf(alone, i).join());
    expect(new Set(rows).size).toBe(new Set(batch.rootNodes).size);
  });

  test('several negatives are scored as single ones are', () => {
    const config = configOf('tgn');
    const batch = smallBatch({ config, dimEdge, negatives: 3 });
    const model = build(config, 0, 'f64').eval();
    const wide = smallBatch({ config, dimEdge, negatives: 3, dtype: 'f64' });
    const output = model.forward(wide);
    const { positive, negative } = model.score(output, wide);
    expect([positive.shape, negative.shape]).toEqual([[8], [24]]);
    const sources = Int32Array.from(batch.negRoots, (_, i) => batch.srcRoots[Math.floor(i / 3)]);
    const single = model.predictor.pairs(output.embeddings, sources, wide.negRoots).dataSync();
    negative.dataSync().forEach((v, i) => {
      expect(v).toBeCloseTo(single[i], 12);
    });
  });

  test("attention of TGN's form builds and differs", () => {
    const config = configOf('tgn', { gnn: { variant: 'tgn' } });
    const batch = smallBatch({ config, dimEdge });
    const model = build(config);
    backward(lossOf(model, batch));
    expect(model.attention[0][0].variant).toBe('tgn');
    expect(model.predictor.src.weight.grad).not.toBeNull();
  });
});

test('the head for labels gives logits of embeddings', () => {
  const head = new NodeClassifier(8, { numClasses: 3, dimHidden: 5 });
  expect(head.forward(fromTypedArray(new Float32Array(32), [4, 8])).shape).toEqual([4, 3]);
});

function rowOf(x: Tensor, i: number): number[] {
  const width = x.shape[1];
  return Array.from(x.dataSync().subarray(i * width, (i + 1) * width));
}

function arraysOf(hop: TemporalHop) {
  const { dstNodes, dstTimes, srcNodes, srcTimes } = hop;
  return { dstNodes, dstTimes, srcNodes, srcTimes };
}
