/** Checks of a predictor's arguments before any lookup: programs in plain JavaScript may pass anything. */
import { checkInteger, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import type {
  Ability,
  EdgeName,
  Name,
  NamedEvent,
  NewEdge,
  NewNodes,
  RankOptions,
  RankQuestion,
} from './predictor.js';

const questionExample = 'Pass an object or a list of them, such as [{ head: "a", relation: "r" }].';
const edgeExample = 'Pass an object or a list of them, such as [{ head: "a", relation: "r", tail: "b" }].';
const nameExample = 'Pass a name, or a list such as ["a", "b"].';
const eventExample = 'Pass a list, such as [{ head: "a", tail: "b", time: 5 }].';
const newNodeExample = 'Pass { nodes: [{ id: "n1", age: 30 }], edges: [["n1", "a"]] }.';

/** Returns a list: of one name, if one was passed. */
export function checkNames(where: Ability, given: Name | readonly Name[]): readonly Name[] {
  if (!isList(given)) {
    checkName(where, 'name', given, nameExample);
    return [given];
  }
  for (const [i, name] of given.entries()) checkName(where, `names[${i}]`, name);
  return given;
}

export function checkEdges(where: Ability, given: EdgeName | readonly EdgeName[]): readonly EdgeName[] {
  return checkObjects(where, 'edge', given, edgeExample, ['head', 'tail']);
}

export function checkQuestions(
  where: Ability,
  given: RankQuestion | readonly RankQuestion[],
): readonly RankQuestion[] {
  return checkObjects(where, 'question', given, questionExample, []);
}

/** Returns a list of objects with checked fields: of one, if one was passed. */
function checkObjects<T extends RankQuestion>(
  where: Ability,
  name: string,
  given: T | readonly T[],
  advice: string,
  needed: readonly string[],
): readonly T[] {
  const list: readonly T[] = isList(given) ? given : [given];
  for (const [i, one] of list.entries()) {
    const path = isList(given) ? `${name}s[${i}]` : name;
    checkObject(where, path, one, advice);
    checkFields(where, path, one, needed);
  }
  return list;
}

const eventFields = new Set(['head', 'tail', 'time', 'id', 'type', 'features']);

function unknownField(where: Ability, i: number, field: string): ValueError {
  return new ValueError(
    `${where}: expected the fields ${[...eventFields].join(', ')} for events[${i}], got ${field} as well. Leave it out.`,
  );
}

export function checkNamedEvents(where: Ability, events: readonly NamedEvent[]): void {
  checkList(where, 'events', events, eventExample);
  for (const [i, event] of events.entries()) {
    checkObject(where, `events[${i}]`, event, eventExample);
    for (const field of Object.keys(event)) if (!eventFields.has(field)) throw unknownField(where, i, field);
    checkFields(where, `events[${i}]`, event, ['head', 'tail']);
    checkTime(where, `events[${i}].time`, event.time);
    if (event.type !== undefined && typeof event.type !== 'string')
      throw new ValueError(expected(where, 'the name of a type', `events[${i}].type`, event.type));
    if (event.features !== undefined && !Array.isArray(event.features))
      throw new ValueError(expected(where, 'a list of numbers', `events[${i}].features`, event.features));
  }
}

/** Returns whether an argument is neither a name nor a list of names. */
export function isNewNodes(given: Name | readonly Name[] | NewNodes): given is NewNodes {
  return typeof given === 'object' && given !== null && !Array.isArray(given);
}

/**
 * Checks the form; fields are checked with the encoding of the training data.
 *
 * @param prefix precedes `nodes` and `edges` in messages: empty, or an option and a dot
 */
export function checkNewNodes(where: Ability, prefix: '' | 'newNodes.', given: NewNodes): void {
  checkObject(where, prefix.slice(0, -1), given, newNodeExample);
  checkOptionNames(`${where}${prefix === '' ? '' : '.newNodes'}`, given, { nodes: true, edges: true });
  checkList(where, `${prefix}nodes`, given.nodes, newNodeExample);
  for (const [i, node] of given.nodes.entries())
    checkObject(where, `${prefix}nodes[${i}]`, node, newNodeExample);
  if (given.edges === undefined) return;
  checkList(where, `${prefix}edges`, given.edges, newNodeExample);
  for (const [i, edge] of given.edges.entries()) {
    if (typeof edge !== 'object' || edge === null || (Array.isArray(edge) && edge.length !== 2))
      throw new ValueError(
        expected(where, 'an object or [source, target]', `${prefix}edges[${i}]`, edge, newNodeExample),
      );
    const { source, target, relation } = newEdgeFields(edge);
    checkName(where, `the source of ${prefix}edges[${i}]`, source);
    checkName(where, `the target of ${prefix}edges[${i}]`, target);
    if (relation !== undefined) checkName(where, `${prefix}edges[${i}].relation`, relation);
  }
}

/** Returns the ends and the relation of an edge of a new node. */
export function newEdgeFields(edge: NewEdge): Exclude<NewEdge, readonly unknown[]> {
  return 'source' in edge ? edge : { source: edge[0], target: edge[1] };
}

/** Returns the maximum number of answers. */
export function checkCount(where: Ability, { k = 10 }: Pick<RankOptions, 'k'>): number {
  return checkInteger(where, 'k', k, 1);
}

/** Throws unless an option is left out or one of `choices`. */
export function checkChoice(where: Ability, name: string, value: unknown, choices: readonly string[]): void {
  if (value !== undefined && !choices.includes(value as string))
    throw new ValueError(expected(where, choices.join(' or '), name, value));
}

/** Returns whether a caller passed several questions. */
export function isList<T>(given: T | readonly T[]): given is readonly T[] {
  return Array.isArray(given);
}

function checkList(where: Ability, name: string, value: unknown, advice: string): void {
  if (!Array.isArray(value)) throw new ValueError(expected(where, 'a list', name, value, advice));
}

function checkObject(where: Ability, name: string, value: unknown, advice: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ValueError(expected(where, 'an object', name, value, advice));
}

function checkFields(where: Ability, name: string, given: RankQuestion, needed: readonly string[]): void {
  for (const field of ['head', 'tail', 'relation'] as const)
    if (given[field] !== undefined || needed.includes(field))
      checkName(where, `${name}.${field}`, given[field]);
  if (given.time !== undefined) checkTime(where, `${name}.time`, given.time);
}

function checkTime(where: Ability, name: string, value: unknown): void {
  if (typeof value === 'number' || (value instanceof Date && !Number.isNaN(value.getTime()))) return;
  throw new ValueError(expected(where, 'a number or a Date', name, value));
}

/** Returns a time as a number; a date in seconds since 1970. */
export function timeNumber(time: number | Date): number {
  return time instanceof Date ? time.getTime() / 1000 : time;
}

function checkName(where: Ability, name: string, value: unknown, advice = ''): void {
  if (typeof value === 'string') return;
  if (Number.isFinite(value) && Math.abs(value as number) > Number.MAX_SAFE_INTEGER)
    throw new ValueError(
      expected(
        where,
        'a name, as text if it is a number beyond 2^53',
        name,
        value,
        'Others could be the same number.',
      ),
    );
  if (Number.isFinite(value)) return;
  throw new ValueError(expected(where, 'the name of a node or relation', name, value, advice));
}
