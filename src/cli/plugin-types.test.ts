/**
 * Custom types of a graph's configuration: a decoder, a graph layer, a loss, an optimiser and a metric from a plugin are
 * trained, saved, reopened and evaluated; without the plugin, the error names the one that the run needs.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { edgeDecoder } from '../gnn/decoders/decoders.js';
import { HadamardOperator, LossFunction, registerDecoder, registerLoss } from '../gnn/index.js';
import { openModel } from '../predict/index.js';
import { registerOptimizer } from '../storage/index.js';
import { mul, sub, sum } from '../tensor/index.js';
import { loadConfig, loadPlugins, openRun, resolveConfig } from '../train/index.js';
import { readRecord } from '../train/run/run-record.js';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';
import { embedding, tinyFile, tinyGraphs, trainQuietly } from './testing/tiny-graphs.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-types-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

const printed = captureOutput();

/** The source of a plugin for each kind; `$` stands for the registered name. */
const modules = {
  decoder: `class Twice extends gnn.HadamardOperator { apply(rows, relations) { return tensor.mul(super.apply(rows, relations), 2); } }
    registerDecoder({ name: '$', operator: new Twice(), comparator: 'COSINE' });`,
  layer: `class Mean extends nn.Module {
      constructor(into, out, random, scale) { super(); this.lin = new nn.Linear(into, out, { bias: false, random }); this.scale = scale; }
      forward(graph, x) { return tensor.mul(this.lin.forward(graph.aggregate(x, { reduce: 'mean' })), this.scale); }
    }
    registerConvLayer({
      name: '$',
      settings: { scale: settings.number(1, 'factor of the output') },
      make: ({ scale }, { inFeatures, outFeatures, random }) => new Mean(inFeatures, outFeatures, random, scale),
      run: (layer, block, x) => layer.forward(block, x),
    });`,
  loss: `class Squares extends gnn.LossFunction {
      constructor(options) { super({ reduction: options.reduction }); this.gap = options.gap; }
      forward(positive, negative) {
        const wrong = tensor.sum(tensor.square(negative));
        return tensor.add(tensor.sum(tensor.square(tensor.sub(positive, this.gap))), wrong);
      }
    }
    registerLoss({ name: '$', settings: { gap: settings.number(1, 'what a right edge should score') }, make: (options) => new Squares(options) });`,
  optimizer: `class Rows extends storage.BaseRowOptimizer {
      type = '$';
      suffixes = [];
      update(_run, values, _states, ids, gradient, width) {
        for (const [i, id] of ids.entries())
          for (let j = 0; j < width; j++) values[id * width + j] -= this.learningRate * gradient[i * width + j];
      }
    }
    registerOptimizer({
      name: '$',
      settings: { decay: settings.number(0, 'weight decay') },
      dense: (params, { learning_rate, decay }) => new nn.SGD(params, { lr: learning_rate, weightDecay: decay }),
      rows: ({ learning_rate }) => new Rows(learning_rate),
    });`,
  metric: `class Worst extends metrics.RankingMetric { name = '$'; compute(ranks) { return Math.max(...ranks); } }
    registerMetric({ name: '$', task: 'LINK_PREDICTION', make: () => new Worst() });`,
} as const;
type Kind = keyof typeof modules;

function plugin(kind: Kind, name: string): string {
  const path = at(`${name}.mjs`);
  const names = 'registerConvLayer, registerDecoder, registerLoss, registerOptimizer, registerMetric';
  writeFileSync(
    path,
    `export default ({ ${names}, tensor, nn, gnn, storage, metrics, settings }) => {\n${modules[kind].replaceAll('$', name)}\n};\n`,
  );
  return path;
}

/** Forgets what a plugin registered, as another process would not know it. */
async function forget(module: string): Promise<void> {
  const text = readFileSync(module, 'utf8');
  writeFileSync(module, 'export default () => {};');
  await expect(loadPlugins([module])).rejects.toThrow(/registers none/);
  writeFileSync(module, text);
}

/** The key of a configuration that names each kind, and a file that does so. */
const uses: Readonly<Record<Kind, (name: string) => { readonly key: string; readonly file: object }>> = {
  decoder: (type) => ({ key: 'model.decoder.type', file: { model: { decoder: { type } } } }),
  layer: (type) => ({
    key: 'model.encoder.layers.options.type',
    file: {
      model: {
        encoder: {
          layers: [[embedding], [{ type: 'GNN', output_dim: 8, options: { type, scale: 2 } }]],
          train_neighbor_sampling: [{ type: 'ALL' }],
        },
      },
    },
  }),
  loss: (type) => ({ key: 'model.loss.type', file: { model: { loss: { type, options: { gap: 2 } } } } }),
  optimizer: (type) => ({
    key: 'model.dense_optimizer.type',
    file: {
      model: {
        dense_optimizer: { type, options: { learning_rate: 0.05, decay: 0.001 } },
        sparse_optimizer: { type, options: { learning_rate: 0.05 } },
      },
    },
  }),
  metric: (name) => ({ key: 'evaluation.metrics', file: { evaluation: { metrics: ['mrr', name] } } }),
};

async function written(
  kind: Kind,
  type: string,
  name = type,
): Promise<{ config: string; directory: string }> {
  const { links } = await tinyGraphs(folder);
  const [config, directory] = [at(`${name}.yaml`), at(`run-${name}`)];
  const all = tinyFile(links, directory);
  const { file } = uses[kind](type);
  for (const [section, keys] of Object.entries(file)) Object.assign(all[section], keys);
  writeFileSync(config, stringify(all));
  return { config, directory };
}

const lastEvent = (): Record<string, unknown> =>
  JSON.parse(printed.out.trim().split('\n').at(-1) as string) as Record<string, unknown>;

describe.each<[Kind, string, string]>([
  ['decoder', 'DOUBLED', 'DUOBLED'],
  ['layer', 'SCALED_MEAN', 'SCALED_MAEN'],
  ['loss', 'SQUARES', 'SQAURES'],
  ['optimizer', 'PLAIN_STEPS', 'PLAIN_STESP'],
  ['metric', 'worst_rank', 'wrost_rank'],
])('a %s of a module', (kind, name, misspelt) => {
  test('is trained, resumed, opened and evaluated with it, and without it an error names it', async () => {
    const module = plugin(kind, name);
    const { config, directory } = await written(kind, name);
    const { key } = uses[kind](name);
    expect(await run(['train', config, '--plugin', module, '--training.num_epochs=1'])).toBe(0);
    printed.out = '';
    const more = ['--training.resume_training=true', '--json'];
    expect(await run(['train', config, '--plugin', module, ...more])).toBe(0);
    const done = lastEvent();
    expect(done).toMatchObject({ event: 'done', epochs: 2 });
    const record = {
      path: module,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      words: [`${key} ${name}`],
    };
    expect((await readRecord(directory)).identity).toMatchObject({ plugins: [record] });
    expect(loadConfig(join(directory, 'full_config.yaml')).config.plugins).toEqual([record]);

    await forget(module);
    for (const command of [
      ['eval', directory],
      ['train', directory, more[0]],
    ]) {
      printed.err = '';
      expect(await run(command)).not.toBe(0);
      expect(printed.err).toContain(`expected --plugin ${module} (sha256 `);
      expect(printed.err).toContain(`for ${key} ${name}, got none`);
    }

    printed.out = '';
    expect(await run(['info', directory])).toBe(0);
    if (kind === 'decoder') expect(printed.out).toContain(`EMBEDDING 8 → ${name}`);
    printed.out = '';
    expect(await run(['eval', directory, '--plugin', module, '--json'])).toBe(0);
    expect(lastEvent()['test.mrr']).toBe(done['test.mrr']);
    if (kind === 'metric') expect(lastEvent()['test.worst_rank']).toBe(done['test.worst_rank']);
    const model = await openModel(directory, { plugins: [module] });
    expect((await model.rank([{ head: 'n1', relation: 'r1' }], { k: 3 }))[0]).toHaveLength(3);
    await model.close();
    // A packed model has no path of this machine.
    const packed = at(`${name}.tgz`);
    expect(await run(['pack', directory, '-o', packed, '--plugin', module])).toBe(0);
    await (await openModel(packed, { plugins: [module] })).close();
    await forget(module);
    await expect(openModel(packed)).rejects.toThrow(`expected --plugin ${name}.mjs (sha256 `);
  });

  test('another file under the same name is rejected', async () => {
    const other = `${name}${kind === 'metric' ? '_two' : '_TWO'}`;
    const module = plugin(kind, other);
    const { config, directory } = await written(kind, other);
    expect(await run(['train', config, '--plugin', module, '--training.num_epochs=1'])).toBe(0);
    writeFileSync(module, `${readFileSync(module, 'utf8')}// changed\n`);
    await expect(openRun(directory, { plugins: [module] })).rejects.toThrow(
      /expected the plugin that the run was trained with .* train a new run/,
    );
    printed.err = '';
    const resumed = ['train', config, '--plugin', module, '--training.resume_training=true'];
    expect(await run(resumed)).not.toBe(0);
    expect(printed.err).toContain('expected the plugin that the run was trained with');
    await forget(module);
  });

  test('the error for a misspelt name suggests the name', async () => {
    const module = plugin(kind, name);
    const { config } = await written(kind, misspelt, `wrong-${name}`);
    expect(await run(['train', config, '--plugin', module])).toBe(2);
    expect(printed.err).toContain(`Did you mean ${name}?`);
    await forget(module);
  });

  test('stands in the JSON Schema', async () => {
    const module = plugin(kind, name);
    expect(await run(['config', '--schema', '--plugin', module])).toBe(0);
    expect(printed.out).toContain(`"${name}"`);
    await forget(module);
  });
});

test('the graph of a run with types of a plugin is partitioned with it', async () => {
  const { nodes } = await tinyGraphs(folder);
  const module = plugin('layer', 'CUT_MEAN');
  const gnn = { type: 'GNN', output_dim: 2, options: { type: 'CUT_MEAN' } };
  const encoder = { layers: [[embedding], [gnn]], train_neighbor_sampling: [{ type: 'ALL' }] };
  const model = { learning_task: 'NODE_CLASSIFICATION', encoder };
  writeFileSync(at('cut.yaml'), stringify({ ...tinyFile(nodes, at('cut'), model), evaluation: {} }));
  const into = ['--num-partitions', '2', '--algorithm', 'random', '--output', at('parts')];
  expect(await run(['partition', at('cut.yaml'), ...into])).toBe(2);
  expect(printed.err).toContain('got "CUT_MEAN"');
  expect(await run(['partition', at('cut.yaml'), ...into, '--plugin', module])).toBe(0);
  await forget(module);
});

test('a run needs only the plugins whose types it uses', async () => {
  // Another key of the configuration has the same text.
  const module = plugin('loss', 'RELU');
  const { config, directory } = await written('decoder', 'DISTMULT', 'no-plugin');
  const layers = [[embedding], [{ type: 'DENSE', output_dim: 8, activation: 'RELU' }]];
  writeFileSync(
    config,
    stringify({ ...tinyFile((await tinyGraphs(folder)).links, directory, { encoder: { layers } }) }),
  );
  expect(await run(['train', config, '--plugin', module, '--training.num_epochs=1'])).toBe(0);
  expect(loadConfig(join(directory, 'full_config.yaml')).config.plugins).toBeUndefined();
  await forget(module);
  await (await openRun(directory)).close();
});

describe('in a program', () => {
  test('a name is known as long as it is registered', async () => {
    const { links } = await tinyGraphs(folder);
    const remove = registerDecoder({ name: 'OWN_HADAMARD', operator: new HadamardOperator() });
    const given = (type: string, directory: string) =>
      resolveConfig(tinyFile(links, at(directory), { decoder: { type } })).config;
    const own = await trainQuietly(given('own_hadamard', 'own'));
    const distMult = await trainQuietly(given('DISTMULT', 'built-in'));
    expect(own.losses).toEqual(distMult.losses);
    const { config } = loadConfig(join(own.directory, 'full_config.yaml'));
    expect(config.plugins).toBeUndefined();
    expect(config.model.decoder.type).toBe('OWN_HADAMARD');
    await (await openRun(own.directory)).close();
    remove();
    await expect(openRun(own.directory)).rejects.toThrow(/model\.decoder\.type, got "?OWN_HADAMARD/);
    expect(() => edgeDecoder('OWN_HADAMARD' as never, { dim: 4 })).toThrow('one of DISTMULT');
  });

  test('a loss of classes', async () => {
    class Gaps extends LossFunction {
      override forward(): never {
        throw new Error('a loss of classes');
      }
      override classes(logits: Parameters<LossFunction['classes']>[0]) {
        return sum(mul(sub(logits, 1), sub(logits, 1)));
      }
    }
    const { nodes } = await tinyGraphs(folder);
    const config = (directory: string) =>
      resolveConfig({
        ...tinyFile(nodes, at(directory), {
          learning_task: 'NODE_CLASSIFICATION',
          encoder: { layers: [[embedding], [{ type: 'DENSE', output_dim: 2 }]] },
          loss: { type: 'GAPS' },
        }),
        evaluation: {},
      }).config;
    const edgesOnly = registerLoss({ name: 'GAPS', make: () => new Gaps() });
    expect(() => config('gaps')).toThrow('a classification loss for model.loss.type');
    edgesOnly();
    const remove = registerLoss({ name: 'GAPS', forClasses: true, make: () => new Gaps() });
    const { losses } = await trainQuietly(config('gaps'));
    expect(losses[1]).toBeLessThan(losses[0]);
    remove();
  });

  test('an optimiser without a form for rows is one of dense parameters only', async () => {
    const { links } = await tinyGraphs(folder);
    const remove = registerOptimizer({ name: 'DENSE_ONLY', dense: () => null as never });
    const given = tinyFile(links, at('dense-only'), { sparse_optimizer: { type: 'DENSE_ONLY' } });
    await expect(trainQuietly(resolveConfig(given).config)).rejects.toThrow(
      'model.sparse_optimizer.type: expected an optimiser that has a form for rows, got DENSE_ONLY',
    );
    remove();
  });
});
