/** Nodes that are added by name, with features if the model uses them, before an event brings them. */
import type { EventSide } from '../../data/temporal/event-nodes.js';
import type { OpenedEventRun } from '../../train/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { plainNumbers } from './check-events.js';
import type { GrowingNodes } from './growing-nodes.js';
import type { StreamModelParts } from './stream-model.js';
import type { StreamNode } from './types.js';

/** A node with checked fields, as in the log. */
export interface PlainNode {
  readonly name: string;
  /** `dst` for a destination, which can be recommended; null if both sides share names and none was given. */
  readonly side: EventSide | null;
  readonly features: readonly number[] | null;
}

const where = 'addNodes';
const example = 'Pass a list, such as [{ name: "tea", side: "tail" }].';

/** Returns nodes whose form has been checked. */
export function plainNodes(given: readonly StreamNode[], nodes: GrowingNodes, width: number): PlainNode[] {
  if (!Array.isArray(given)) throw new ValueError(expected(where, 'a list', 'nodes', given, example));
  const keys = new Set<string>();
  return given.map((node: StreamNode, i) => {
    const path = `nodes[${i}]`;
    if (typeof node !== 'object' || node === null)
      throw new ValueError(expected(where, 'an object', path, node, example));
    const { name, side, features, ...others } = node;
    const [other] = Object.keys(others);
    if (other !== undefined)
      throw new ValueError(
        `${where}: expected the fields name, side and features for ${path}, got ${other} as well.`,
      );
    if (!(typeof name === 'string' && name !== '') && !Number.isSafeInteger(name))
      throw new ValueError(expected(where, 'a name', `${path}.name`, name));
    if (side !== undefined && side !== 'head' && side !== 'tail')
      throw new ValueError(expected(where, 'head or tail', `${path}.side`, side));
    if (side === undefined && nodes.kind === 'sides')
      throw new ValueError(
        expected(where, 'head or tail', `${path}.side`, side, 'Heads and tails have separate names.'),
      );
    const plain = { name: String(name), side: side === undefined ? null : sideOf[side] };
    const key = nodes.key(plain.name, plain.side ?? undefined);
    if (keys.has(key)) throw new ValueError(expected(where, 'each name once', `${path}.name`, name));
    keys.add(key);
    return { ...plain, features: features === undefined ? null : checkFeatures(path, features, width) };
  });
}

const sideOf = { head: 'src', tail: 'dst' } as const;

function checkFeatures(path: string, features: readonly number[], width: number): readonly number[] {
  if (width === 0)
    throw new ValueError(
      expected(where, 'no features', `${path}.features`, features, 'The model uses none of nodes.'),
    );
  if (!Array.isArray(features) || features.length !== width)
    throw new ValueError(expected(where, `${width} numbers`, `${path}.features`, features));
  const bad = features.findIndex((value) => !Number.isFinite(Math.fround(value)));
  if (bad >= 0)
    throw new ValueError(
      expected(where, 'a number that 32 bits can hold', `${path}.features[${bad}]`, features[bad]),
    );
  return plainNumbers(features);
}

/** Returns how many features of a node the model uses. */
export function nodeFeatureWidth({ stream, config, parts }: OpenedEventRun): number {
  const { sections } = config.model;
  const isUsed =
    sections === null
      ? parts.state?.isBatchFree !== true
      : sections.memory.type === 'none' || sections.memory.combine_node_feature;
  return isUsed ? (stream.graph.nodeFeatures?.shape[1] ?? 0) : 0;
}

/** Returns why nodes cannot be added, or null: features of a node do not change. */
export function refusal(given: readonly PlainNode[], { nodes, scorer }: StreamModelParts): string | null {
  for (const [i, { name, side, features }] of given.entries()) {
    const id = nodes.idOf(name, side ?? undefined);
    if (id === undefined || features === null) continue;
    const all = scorer.graph.nodeFeatures;
    const width = features.length;
    const row = all?.dataSync().subarray(id * width, (id + 1) * width) as Float32Array | undefined;
    if (!features.every((value, f) => Math.fround(value) === row?.[f]))
      return expected(
        where,
        'a new name, or the features that it has,',
        `nodes[${i}]`,
        name,
        'Add nodes before their first event.',
      );
  }
  return null;
}

/** Adds nodes that are not refused; those that are known stay as they are. */
export function addNodes(given: readonly PlainNode[], { nodes, pool, scorer }: StreamModelParts): void {
  const { graph } = scorer;
  const first = graph.numNodes;
  const width = graph.nodeFeatures?.shape[1] ?? 0;
  const numbers = given.map(({ name, side }) => nodes.numberOf(name, side ?? 'src'));
  const rows = new Float32Array((nodes.size - first) * width);
  for (const [i, { features }] of given.entries())
    if (features !== null && numbers[i] >= first) rows.set(features, (numbers[i] - first) * width);
  scorer.addNodes(nodes.size, rows);
  for (const [i, { side }] of given.entries()) if (side === 'dst') pool.add(numbers[i], graph.numEvents);
}
