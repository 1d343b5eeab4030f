/** Directories that are damaged, and what is done with each afterwards: read, evaluated, scored or resumed. */
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PreparedDataset } from 'skein/data';
import { loadPartitionData } from 'skein/dist';
import { Output, onlineScorer, openRun, trainRun } from 'skein/train';
import { topLinks } from '#internal/predict/top-nodes.js';
import { loadRunConfig } from '#internal/train/load-run-config.js';
import { evaluateEventRun } from '#internal/train/tasks/events/evaluate-event-run.js';
import { succeed } from './processes.js';
import { digest, type Kind, kinds, outcomeOf, writeConfigs, writeData } from './runs.js';

export interface Target {
  readonly name: string;
  /** The directory or file to damage. */
  readonly root: string;
  /** The corresponding path of another run or dataset. */
  readonly other: string;
  /** Whether `use` resumes training in `root`, so that it needs a copy. */
  readonly resumes: boolean;
  /** Opens `root`, or what depends on it, and uses it. */
  use(root: string): Promise<unknown>;
  /** The result of `use` without damage. */
  whole(): Promise<unknown>;
}

const nowhere = { write: () => true };
const silent = (): Output => new Output({ stdout: nowhere, stderr: nowhere });

/** Trains a run of a kind, or resumes it. Datasets are named relative to the working directory. */
async function train(kind: Kind, directory: string, more: readonly string[]): Promise<void> {
  const { config } = loadRunConfig(`${kind}.yaml`, [`storage.model_dir=${directory}`, ...more]);
  await trainRun({ config, output: silent() });
}

const epochs = (kind: Kind, count: number): string =>
  kind === 'events-tgn' ? `train.epoch=${count}` : `training.num_epochs=${count}`;
const seeded = (kind: Kind, seed: number): string =>
  `${kind === 'events-tgn' ? 'training' : 'model'}.random_seed=${seed}`;

/** Metrics of the test set, and the scores of a question. */
async function evaluate(kind: Kind, directory: string): Promise<unknown> {
  const run = await openRun(directory, { best: true });
  try {
    if (run.kind === 'events') {
      const metrics = await evaluateEventRun(run, 'test');
      const scorer = onlineScorer(await openRun(directory, { over: 'events' }));
      return { ...metrics, scores: Array.from(scorer.score([0, 1, 2], [16, 17, 18])) };
    }
    const metrics = await run.task.evaluate('test');
    const question = { node: 1, relation: 0, want: 'tail', count: 3 } as const;
    return { metrics, answers: kind.startsWith('links') ? (await topLinks(run, [question]))[0] : null };
  } finally {
    await run.close();
  }
}

async function readPrepared(directory: string): Promise<unknown> {
  const data = await PreparedDataset.open(directory, { verify: true });
  const views: ArrayBufferView[] = [];
  for (const split of ['train', 'validation', 'test'] as const) {
    views.push(await data.readEdges(split), data.bucketSizes(split) ?? new Uint8Array(0));
    views.push((await data.readNodes(split)) ?? new Uint8Array(0));
  }
  const names = await data.nodeNames();
  const text = Array.from({ length: names.size }, (_, i) => names.nameOf(i)).join();
  views.push((await data.readLabels()) ?? new Uint8Array(0), Buffer.from(text));
  return { stats: data.stats, classes: (await data.classNames()).size, content: digest(views) };
}

async function readPartitions(directory: string): Promise<unknown> {
  const found: unknown[] = [];
  for (let rank = 0; rank < 2; rank++) {
    const { nodeRanges, allShardEdges, nodeFeatures } = await loadPartitionData(
      join(directory, 'graph.json'),
      {
        rank,
        workers: 2,
      },
    );
    const features = Object.entries(nodeFeatures).map(([name, values]) => [
      name,
      digest([values.dataSync()]),
    ]);
    const edges = allShardEdges.map(({ src, dst, edgeIds }) => digest([src, dst, edgeIds]));
    found.push({ nodeRanges, features, edges });
  }
  return found;
}

/** A target whose undamaged result is computed once, on a copy if `use` changes its input. */
function target(given: Omit<Target, 'whole'>): Target {
  let result: Promise<unknown> | null = null;
  const once = async (): Promise<unknown> => {
    if (!given.resumes) return given.use(given.root);
    const copy = `${given.root}-whole`;
    cpSync(given.root, copy, { recursive: true });
    const found = await given.use(copy);
    rmSync(copy, { recursive: true });
    return found;
  };
  return {
    ...given,
    whole() {
      result ??= once();
      return result;
    },
  };
}

/** Creates all directories in `folder`, which becomes the working directory. */
export async function makeTargets(folder: string): Promise<Target[]> {
  process.chdir(folder);
  const other = join(folder, 'other');
  if (!existsSync(join(folder, 'links'))) {
    await writeData(folder, 'tiny', 1);
    await writeData(other, 'tiny', 2);
    const partition = ['--num-partitions', '2', '--algorithm', 'ldg', '--name', 'graph', '--output', 'parts'];
    for (const at of [folder, other]) await succeed(['partition', 'nodes', ...partition], at);
  }
  writeConfigs(folder, 'tiny');
  const targets: Target[] = [];
  for (const kind of kinds) {
    const [run, half] = [join(folder, 'runs', kind), join(folder, 'halves', kind)];
    for (const [at, seed] of [
      [folder, 5],
      [other, 6],
    ] as const) {
      const place = (name: string): string => join(at, name, kind);
      if (!existsSync(join(place('runs'), 'done.json')))
        await train(kind, place('runs'), [seeded(kind, seed)]);
      // Finished after an epoch, to be resumed for another.
      if (existsSync(join(place('halves'), 'done.json'))) continue;
      await train(kind, place('halves'), [seeded(kind, seed), epochs(kind, 1)]);
    }
    const data = kind === 'events-tgn' ? 'events.csv' : kind.split('-')[0];
    const evaluated = { resumes: false, use: () => evaluate(kind, run) };
    const goOn = async (root: string): Promise<unknown> => {
      await train(kind, root, [seeded(kind, 5), epochs(kind, 2), 'training.resume_training=true']);
      return outcomeOf(root);
    };
    targets.push(
      target({ name: `run ${kind}`, root: run, other: join(other, 'runs', kind), ...evaluated }),
      target({ name: `data of ${kind}`, root: join(folder, data), other: join(other, data), ...evaluated }),
      target({
        name: `resume ${kind}`,
        root: half,
        other: join(other, 'halves', kind),
        resumes: true,
        use: goOn,
      }),
    );
  }
  const reads = { links: readPrepared, nodes: readPrepared, parts: readPartitions };
  for (const [name, use] of Object.entries(reads))
    targets.push(target({ name, root: join(folder, name), other: join(other, name), resumes: false, use }));
  return targets;
}
