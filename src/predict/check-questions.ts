/** Checks of a predictor's arguments before any lookup: programs in plain JavaScript may pass anything. */
import { checkInteger, expected, ValueError } from '../util/errors.js';
import type { Ability, EdgeName, Name, NamedEvent, RankOptions, RankQuestion } from './predictor.js';

const questionExample = 'Pass a list, such as [{ head: "a", relation: "r" }].';
const edgeExample = 'Pass a list, such as [{ head: "a", relation: "r", tail: "b" }].';
const nameExample = 'Pass a list, such as ["a", "b"].';
const eventExample = 'Pass a list, such as [{ head: "a", tail: "b", time: 5 }].';

export function checkNames(where: Ability, names: readonly Name[]): void {
  checkList(where, 'names', names, nameExample);
  for (const [i, name] of names.entries()) checkName(where, `names[${i}]`, name);
}

export function checkEdges(where: Ability, edges: readonly EdgeName[]): void {
  checkList(where, 'edges', edges, edgeExample);
  for (const [i, edge] of edges.entries()) {
    checkObject(where, `edges[${i}]`, edge, edgeExample);
    checkFields(where, `edges[${i}]`, edge, ['head', 'tail']);
  }
}

export function checkQuestions(where: Ability, questions: readonly RankQuestion[]): void {
  checkList(where, 'questions', questions, questionExample);
  for (const [i, question] of questions.entries()) {
    checkObject(where, `questions[${i}]`, question, questionExample);
    checkFields(where, `questions[${i}]`, question, []);
  }
}

export function checkNamedEvents(where: Ability, events: readonly NamedEvent[]): void {
  checkList(where, 'events', events, eventExample);
  for (const [i, event] of events.entries()) {
    checkObject(where, `events[${i}]`, event, eventExample);
    checkFields(where, `events[${i}]`, event, ['head', 'tail']);
    checkTime(where, `events[${i}].time`, event.time);
    if (event.type !== undefined && typeof event.type !== 'string')
      throw new ValueError(expected(where, 'the name of a type', `events[${i}].type`, event.type));
    if (event.features !== undefined && !Array.isArray(event.features))
      throw new ValueError(expected(where, 'a list of numbers', `events[${i}].features`, event.features));
  }
}

/** Returns the maximum number of answers. */
export function checkCount(where: Ability, { k = 10 }: Pick<RankOptions, 'k'>): number {
  return checkInteger(where, 'k', k, 1);
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

function checkName(where: Ability, name: string, value: unknown): void {
  if (typeof value === 'string' || Number.isFinite(value)) return;
  throw new ValueError(expected(where, 'the name of a node or relation', name, value));
}
