/** Looks up a name; the error for an unknown one suggests the nearest names. */
import { typedName } from '../data/formats/node-types.js';
import type { NameTable } from '../data/prepare/name-table.js';
import { TypedNames } from '../data/prepare/name-table.js';
import type { EventNodes, EventSide } from '../data/temporal/event-nodes.js';
import { expected, ValueError } from '../util/errors.js';
import { nearestNames } from '../util/nearest.js';

export interface NameQuestion {
  readonly command: string;
  /** The option or field with the name. */
  readonly option: string;
  readonly raw: string;
  /** The kind of name: an entity, a relation. */
  readonly what: string;
  /** The side, if sources and destinations have separate ids. */
  readonly side?: 'src' | 'dst' | undefined;
}

export function findName(names: NameTable, { command, option, raw, what, side }: NameQuestion): number {
  const id = names.idOf(raw, side);
  if (id !== undefined) return id;
  const { advice, near } = suggest(names, raw);
  throw new ValueError(
    `${command}: expected ${what} of the graph for ${option}, got ${JSON.stringify(raw)}. ${advice}`,
    { name: raw, suggestions: near },
  );
}

/** Returns the names nearest to an unknown one, and a sentence about them. */
function suggest(
  names: NameTable,
  raw: string,
): { readonly advice: string; readonly near: readonly string[] } {
  const typed = names instanceof TypedNames ? names.types.map((type) => typedName(type, raw)) : [];
  const known = typed.filter((name) => names.idOf(name) !== undefined);
  const near = known.length > 0 ? known : nearestNames(raw, firstNames(names));
  const advice =
    near.length > 0
      ? `Did you mean ${near.join(known.length > 0 ? ' or ' : ', ')}?`
      : names.size === 0
        ? 'There are none.'
        : `Names look like ${JSON.stringify(names.nameOf(0))}.`;
  return { advice, near };
}

export interface EventNameQuestion {
  readonly where: string;
  /** The field with the name. */
  readonly field: string;
  readonly raw: string;
  readonly side: EventSide;
  /** Advice about a name that is new. */
  readonly advice?: string;
}

/** Returns the error for a name that the nodes of a stream do not have. */
export function unknownEventNode(
  nodes: EventNodes,
  { where, field, raw, side, advice = '' }: EventNameQuestion,
): ValueError {
  const names = (): Generator<string> => firstNames(nodes, (id) => (nodes.sideOf(id) ?? side) === side);
  const near = nearestNames(raw, names());
  const some = Array.from(take(names(), 3), (name) => JSON.stringify(name));
  const examples = some.length === 0 ? '' : `, such as ${some.join(', ')}`;
  const what = `a ${side === 'src' ? 'source' : 'destination'} of the stream`;
  const hint =
    near.length > 0
      ? `Did you mean ${near.join(', ')}?`
      : `The model knows ${nodes.size.toLocaleString('en')} nodes${examples}.`;
  const advices = advice === '' ? hint : `${hint} ${advice}`;
  return new ValueError(expected(where, what, field, raw, advices), { name: raw, suggestions: near });
}

function* take<T>(items: Iterable<T>, count: number): Generator<T> {
  let left = count;
  for (const item of items) {
    if (left-- === 0) return;
    yield item;
  }
}

/** Yields the names, of large graphs the first ones, so that a suggestion takes a fraction of a second: servers make them too. */
function* firstNames(names: NameTable, isWanted = (_id: number) => true): Generator<string> {
  let count = 0;
  for (let id = 0; id < names.size && count < 50_000; id++) {
    if (!isWanted(id)) continue;
    count++;
    yield names.nameOf(id);
  }
}
