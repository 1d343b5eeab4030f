/**
 * A stream of events in one safetensors file, as a packed model has it: the arrays as they were read, and the ids of the
 * nodes in the original file. Reading it needs no knowledge of the original format.
 */
import { readWholeFile } from '../../storage/atomic-file.js';
import { fromTypedArray, type Tensor } from '../../tensor/index.js';
import { decodeSafetensors, encodeSafetensors } from '../../tensor/safetensors.js';
import { FormatError } from '../../util/errors.js';
import { type EventNodes, listedNodes, namedNodes, shiftedNodes, sidedNodes } from './event-nodes.js';
import { makeTemporalData } from './make-temporal-data.js';
import type { TemporalData } from './temporal-data.js';

/** The ending of such files. */
export const streamEnding = '.safetensors';

const version = 'skein.stream';

/** Everything but the arrays. */
interface StreamText {
  readonly name: string;
  readonly numNodes: number;
  readonly featureWidth: number;
  readonly typeNames: readonly string[] | null;
  readonly split?: NonNullable<TemporalData['split']>;
  readonly featureNames?: readonly string[];
  readonly nodes: NodesText;
}

interface NodesText {
  readonly kind: EventNodes['kind'];
  readonly size: number;
  /** Ids of the nodes that have one. */
  readonly names?: readonly string[];
  readonly sides?: readonly [NodesText, NodesText];
}

/** Encodes a stream. */
export function encodeStream(data: TemporalData): Uint8Array {
  const { events, labels, nodeLabels, nodeFeatures, numNodes, featureWidth } = data;
  const { name, typeNames, split, featureNames } = data;
  const { src, dst, time, ids, types, features } = events;
  const arrays = {
    ...{ src, dst, time },
    ...{ ids, types, features, labels: labels ?? undefined },
    ...(nodeLabels === null
      ? {}
      : {
          'nodeLabels.nodes': nodeLabels.nodes,
          'nodeLabels.times': nodeLabels.times,
          'nodeLabels.labels': nodeLabels.labels,
          'nodeLabels.splits': nodeLabels.splits ?? undefined,
        }),
  };
  const text: StreamText = {
    ...{ name, numNodes, featureWidth, typeNames, nodes: describeNodes(data.nodes) },
    ...(split === undefined ? {} : { split }),
    ...(featureNames === undefined ? {} : { featureNames }),
  };
  const tensors: Record<string, Tensor> = {
    text: fromTypedArray(new TextEncoder().encode(JSON.stringify(text))),
    ...(nodeFeatures === null ? {} : { nodeFeatures }),
  };
  for (const [key, array] of Object.entries(arrays))
    if (array !== undefined) tensors[key] = fromTypedArray(array);
  return encodeSafetensors(tensors, { [version]: '1' });
}

/** Reads a file of `encodeStream`. */
export async function readStreamFile(path: string): Promise<TemporalData> {
  const { tensors, metadata } = decodeSafetensors(await readWholeFile(path));
  if (metadata[version] !== '1')
    throw new FormatError(`${path}: expected a stream of events of version 1, got another file.`, { path });
  const array = <T>(key: string): T | undefined => tensors[key]?.dataSync() as T | undefined;
  const text = JSON.parse(new TextDecoder().decode(array<Uint8Array>('text'))) as StreamText;
  const optional = { ids: array<Int32Array>('ids'), types: array<Int32Array>('types') };
  const features = array<Float32Array>('features');
  const present = Object.entries({ ...optional, features }).filter(([, value]) => value !== undefined);
  const nodes = array<Int32Array>('nodeLabels.nodes');
  const { nodes: described, ...rest } = text;
  return makeTemporalData({
    ...rest,
    events: {
      src: array<Int32Array>('src') as Int32Array,
      dst: array<Int32Array>('dst') as Int32Array,
      time: array<Float64Array>('time') as Float64Array,
      ...Object.fromEntries(present),
    },
    labels: array<Float32Array>('labels') ?? null,
    nodeLabels:
      nodes === undefined
        ? null
        : {
            nodes,
            times: array<Float64Array>('nodeLabels.times') as Float64Array,
            labels: array<Float32Array>('nodeLabels.labels') as Float32Array,
            splits: array<Uint8Array>('nodeLabels.splits') ?? null,
          },
    nodeFeatures: tensors['nodeFeatures'] ?? null,
    names: described.kind === 'names' ? (described.names ?? []) : null,
    nodes: makeNodes(described),
  });
}

function describeNodes({ kind, size, sides, nameOf }: EventNodes): NodesText {
  if (sides !== undefined) return { kind, size, sides: [describeNodes(sides[0]), describeNodes(sides[1])] };
  if (kind !== 'ids' && kind !== 'names') return { kind, size };
  const names = Array.from({ length: size }, (_, id) => nameOf(id));
  // Nodes at the end that are in no event have no id in the file.
  while (names.length > 0 && names[names.length - 1] === `#${names.length - 1}`) names.pop();
  return { kind, size, names };
}

function makeNodes({ kind, size, names = [], sides }: NodesText): EventNodes {
  if (sides !== undefined) return sidedNodes(makeNodes(sides[0]), makeNodes(sides[1]));
  if (kind === 'ids') return listedNodes(size, Int32Array.from(names, Number));
  if (kind === 'names') return namedNodes(size, names);
  return shiftedNodes(size, kind === 'shifted' ? 1 : 0);
}
