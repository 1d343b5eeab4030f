/** Looks up a name; the error for an unknown one suggests the nearest names. */
import { typedName } from '../data/formats/node-types.js';
import type { NameTable } from '../data/prepare/name-table.js';
import { TypedNames } from '../data/prepare/name-table.js';
import { ValueError } from '../util/errors.js';
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
  const typed = names instanceof TypedNames ? names.types.map((type) => typedName(type, raw)) : [];
  const known = typed.filter((name) => names.idOf(name) !== undefined);
  const near = known.length > 0 ? known : nearestNames(raw, firstNames(names));
  const advice =
    near.length > 0
      ? `Did you mean ${near.join(known.length > 0 ? ' or ' : ', ')}?`
      : names.size === 0
        ? 'There are none.'
        : `Names look like ${JSON.stringify(names.nameOf(0))}.`;
  throw new ValueError(
    `${command}: expected ${what} of the graph for ${option}, got ${JSON.stringify(raw)}. ${advice}`,
    { name: raw, suggestions: near },
  );
}

/** Yields the names, of large graphs the first ones, so that a suggestion takes a fraction of a second: servers make them too. */
function* firstNames(names: NameTable): Generator<string> {
  const count = Math.min(names.size, 50_000);
  for (let id = 0; id < count; id++) yield names.nameOf(id);
}
