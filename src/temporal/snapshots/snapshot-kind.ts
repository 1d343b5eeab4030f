/** Models in discrete time as kinds of temporal models: what they have in common in a configuration and in a run. */
import type { TemporalGraph } from '../../graph/index.js';
import { integer, number, type Settings, type ValuesOf } from '../../util/settings.js';
import { type TemporalModelKind, type TemporalPlace, temporalModelKind } from '../models/model-kind.js';
import { SnapshotLinks } from './snapshot-links.js';
import type { SnapshotModel } from './snapshot-model.js';

/** Keys of every kind over snapshots. */
const common = {
  dim_out: integer(1, 32, 'width of embeddings'),
  dim_node: integer(1, 32, 'width of learned rows of nodes, where the stream has no features of nodes'),
  snapshot_count: integer(
    1,
    100,
    'windows of equal length that the training time is cut into; those after it are as long',
  ),
  snapshot_duration: number(
    0,
    'length of a window in the unit of the times, in place of snapshot_count; 0: by that',
    {
      min: 0,
    },
  ),
  backprop: integer(1, 1, 'snapshots that gradients go back through'),
};

type Common = ValuesOf<typeof common>;

export interface SnapshotKind<S, O extends Settings> {
  readonly kind: string;
  readonly doc: string;
  /** Keys in addition to those that all kinds have. */
  readonly settings: O;
  check?(options: Common & ValuesOf<O>, graph: TemporalGraph): string | null;
  /** Makes the model for rows of `into` features. */
  recurrent(options: Common & ValuesOf<O>, into: number): SnapshotModel<S>;
}

export function snapshotKind<S, O extends Settings>({
  kind,
  doc,
  settings,
  check,
  recurrent,
}: SnapshotKind<S, O>): TemporalModelKind {
  const all = (options: object): Common & ValuesOf<O> => options as Common & ValuesOf<O>;
  return temporalModelKind<Settings>({
    ...{ kind, doc, settings: { ...common, ...settings }, labels: true },
    check: ({ options, graph }) => check?.(all(options), graph) ?? null,
    make(place) {
      const options = all(place.options);
      const windowOf = windowsOf(options, place);
      const model = new SnapshotLinks<S>({
        graph: place.graph,
        recurrent: (into) => recurrent(options, into),
        ...{ dimOut: options.dim_out, dimNode: options.dim_node, depth: options.backprop, windowOf },
      });
      return { model, state: model.state, needs: { windowOf } };
    },
  });
}

/** The window of a time. Windows begin with the first event; their length follows from training events alone. */
function windowsOf(
  { snapshot_count: count, snapshot_duration: given }: Common,
  { graph, trainEnd }: TemporalPlace<unknown>,
): (time: number) => number {
  const start = graph.numEvents > 0 ? graph.time[0] : 0;
  const trained = trainEnd > 0 ? graph.time[trainEnd - 1] - start : 0;
  const length = given > 0 ? given : trained / count;
  return (time) => (length > 0 ? Math.floor((time - start) / length) : Number(time > start));
}
