/** The state of a stream after one entry of its log, as arrays and JSON. */
import type { EventSide } from '../../data/temporal/event-nodes.js';
import type { ArrayFile, PlainArray } from '../../storage/array-file.js';
import type { StateSnapshot } from '../../temporal/temporal-state.js';
import type { Intake } from './intake.js';
import { eventsPerFile, type StateFolder } from './state-folder.js';
import type { ReleasedColumns, StreamModel } from './stream-model.js';

interface SnapshotJson {
  readonly released: number;
  readonly names: readonly (readonly [string, EventSide])[];
  readonly model: { readonly applied: number; readonly cuts: readonly number[] };
  readonly intake: unknown;
  /** Values of the model's state that are not arrays; null without a state. */
  readonly state: Readonly<Record<string, unknown>> | null;
  readonly ranked: number;
}

/** Copies everything that later entries change. */
export function takeSnapshot(intake: Intake, model: StreamModel): ArrayFile {
  const { scorer, nodes, quality } = model.parts;
  const { json: decisions, ids } = intake.save();
  const { released } = model;
  const saved = scorer.state?.snapshot() ?? null;
  const { arrays: stateArrays = {}, ...rest } = saved ?? {};
  const ranks = quality?.save();
  const json: SnapshotJson = {
    ...{ released, names: nodes.added, model: model.save(), intake: decisions },
    state: saved === null ? null : rest,
    ranked: ranks?.count ?? 0,
  };
  const tail = model.columnsOf(released - (released % eventsPerFile), released);
  return {
    json,
    arrays: {
      ...prefixed('tail', { ...tail }),
      ...prefixed('state', stateArrays as Readonly<Record<string, PlainArray>>),
      ...prefixed('ids', { ...ids }),
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
  const { scorer, nodes, quality } = model.parts;
  for (const [name, side] of names) nodes.numberOf(name, side);
  for (let file = 0; file < Math.floor(released / eventsPerFile); file++)
    model.take(await folder.loadEvents(file));
  const tail = unprefixed('tail', arrays) as unknown as ReleasedColumns;
  if (tail.time.length > 0) model.take(tail);
  scorer.addNodes(nodes.size);
  if (state !== null)
    scorer.state?.restore({ ...state, arrays: unprefixed('state', arrays) } as unknown as StateSnapshot);
  model.load(position.applied, position.cuts);
  intake.load(decisions, unprefixed('ids', arrays) as never);
  const ranks = arrays['quality.ranks'];
  if (ranks instanceof Float64Array) quality?.load(ranks, ranked);
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
