/** The work of `skein recommend`: writes the best tails for every node, or for those of a file, as CSV. */
import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { readRecords } from '../data/formats/delimited.js';
import { findTextLayout } from '../data/formats/text-layout.js';
import type { NameTable } from '../data/prepare/name-table.js';
import { openPredictor, runPath } from '../predict/open-model.js';
import type { RecommendOptions } from '../predict/predictor.js';
import { makeFolder } from '../storage/make-folder.js';
import { type OpenedRun, Output, openRun } from '../train/index.js';
import { FormatError, StateError, StorageError, ValueError } from '../util/errors.js';
import type { OverrideOptions, PluginOptions } from './options/options.js';
import { CsvFile } from './predict/csv-file.js';
import { parseTime } from './query/questions.js';

export interface RecommendCommand extends PluginOptions, OverrideOptions {
  /** `all`, or a file with one id per line. */
  readonly users: string;
  readonly k: number;
  readonly relation?: string;
  readonly time?: string;
  readonly includeKnown: boolean;
  readonly skipUnknown: boolean;
  readonly output: string;
  readonly overwrite: boolean;
  readonly json: boolean;
}

/** Nodes that are asked in one call: their scores of all candidates are in memory together. */
const slice = 256;

export async function recommendCommand(path: string, command: RecommendCommand): Promise<void> {
  const output = new Output({ json: command.json });
  const run = await openRun(runPath(path), {
    ...{ command: 'recommend', overrides: command.set, plugins: command.plugin },
    onWarning: (message) => output.warn(message),
  });
  const model = await openPredictor(run);
  try {
    if (!model.answers.includes('recommend'))
      throw new StateError(
        `recommend: expected a run over links or events, got the run of ${model.kind} ${path}.`,
      );
    if (existsSync(command.output) && !command.overwrite)
      throw new StorageError(
        `recommend: expected a new file for --output, got ${command.output}, which exists. Choose another, or replace it with --overwrite.`,
        { path: command.output },
      );
    const { names, skipped } = await usersOf(run, command);
    const target = resolve(command.output);
    makeFolder(dirname(target));
    const header = ['user', 'rank', 'item', 'score', ...(model.calibrated ? ['probability'] : [])];
    const csv = new CsvFile(dirname(target), basename(target), header);
    const stage = output.stage('recommending');
    let rows = 0;
    for (let from = 0; from < names.length; from += slice) {
      const some = names.slice(from, from + slice);
      const found = await model.recommend(some, optionsOf(command));
      for (const [i, items] of found.entries())
        for (const [rank, { name, score, probability }] of items.entries()) {
          const shown = probability === undefined ? [] : [String(probability)];
          csv.write([some[i], String(rank + 1), name, String(score), ...shown]);
          rows++;
        }
      stage.update(from + some.length, names.length);
    }
    stage.end();
    csv.close();
    const left = skipped === 0 ? '' : `, ${skipped} unknown ${skipped === 1 ? 'id' : 'ids'} skipped`;
    output.text(
      `${rows} recommendations for ${names.length} ${names.length === 1 ? 'user' : 'users'}${left}, wrote ${target}`,
    );
    output.event('done', { users: names.length, skipped, recommendations: rows, files: [target] });
  } finally {
    await model.close();
  }
}

function optionsOf({ k, relation, time, includeKnown }: RecommendCommand): RecommendOptions {
  return {
    ...{ k, exclude: includeKnown ? 'none' : 'seen' },
    ...(relation === undefined ? {} : { relation }),
    ...(time === undefined ? {} : { time: parseTime('recommend', time, '--time') }),
  };
}

interface Users {
  readonly names: readonly string[];
  readonly skipped: number;
}

async function usersOf(run: OpenedRun, command: RecommendCommand): Promise<Users> {
  if (command.users === 'all') return { names: await allUsers(run, command.relation), skipped: 0 };
  const names: NameTable = run.kind === 'events' ? run.stream.data.nodes : await run.dataset.nodeNames();
  const layout = await findTextLayout(command.users, { wanted: [0] });
  if (layout === null)
    throw new FormatError(`${command.users}: expected an id per line, got none.`, { path: command.users });
  const found: string[] = [];
  let skipped = 0;
  for await (const block of readRecords(layout))
    for (let row = 0; row < block.rows; row++) {
      const name = block.text(row, 0);
      if (names.idOf(name, 'src') !== undefined) found.push(name);
      else if (command.skipUnknown) skipped++;
      else throw unknownUser(command.users, block.lines[row], name);
    }
  return { names: found, skipped };
}

function unknownUser(path: string, line: number, name: string): FormatError {
  return new FormatError(
    `${path}:${line}: expected a source that the model knows, got ${JSON.stringify(name)}. Leave it out, or pass --skip-unknown.`,
    { path, line },
  );
}

/** Returns the sources of the relation's training edges, or of events. */
async function allUsers(run: OpenedRun, relation: string | undefined): Promise<string[]> {
  if (run.kind === 'events') {
    const { nodes, events } = run.stream.data;
    return Array.from(new Set(events.src).values(), (id) => nodes.nameOf(id));
  }
  const nodes = await run.dataset.nodeNames();
  const relations = run.dataset.hasRelations ? await run.dataset.relationNames() : null;
  const id = relations === null || relation === undefined ? 0 : relations.idOf(relation);
  if (id === undefined || (relations !== null && relations.size > 1 && relation === undefined)) {
    const some = Array.from({ length: Math.min(8, relations?.size ?? 0) }, (_, i) => relations?.nameOf(i));
    throw new ValueError(
      `recommend: expected a relation of the graph for --relation, got ${relation ?? 'none'}. There are ${relations?.size}, for example ${some.join(', ')}.`,
    );
  }
  const sources = (await run.storage.candidates()).of(id, 'head');
  const ids = sources ?? Int32Array.from({ length: nodes.size }, (_, node) => node);
  return Array.from(ids, (node) => nodes.nameOf(node));
}
