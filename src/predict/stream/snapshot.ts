/** The state of a stream after one entry of its log, as arrays and JSON. */
import type { EventSide } from '../../data/temporal/event-nodes.js';
import type { ArrayFile, PlainArray } from '../../storage/array-file.js';
import type { StateSnapshot } from '../../temporal/temporal-state.js';
import type { Intake, SavedIntake } from './intake.js';
import { decodeLines, encodeLines } from './json-lines.js';
import { eventsPerFile, type StateFolder } from './state-folder.js';
import type { ReleasedColumns, StreamModel } from './stream-model.js';

type SavedNames = readonly (readonly [string, EventSide])[];

interface SnapshotJson {
  readonly released: number;
  readonly names?: SavedNames;
  readonly model: { readonly applied: number; readonly cuts: readonly number[] };
  readonly intake: SavedIntake['json'];
  /** Values of the model's state that are not arrays; null without a state. */
  readonly state: Readonly<Record<string, unknown>> | null;
  readonly ranked: number;
}

/** Copies everything that later entries change. */
export function takeSnapshot(intake: Intake, model: StreamModel): ArrayFile {
  const { scorer, nodes, pool, quality } = model.parts;
  const { json: decisions, lists, ids } = intake.save();
  const { released } = model;
  const saved = scorer.state?.snapshot() ?? null;
  const { arrays: stateArrays = {}, ...rest } = saved ?? {};
  const ranks = quality?.save();
  const json: SnapshotJson = {
    ...{ released, model: model.save(), intake: decisions },
    state: saved === null ? null : rest,
    ranked: ranks?.count ?? 0,
  };
  const tail = model.columnsOf(released - (released % eventsPerFile), released);
  return {
    json,
    arrays: {
      // Lines, because one JSON text of all names could exceed the longest string.
      names: encodeLines(nodes.added),
      ...prefixed('tail', { ...tail }),
      ...prefixed('state', stateArrays as Readonly<Record<string, PlainArray>>),
      ...prefixed('ids', { ...ids }),
      ...prefixed('lists', lists),
      ...prefixed('pool', { ...pool.save() }),
      ...addedFeatures(model),
      ...(ranks === undefined ? {} : { 'quality.ranks': ranks.ranks }),
    },
  };
}

/** Brings a stream that has no events yet into the state of a snapshot. */
export async function restoreSnapshot(
  { json, arrays }: ArrayFile,
  folder: StateFolder,
  intake: Intake,
  model: StreamModel,
): Promise<void> {
  const { released, names, model: position, intake: decisions, state, ranked } = json as SnapshotJson;
  const { scorer, nodes, pool, quality } = model.parts;
  // Snapshots of earlier versions have the names as JSON.
  nodes.restore(names ?? (decodeLines(arrays['names'] as Uint8Array) as SavedNames));
  // Snapshots of earlier versions have neither features nor destinations: there were none besides those of events.
  scorer.addNodes(nodes.size, arrays['nodes.features'] as Float32Array | undefined);
  for (let file = 0; file < Math.floor(released / eventsPerFile); file++)
    model.take(await folder.loadEvents(file));
  const tail = unprefixed('tail', arrays) as unknown as ReleasedColumns;
  if (tail.time.length > 0) model.take(tail);
  if (arrays['pool.nodes'] !== undefined) pool.load(unprefixed('pool', arrays) as never);
  if (state !== null)
    scorer.state?.restore({ ...state, arrays: unprefixed('state', arrays) } as unknown as StateSnapshot);
  model.load(position.applied, position.cuts);
  intake.load({
    json: decisions,
    lists: unprefixed('lists', arrays) as SavedIntake['lists'],
    ids: unprefixed('ids', arrays) as never,
  });
  const ranks = arrays['quality.ranks'];
  if (ranks instanceof Float64Array) quality?.load(ranks, ranked);
}

/** The features of nodes that the training stream did not have. */
export function addedFeatures({ parts }: StreamModel): Record<string, Float32Array> {
  const { scorer, nodes } = parts;
  const features = scorer.graph.nodeFeatures;
  if (features === null || nodes.numAdded === 0) return {};
  const first = (nodes.size - nodes.numAdded) * features.shape[1];
  return { 'nodes.features': (features.dataSync() as Float32Array).slice(first) };
}

function prefixed(prefix: string, arrays: Readonly<Record<string, PlainArray>>): Record<string, PlainArray> {
  return Object.fromEntries(Object.entries(arrays).map(([name, array]) => [`${prefix}.${name}`, array]));
}

function unprefixed(
  prefix: string,
  arrays: Readonly<Record<string, PlainArray>>,
): Record<string, PlainArray> {
  const own = Object.entries(arrays).filter(([name]) => name.startsWith(`${prefix}.`));
  return Object.fromEntries(own.map(([name, array]) => [name.slice(prefix.length + 1), array]));
}
