/**
 * One node type or two: whether the two columns of an edge have separate ids (users and items, both from 0) or share them
 * (source and target). The column names decide, and for text ids their values too. Edge lists and event files use these
 * rules; docs/preprocessing.md has them as a table.
 *
 * With two types a node is always named `<type>:<id>`, so that user 7 and item 7 are `user:7` and `item:7`. An id that
 * begins with its type and a colon is not prefixed again.
 */
import { expected, ValueError } from '../../util/errors.js';
import { nameWords } from './column-names.js';

/** Names of the types of sources and destinations. */
export type NodeTypes = readonly [source: string, target: string];

/** Words that denote an end of an edge or an id, and not a type of node. */
const roleWords = new Set(
  [
    'source src sources from head subject sender start origin out u i x a left first parent follower citing caller',
    'target dst dest destination to tail object receiver recipient end sink in v j y b right second child followee',
    'followed cited callee friend node nodes vertex entity ego alter neighbor neighbour buyer seller payer payee',
    'who whom called contact victim attacker ancestor descendant upstream downstream former latter',
    'winner loser employee manager boss lender borrower predecessor successor before after other partner peer',
    'id ids idx index key name nr no number code uid guid uuid label',
  ].flatMap((line) => line.split(' ')),
);

/** Returns the name of a column without such words and numbers, as one word. */
function columnType(column: string): string {
  return nameWords(column)
    .map((word) => word.replace(/\d+$/, ''))
    .map((word) => (word.length > 4 && word.endsWith('id') ? word.slice(0, -2) : word))
    .filter((word) => word !== '' && !roleWords.has(word))
    .join('_');
}

/**
 * Returns the types of the two columns; null if they share their ids.
 *
 * @param given names of one type or two, which take precedence
 */
export function nodeTypesOf(
  source: string | null,
  target: string | null,
  given?: readonly string[],
): NodeTypes | null {
  if (given !== undefined) return given.length === 1 ? null : [given[0], given[1]];
  if (source === null || target === null) return null;
  const types = [columnType(source), columnType(target)] as const;
  // Without a type for both columns there is no evidence for two types.
  return types[0] === types[1] || types.includes('') ? null : types;
}

/** Throws on names that cannot prefix an id. */
export function checkNodeTypes(where: string, name: string, value: unknown): void {
  const isValid =
    Array.isArray(value) &&
    (value.length === 1 || value.length === 2) &&
    new Set(value).size === value.length &&
    value.every((type) => typeof type === 'string' && /^[^\s:,"]{1,64}$/.test(type));
  if (!isValid)
    throw new ValueError(
      expected(
        where,
        'one name (shared ids) or two different ones, without blanks, commas and colons',
        name,
        value,
      ),
    );
}

/** Returns the type that a column of node ids is named after; null if there is none. */
export function typeOfColumn(column: string | undefined, types: NodeTypes): string | null {
  if (column === undefined) return null;
  const named = columnType(column);
  const bare = (word: string): string => word.replace(/s$/, '');
  return types.find((type) => type === column.trim() || bare(type) === bare(named)) ?? null;
}

/** Returns the name of a node of a type. */
export function typedName(type: string, raw: string): string {
  return `${type}:${raw}`;
}

/** Minimum of shared text ids for one node type: a few may be equal by accident. */
const minShared = 10;
const minSharedFraction = 0.1;

/** Returns whether so many text ids are in both columns that these have one node type after all. */
export function shareTextIds(shared: number, smaller: number): boolean {
  return shared >= minShared && shared >= minSharedFraction * smaller;
}

/** Returns a note for the user about the decision; `typed` ids of edges had their type as a prefix already. */
export function nodeTypesNote(types: NodeTypes | null, given: boolean, typed: number): string | null {
  if (types === null) return null;
  const [source, target] = types;
  const how = given ? '' : ` (detected; --node-types node if they share ids)`;
  const had = typed === 0 ? '' : `; ${typed} ids of edges begin with their type and are kept`;
  return `node types: ${source}, ${target}: nodes are named ${source}:<id> and ${target}:<id>${how}${had}`;
}
