/**
 * Recommenders on a generated shop with planted tastes: the defaults of fitLinks, LightGCN and matrix factorisation with BPR,
 * next to popularity and to the best that the generator's own probabilities allow.
 *   npm run example -- shop [--seed 7] [--users 2000] [--items 1000] [--epochs 40] [--directory data/shop] [--json]
 * Leaves the prepared data in the directory, for `skein train examples/shop-lightgcn.yaml`.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fitLinks } from 'skein';
import { preprocess, type ShopChoices, shopData } from 'skein/data';
import { Output, recommendationMetrics, resolveConfig, trainRun } from 'skein/train';
import { parse } from 'yaml';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '7' },
    users: { type: 'string', default: '2000' },
    items: { type: 'string', default: '1000' },
    epochs: { type: 'string' },
    directory: { type: 'string', default: 'data/shop' },
    json: { type: 'boolean', default: false },
  },
});

type Metrics = Readonly<Record<string, number>>;

const shop = shopData({
  ...{ users: Number(values.users), items: Number(values.items), seed: Number(values.seed) },
  itemsPerUser: 24,
});
const work = mkdtempSync(join(tmpdir(), 'skein-shop-'));
mkdirSync(join(values.directory, '..'), { recursive: true });

/** Writes the choices as files with the columns user and item: what a shop would export. */
const files = (['train', 'validation', 'test'] as const).map((split) => {
  const { user, item } = shop[split];
  const path = join(work, `${split}.csv`);
  writeFileSync(path, `user,item\n${Array.from(user, (u, i) => `${u},${item[i]}\n`).join('')}`);
  return path;
});

const byUser = ({ user, item }: ShopChoices): number[][] => {
  const lists = Array.from({ length: shop.numUsers }, (): number[] => []);
  for (const [i, u] of user.entries()) lists[u].push(item[i]);
  return lists;
};

/** Recommends by the probabilities that the choices were drawn with. */
function best(): Metrics {
  const [train, validation, test] = [shop.train, shop.validation, shop.test].map(byUser);
  const lists = train.map((chosen, user) => {
    const seen = new Set([...chosen, ...validation[user]]);
    const own = shop.probabilities.subarray(user * shop.numItems, (user + 1) * shop.numItems);
    return [...own.keys()].filter((item) => !seen.has(item)).sort((a, b) => own[b] - own[a]);
  });
  return recommendationMetrics(lists, test, { numItems: shop.numItems });
}

interface Result {
  readonly model: string;
  readonly metrics: Metrics;
  /** Seconds of processor time. */
  readonly seconds?: number;
}

async function timed(model: string, work: () => Promise<Metrics>): Promise<Result> {
  const before = process.cpuUsage();
  const metrics = await work();
  const { user, system } = process.cpuUsage(before);
  return { model, metrics, seconds: (user + system) / 1e6 };
}

const epochs = values.epochs === undefined ? [] : [`training.num_epochs=${values.epochs}`];
let popularity: Metrics = {};

/** Trains a configuration of this directory. */
async function train(name: string): Promise<Metrics> {
  const text = readFileSync(new URL(`./${name}.yaml`, import.meta.url), 'utf8');
  const places = [`storage.dataset.dataset_dir=${values.directory}`, `storage.model_dir=${join(work, name)}`];
  const { config } = resolveConfig(parse(text), [...places, ...epochs]);
  const { test, baselines } = await trainRun({ config, output: Output.silent() });
  popularity = baselines[0].metrics;
  return test;
}

try {
  await preprocess({ edges: files, outputDir: values.directory, overwrite: true, inProcess: true });
  const results: Result[] = [
    await timed('fitLinks', async () => {
      const model = await fitLinks(
        files,
        values.epochs === undefined ? {} : { epochs: Number(values.epochs) },
      );
      await model.close();
      return model.metrics.test;
    }),
    await timed('LightGCN', () => train('shop-lightgcn')),
    await timed('BPR', () => train('shop-bpr')),
  ];
  results.unshift({ model: 'popularity', metrics: popularity });
  results.push({ model: 'best possible', metrics: best() });
  if (values.json) console.log(JSON.stringify({ event: 'done', results }));
  else
    for (const { model, metrics, seconds } of results) {
      const cells = ['recall@10', 'ndcg@10', 'coverage@10'].map(
        (name) => `${name} ${metrics[name].toFixed(4)}`,
      );
      console.log(
        `${model.padEnd(14)} ${cells.join('  ')}${seconds === undefined ? '' : `  ${seconds.toFixed(0)} s of CPU`}`,
      );
    }
} finally {
  rmSync(work, { recursive: true, force: true });
}
