/**
 * One kind of node or two: whether the two columns of an edge have ids of their own (users and items, both from 0) or share
 * them (source and target). The names of the columns decide, and of ids that are words their values too. Edge lists and
 * event files ask here; docs/preprocessing.md has the rules as a table.
 *
 * With two kinds a node is called `<type>:<id>`, always, so that user 7 and item 7 are `user:7` and `item:7`. An id that
 * begins with its type and a colon has that name already.
 */
import { expected, ValueError } from '../../util/errors.js';
import { nameWords } from './column-names.js';

/** Names of the kinds of sources and destinations. */
export type NodeTypes = readonly [source: string, target: string];

/** Words that say which end of an edge a column is, or that it holds ids, and not what kind of thing stands there. */
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

/** What is left of a column's name without such words and numbers, as one word. */
function kindOf(column: string): string {
  return nameWords(column)
    .map((word) => word.replace(/\d+$/, ''))
    .map((word) => (word.length > 4 && word.endsWith('id') ? word.slice(0, -2) : word))
    .filter((word) => word !== '' && !roleWords.has(word))
    .join('_');
}

/**
 * The kinds of the two columns; null when they share their ids.
 *
 * @param told names of one kind or two, which then hold
 */
export function nodeTypesOf(
  source: string | null,
  target: string | null,
  told?: readonly string[],
): NodeTypes | null {
  if (told !== undefined) return told.length === 1 ? null : [told[0], told[1]];
  if (source === null || target === null) return null;
  const types = [kindOf(source), kindOf(target)] as const;
  // A column that does not say its kind says nothing about two.
  return types[0] === types[1] || types.includes('') ? null : types;
}

/** Refuses names that cannot stand before an id. */
export function checkNodeTypes(where: string, name: string, value: unknown): void {
  const sound =
    Array.isArray(value) &&
    (value.length === 1 || value.length === 2) &&
    new Set(value).size === value.length &&
    value.every((type) => typeof type === 'string' && /^[^\s:,"]{1,64}$/.test(type));
  if (!sound)
    throw new ValueError(
      expected(
        where,
        'one name (ids are shared) or two different ones, without blanks, commas and colons',
        name,
        value,
      ),
    );
}

/** The type that a column of node ids is named after; null when it is none of these. */
export function typeOfColumn(column: string | undefined, types: NodeTypes): string | null {
  if (column === undefined) return null;
  const kind = kindOf(column);
  const bare = (word: string): string => word.replace(/s$/, '');
  return types.find((type) => type === column.trim() || bare(type) === bare(kind)) ?? null;
}

/** The name of a node of a type. */
export function typedName(type: string, raw: string): string {
  return `${type}:${raw}`;
}

/** Shared words that are needed before values speak against two kinds: a few names are alike by accident. */
const leastShared = 10;
const leastShare = 0.1;

/** Whether ids that are words stand in both columns so often that these have one kind of node after all. */
export function sharesWords(shared: number, smaller: number): boolean {
  return shared >= leastShared && shared >= leastShare * smaller;
}

/** What is said about the decision, for people; `typed` ids of edges had their type before them already. */
export function nodeTypesNote(types: NodeTypes | null, told: boolean, typed: number): string | null {
  if (types === null) return null;
  const [source, target] = types;
  const how = told ? '' : ` (found; --node-types node if they share their ids)`;
  const had = typed === 0 ? '' : `; ${typed} ids of edges begin with their type and stay as they are`;
  return `node types: ${source}, ${target}: nodes are called ${source}:<id> and ${target}:<id>${how}${had}`;
}
