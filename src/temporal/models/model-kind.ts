/**
 * The description of a kind of temporal model for runs: its name and options, the inputs of its batches, the state that events
 * change, and how it trains and scores. `kinds.ts` lists the kinds that are built in; `registerTemporalModel` adds
 * others.
 */
import type { TemporalGraph } from '../../graph/index.js';
import type { Adam, Module } from '../../nn/index.js';
import type { TemporalStrategy } from '../../sample/index.js';
import type { Settings, ValuesOf } from '../../util/settings.js';
import type { TemporalConfig } from '../config/index.js';
import type { TrainSection } from '../config/keys.js';
import type { SharedMailBox } from '../mailbox/index.js';
import type { StoreFactory } from '../mailbox/state-store.js';
import type { TemporalModel } from '../runtime.js';
import type { ScoringSteps } from '../steps.js';
import type { CommittedState, TemporalState } from '../temporal-state.js';
import type { CandidateScorer } from './candidate-scorer.js';

/** Inputs of the construction of a model. */
export interface TemporalPlace<O = Readonly<Record<string, unknown>>> {
  readonly options: O;
  /** TGL's section `train`. */
  readonly train: TrainSection;
  /** TGL's sections, which are the options of the kind `general`; null for all others. */
  readonly sections: TemporalConfig | null;
  /** The whole stream: sizes, features and training times may be read, events of later splits may not. */
  readonly graph: TemporalGraph;
  /** The first row after the training events. */
  readonly trainEnd: number;
  /** Rows of the training events, which leave out those of held-out nodes; absent: all before `trainEnd`. */
  readonly trainRows?: Int32Array;
  /** The store of rows that are distributed over workers; absent: in this process. */
  readonly store?: StoreFactory;
}

/** Inputs that the batches of a model have in addition to events and negatives; each costs time, so request only those in use. */
export interface BatchNeeds {
  /** Sampled past of every root: `batch.hops`. Default: none. */
  readonly neighbors?: {
    /** Neighbours of each hop, the one next to the roots first. */
    readonly fanouts: readonly number[];
    readonly strategy?: TemporalStrategy;
    readonly propTime?: boolean;
    readonly history?: number;
    readonly duration?: number;
  };
  /** Memory and mail of every node: `batch.state`. Default: none. */
  readonly mailbox?: SharedMailBox | null;
  /** Past events of either end that are searched for the other: `batch.pairFeatures`. Default 0: none. */
  readonly pairDepth?: number;
  /** For models in discrete time: the window of a time. No batch of a run spans two windows. */
  readonly windowOf?: (time: number) => number;
}

/** A model that a `TemporalRuntime` trains: the state is committed after every step. */
export interface CommittedModel {
  readonly model: TemporalModel;
  /** Null where events change nothing. */
  readonly state: CommittedState | null;
  readonly needs: BatchNeeds;
  /** Scores many candidates faster than batches with negatives do; null or absent if there is no such way. */
  readonly candidates?: CandidateScorer | null;
}

/** The means by which custom steps train parameters. */
export interface StepTraining {
  /** Null for models without parameters. A checkpoint contains its moments; its learning rate may be changed by the steps. */
  readonly optimizer: Adam | null;
  /** Gradients are scaled down to this norm; 0: never. */
  readonly maxGradNorm: number;
}

/** A model with custom steps, such as baselines, which process event by event. */
export interface OwnStepsModel {
  /** May be without parameters. */
  readonly model: Module;
  readonly state: TemporalState | null;
  readonly needs: BatchNeeds;
  /** The steps, or a function that makes them where they train parameters. */
  readonly steps: ScoringSteps | ((training: StepTraining) => ScoringSteps);
}

export type MadeTemporalModel = CommittedModel | OwnStepsModel;

export interface TemporalModelKind<S extends Settings = Settings> {
  /** Its name in configurations: `model: { kind: edge_bank }`. */
  readonly kind: string;
  /** One sentence for the documentation. */
  readonly doc: string;
  /** Its keys in the section `model`, in addition to `kind`. */
  readonly settings: S;
  /** Its defaults of the section `train`, where they differ from those of all kinds. */
  readonly train?: Partial<TrainSection>;
  /** Whether epochs train parameters; default true. A run of any other kind is one pass over the training events. */
  readonly learns?: boolean;
  /** Whether several workers can train it; default false. */
  readonly workers?: boolean;
  /** Whether it embeds nodes, as a classifier of labels needs; `model.dimOut` is then the width. Default false. */
  readonly labels?: boolean;
  /** Returns a sentence about options that do not fit together, or null; called before anything is created. */
  check?(place: TemporalPlace<ValuesOf<S>>): string | null;
  /** Makes the model; initial values are drawn from the generator that the run has seeded. */
  make(place: TemporalPlace<ValuesOf<S>>): MadeTemporalModel;
}

/** Keeps the types of a kind's options. */
export function temporalModelKind<S extends Settings>(kind: TemporalModelKind<S>): TemporalModelKind<S> {
  return kind;
}
