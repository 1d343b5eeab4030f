/** What the readers of event files return: arrays that a temporal graph takes as they are, and what else the files say. */
import type { Tensor } from '../../tensor/index.js';
import type { EventNodes } from './event-nodes.js';

/** Events in order of time; row i is the i-th of the stream. */
export interface EventArrays {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly time: Float64Array;
  /** The id each event has in the file, where that is not its row. */
  readonly ids?: Int32Array;
  /** The kind of each event, a place in `typeNames`. */
  readonly types?: Int32Array;
  /** [events · featureWidth], row by row. */
  readonly features?: Float32Array;
}

/** Labels of nodes at moments of their own, not at events (the labels.csv of TGL). */
export interface NodeLabels {
  readonly nodes: Int32Array;
  readonly times: Float64Array;
  readonly labels: Float32Array;
  /** 0 training, 1 validation, 2 test; null where the file does not say. */
  readonly parts: Uint8Array | null;
}

export interface TemporalData {
  readonly name: string;
  readonly events: EventArrays;
  readonly numNodes: number;
  /** Numbers of an event; 0 without features. */
  readonly featureWidth: number;
  /** The label of every event's source at that event; null without. */
  readonly labels: Float32Array | null;
  readonly nodeLabels: NodeLabels | null;
  /** Sources and destinations are different nodes. */
  readonly bipartite: boolean;
  /** All destinations, ascending: what negatives are drawn from. */
  readonly dstPool: Int32Array;
  /** [nodes, width]. */
  readonly nodeFeatures: Tensor | null;
  readonly typeNames: readonly string[] | null;
  /** What the file calls the nodes, and back. */
  readonly nodes: EventNodes;
  /** The name of each node in the file; null where ids are numbers. */
  readonly names: readonly string[] | null;
  /** The id of each node in the file, where ids are numbers with gaps. */
  readonly nodeIds?: Int32Array;
  /** What the file calls the features, where it has a header. */
  readonly featureNames?: readonly string[];
  /** Columns of the file that were left out. */
  readonly leftOut?: readonly string[];
  /** How many events of the file are earlier than the one above; absent where they are in order. */
  readonly stepsBack?: number;
  /** The split that the files prescribe: first event rows after training and after validation. */
  readonly split?: { readonly trainEnd: number; readonly validationEnd: number };
}
