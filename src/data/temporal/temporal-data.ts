/** The results of the readers of event files: arrays for a temporal graph, and the other contents of the files. */
import type { Tensor } from '../../tensor/index.js';
import type { EventNodes } from './event-nodes.js';

/** Events in order of time; row i is the i-th of the stream. */
export interface EventArrays {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly time: Float64Array;
  /** Id of each event in the file, unless that is its row. */
  readonly ids?: Int32Array;
  /** Type of each event as an index into `typeNames`. */
  readonly types?: Int32Array;
  /** [events · featureWidth], row by row. */
  readonly features?: Float32Array;
}

/** Labels of nodes at given times, independent of events (the labels.csv of TGL). */
export interface NodeLabels {
  readonly nodes: Int32Array;
  readonly times: Float64Array;
  readonly labels: Float32Array;
  /** 0 training, 1 validation, 2 test; null if the file has no splits. */
  readonly splits: Uint8Array | null;
}

export interface TemporalData {
  readonly name: string;
  readonly events: EventArrays;
  readonly numNodes: number;
  /** Features per event; 0 without features. */
  readonly featureWidth: number;
  /** Label of the source of each event at that event; null if there are none. */
  readonly labels: Float32Array | null;
  readonly nodeLabels: NodeLabels | null;
  /** Whether sources and destinations are different nodes. */
  readonly bipartite: boolean;
  /** All destinations, ascending; negatives are drawn from them. */
  readonly dstPool: Int32Array;
  /** [nodes, width]. */
  readonly nodeFeatures: Tensor | null;
  readonly typeNames: readonly string[] | null;
  /** Mapping between the node ids of the file and node numbers. */
  readonly nodes: EventNodes;
  /** Name of each node in the file; null if ids are numbers. */
  readonly names: readonly string[] | null;
  /** Id of each node in the file, if ids are numbers with gaps. */
  readonly nodeIds?: Int32Array;
  /** Names of the features, if the file has a header. */
  readonly featureNames?: readonly string[];
  /** Ignored columns of the file. */
  readonly leftOut?: readonly string[];
  /** Number of events that are earlier than the preceding one in the file; absent if they are in order. */
  readonly stepsBack?: number;
  /** The split of the files: row of the first event after training, and after validation. */
  readonly split?: { readonly trainEnd: number; readonly validationEnd: number };
}
