/**
 * Text columns of WordNet synsets for TEXT layers:
 *
 *   words   the words of the synset
 *   stems   their first four and six letters, which related words of different parts of speech share
 *   last    the last word of each of its names: an apple tree is a tree
 *   genus   the start of the definition, up to its first qualification: "a small domestic cat" of "a small domestic cat
 *           that hunts mice". Lexicographers name the kind of a thing there, and its differences after it
 *   head    the last word of the genus of a noun ("cat"), the first word of other definitions
 *   gloss   the whole definition, without its examples
 *
 * Plural endings are removed, so that "trees" and "tree" are one word.
 */
import type { WordNet } from './wordnet.js';

export const textColumns = ['words', 'stems', 'last', 'genus', 'head', 'gloss'] as const;

/** Words that begin a definition without naming a kind: "any of various trees". */
const openings = wordSet(
  `a an the any some one of various several numerous either all each kind kinds type types sort form variety varieties
  genus member members group class many most another other certain`,
);
/** Words that end the genus. */
const qualifications = wordSet(
  `that which who whom whose where when of in with for from by on at to used having made consisting containing resembling
  as like between during especially usually often so into over under about against among through typically being based
  formed given characterized characterised belonging situated located using`,
);
/** Words without a meaning of their own. */
const functionWords = wordSet(
  `a an the of in on at to for from by with or and as is are be that which who whom whose it its their his her this these
  those into not no`,
);
/** Adjectives after which a comma does not end the genus: "a tall, deciduous tree". */
const adjectives = wordSet(
  `small large tall long old slender low short big flat thin thick hard soft heavy light deciduous evergreen coarse erect
  annual perennial hardy`,
);

function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/));
}

/** Returns the text of each column of a synset. */
export function synsetText({ entities, words, glosses }: WordNet, synset: number): string[] {
  const isNoun = entities[synset].split('.').at(-2) === 'n';
  const names = words[synset].flatMap((name) => splitWords(name));
  const definition = definitionOf(glosses[synset]);
  const genus = isNoun ? nounGenus(definition) : verbGenus(definition);
  const head = isNoun ? genus.slice(-1) : genus.slice(0, 1);
  return [
    names,
    names.flatMap((name) => [name.slice(0, 4), name.slice(0, 6)]),
    words[synset].flatMap((name) => splitWords(name).slice(-1)),
    genus.flatMap(splitWords),
    head.flatMap(splitWords),
    splitWords(definition).filter((word) => !functionWords.has(word)),
  ].map((column) => column.join(' '));
}

/** Returns the definition of a gloss, without its examples. */
export function definitionOf(gloss: string): string {
  return gloss.split('; "')[0].replace(/^"/, '');
}

function splitWords(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map(removePlural);
}

function removePlural(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && /(sses|xes|ches|shes|zes)$/.test(word)) return word.slice(0, -2);
  return word.length > 3 && word.endsWith('s') && !/(ss|us|is)$/.test(word) ? word.slice(0, -1) : word;
}

/** Returns words and punctuation, without remarks in parentheses. */
function tokensOf(definition: string): string[] {
  const plain = definition.toLowerCase().replace(/\([^)]*\)/g, ' ');
  return plain.match(/[\p{L}\p{N}-]+|[,;:]/gu) ?? [];
}

/** Longest genus, in words. */
const maxGenus = { noun: 8, verb: 3 } as const;

function nounGenus(definition: string): string[] {
  const tokens = tokensOf(definition);
  const start = tokens.findIndex((token) => !openings.has(token));
  const genus: string[] = [];
  for (let i = start < 0 ? tokens.length : start; i < tokens.length; i++) {
    const token = tokens[i];
    const ends = token === ',' ? !adjectives.has(genus.at(-1) ?? ',') : /[;:]/.test(token);
    const qualifies =
      qualifications.has(token) || (token.endsWith('ed') && qualifications.has(tokens[i + 1]));
    if (genus.length === maxGenus.noun || (genus.length > 0 && (ends || qualifies))) break;
    if (/[\p{L}\p{N}]/u.test(token) && !functionWords.has(token) && !qualifications.has(token))
      genus.push(token);
  }
  return genus;
}

function verbGenus(definition: string): string[] {
  const tokens = tokensOf(definition);
  const end = tokens.findIndex((token) => /[,;:]/.test(token));
  return (end < 0 ? tokens : tokens.slice(0, end))
    .filter((token) => !['or', 'and', 'to'].includes(token))
    .slice(0, maxGenus.verb);
}
