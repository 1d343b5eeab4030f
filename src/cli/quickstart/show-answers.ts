/**
 * The answers that the quickstart shows: nearest neighbours of a word, hypernyms that were held out, and one wrong answer
 * with the words that led to it.
 */
import { readGlosses } from '../../data/prepare/glosses.js';
import type { NameTable } from '../../data/prepare/name-table.js';
import { definitionOf } from '../../data/wordnet-text.js';
import { wordContributions } from '../../predict/explain/words.js';
import { nearestNodes, type ScoredNode, topLinks } from '../../predict/top-nodes.js';
import type { OpenedGraphRun, Output } from '../../train/index.js';
import type { HeldOut } from './hypernym-ranks.js';

/** Number of answers that are searched for the right one. */
const depth = 100;
/** Number of answers that are shown, and of questions. */
const shown = 5;
const maxQuestions = 6;
/** Fewest synsets whose definitions or names have the word of a question: readers know it. */
const fewestUses = 20;

export async function showNeighbours(run: OpenedGraphRun, name: string, output: Output): Promise<void> {
  const names = await run.dataset.nodeNames();
  const node = names.idOf(name);
  if (node === undefined) return;
  const [near] = await nearestNodes(run, Int32Array.of(node), 6);
  const found = near.map(({ id, score }) => ({ name: names.nameOf(id), score }));
  const glosses = await readGlosses(run.dataset.directory, new Set(found.map((one) => one.name)));
  output.text(`\nNearest to ${name}:`);
  for (const { name: other, score } of found)
    output.text(`  ${score.toFixed(2)}  ${other.padEnd(28)} ${shorten(glosses.get(other))}`);
  output.event('neighbours', { of: name, found });
}

/** An answered question about a held-out edge. */
interface Answered {
  readonly head: number;
  readonly tail: number;
  readonly top: readonly ScoredNode[];
  /** Rank of the right answer, from 1; 0 if it is not among the first. */
  readonly rank: number;
}

/**
 * Shows questions at equal distances in the test set, which is in WordNet's order of topics, and explains the first wrong
 * answer among them; if there is none, that of the first other question with one.
 */
export async function showHypernyms(run: OpenedGraphRun, edges: HeldOut, output: Output): Promise<void> {
  const questions = await knownQuestions(run, edges);
  output.text(
    '\nWhat kind of thing is it? Hypernyms that were held out of training (✓ marks the right answer):',
  );
  const distance = Math.max(1, Math.floor(questions.length / maxQuestions));
  const isAsked = (i: number): boolean => i % distance === 0 && i < distance * maxQuestions;
  const isWrong = ({ rank }: Answered): boolean => rank === 0 || rank > shown;
  let wrong: Answered | undefined;
  for (const question of questions.filter((_, i) => isAsked(i))) {
    const answered = await answer(run, edges, question);
    await show(run, answered, output);
    if (isWrong(answered)) wrong ??= answered;
  }
  for (const question of questions.filter((_, i) => !isAsked(i))) {
    if (wrong !== undefined) break;
    const answered = await answer(run, edges, question);
    if (isWrong(answered)) wrong = answered;
  }
  if (wrong === undefined) return;
  output.text('\nA wrong answer, and why:');
  await show(run, wrong, output);
  await explain(run, edges.relation, wrong, output);
}

/** Returns the questions about first senses of words that occur often enough for readers to know them, in the order of the test set. */
async function knownQuestions(run: OpenedGraphRun, { heads }: HeldOut): Promise<number[]> {
  const names = await run.dataset.nodeNames();
  const vocabulary = (await run.dataset.readText())?.vocabulary;
  const usesOf = (word: string): number =>
    vocabulary === undefined
      ? fewestUses
      : Math.max(0, ...vocabulary.numbersOf(word).map((number) => vocabulary.counts[number]));
  return Array.from(heads.keys()).filter((i) => {
    const [, word] = /^([a-z]+)\.n\.01$/.exec(names.nameOf(heads[i])) ?? [];
    return word !== undefined && usesOf(word) >= fewestUses;
  });
}

async function answer(
  run: OpenedGraphRun,
  { relation, heads, tails }: HeldOut,
  question: number,
): Promise<Answered> {
  const [head, tail] = [heads[question], tails[question]];
  const index = await run.storage.filterIndex();
  const others = new Set(index.lists(Int32Array.of(head), Int32Array.of(relation), true).ids);
  others.delete(tail);
  const asked = { node: head, relation, want: 'tail', count: depth, exclude: others.add(head) } as const;
  const [top] = await topLinks(run, [asked]);
  return { head, tail, top, rank: top.findIndex(({ id }) => id === tail) + 1 };
}

async function show(run: OpenedGraphRun, { head, tail, top, rank }: Answered, output: Output): Promise<void> {
  const names: NameTable = await run.dataset.nodeNames();
  const found = top.slice(0, shown).map(({ id }) => names.nameOf(id));
  const [name, right] = [names.nameOf(head), names.nameOf(tail)];
  const glosses = await readGlosses(run.dataset.directory, new Set([name, right, ...found]));
  output.text(`  ${name}: ${shorten(glosses.get(name))}`);
  for (const guess of found)
    output.text(`    ${guess === right ? '✓' : ' '} ${guess.padEnd(26)} ${shorten(glosses.get(guess))}`);
  if (!found.includes(right))
    output.text(
      `    right: ${right}, ${shorten(glosses.get(right))} (rank ${rank === 0 ? `${depth + 1} or later` : rank})`,
    );
  output.event('hypernyms', { of: name, right, place: rank === 0 ? null : rank, found });
}

const columnText: Readonly<Record<string, string>> = {
  words: 'in its name',
  stems: 'as the start of its name',
  last: 'at the end of its name',
  head: 'as the head of its definition',
  genus: 'at the start of its definition',
  gloss: 'in its definition',
};

/** Prints the words that raised the first answer above the right one, and those that did the opposite. */
async function explain(
  run: OpenedGraphRun,
  relation: number,
  { head, tail, top }: Answered,
  output: Output,
): Promise<void> {
  const words = await wordContributions(run, { node: head, relation, answer: top[0].id, instead: tail });
  if (words === null) return;
  const names = await run.dataset.nodeNames();
  const list = (some: typeof words): string =>
    some
      .map(
        ({ word, column, value }) =>
          `"${word}" ${columnText[column] ?? ''} (${value > 0 ? '+' : '−'}${Math.abs(value).toFixed(1)})`,
      )
      .join(', ');
  const [chosen, right] = [names.nameOf(top[0].id), names.nameOf(tail)];
  const raised = words.filter(({ value }) => value > 0).slice(0, 3);
  const lowered = words
    .filter(({ value }) => value < 0)
    .slice(-2)
    .reverse();
  if (raised.length > 0) output.text(`    ${chosen} instead of ${right} because of ${list(raised)}.`);
  if (lowered.length > 0) output.text(`    Against it: ${list(lowered)}.`);
  output.event('explanation', { of: names.nameOf(head), chosen, right, words: [...raised, ...lowered] });
}

/** Returns the definition without its examples, on one line. */
function shorten(gloss: string | undefined): string {
  const definition = definitionOf(gloss ?? '');
  return definition.length > 78 ? `${definition.slice(0, 77)}…` : definition;
}
