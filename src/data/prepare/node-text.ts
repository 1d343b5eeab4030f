/**
 * Text of nodes, which TEXT layers read. Each text column of a node is a set of words of one vocabulary. A prepared
 * directory has
 *
 *   nodes/text.json          the columns, the words by number, and the number of nodes that have each word
 *   nodes/text_offsets.bin   int32: column c of node i has the words offsets[i · columns + c] … of the next file
 *   nodes/text_words.bin     int32: numbers of words
 *
 * A word that a single node has cannot relate it to another, so it is not in the vocabulary.
 */
import { z } from 'zod';
import { SparseMatrix } from '../../graph/index.js';
import { FormatError } from '../../util/errors.js';
import { parsePreparedJson } from './prepared-json.js';

export const textFiles = {
  vocabulary: 'nodes/text.json',
  offsets: 'nodes/text_offsets.bin',
  words: 'nodes/text_words.bin',
} as const;

/** Fewest nodes that have a word of the vocabulary, and the maximum number of its words. */
const minNodes = 2;
const maxWords = 2 ** 18;

/** Returns the words of a text in lower case: runs of letters, digits and marks. */
export function splitWords(text: string): string[] {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  );
}

const schema = z.strictObject({
  format: z.literal('skein-node-text'),
  version: z.literal(1),
  numNodes: z.int().nonnegative(),
  columns: z.array(z.string()).nonempty(),
  words: z.array(z.string()),
  counts: z.array(z.int().positive()),
});

/** The text columns and the words that they may have. */
export class TextVocabulary {
  readonly #numbers: ReadonlyMap<string, number>;

  constructor(
    readonly columns: readonly string[],
    readonly words: readonly string[],
    /** Number of nodes that have each word. */
    readonly counts: readonly number[],
    readonly numNodes: number,
  ) {
    this.#numbers = new Map(words.map((word, i) => [word, i]));
  }

  /** Returns the numbers of the distinct words of a text, in order of appearance; words that are not in the vocabulary are ignored. */
  numbersOf(text: string): number[] {
    return [...new Set(splitWords(text))].flatMap((word) => this.#numbers.get(word) ?? []);
  }

  /** Returns the logarithm of the number of nodes per node that has the word: rare words have the largest weight. */
  weightOf(word: number): number {
    return Math.log(this.numNodes / this.counts[word]);
  }

  toText(): string {
    const { columns, words, counts, numNodes } = this;
    return `${JSON.stringify({ format: 'skein-node-text', version: 1, numNodes, columns, words, counts })}\n`;
  }

  static parse(text: string, path: string): TextVocabulary {
    const parsed = schema.safeParse(parsePreparedJson(text, path));
    if (!parsed.success || parsed.data.words.length !== parsed.data.counts.length) {
      const [issue] = parsed.error?.issues ?? [];
      const got =
        issue === undefined ? 'a different number of counts' : `${issue.message} at ${issue.path.join('.')}`;
      throw new FormatError(
        `${path}: expected the words of text columns, version 1, got ${got}. Prepare the directory again.`,
        { path },
      );
    }
    const { columns, words, counts, numNodes } = parsed.data;
    return new TextVocabulary(columns, words, counts, numNodes);
  }
}

/** The words of all nodes. */
export class NodeText {
  constructor(
    readonly vocabulary: TextVocabulary,
    /** Column c of node i has the words offsets[i · columns + c] … offsets[i · columns + c + 1] − 1. */
    readonly offsets: Int32Array,
    readonly words: Int32Array,
  ) {}

  /** Builds the vocabulary of all texts. @param cells returns the text of each column of a node. */
  static build(
    columns: readonly string[],
    numNodes: number,
    cells: (node: number) => readonly string[],
  ): NodeText {
    const counts = new Map<string, number>();
    for (let node = 0; node < numNodes; node++)
      for (const word of new Set(cells(node).flatMap(splitWords)))
        counts.set(word, (counts.get(word) ?? 0) + 1);
    // The sort is stable, so words with equal counts keep the order of their first appearance.
    const kept = [...counts]
      .filter(([, count]) => count >= minNodes)
      .sort(([, a], [, b]) => b - a)
      .slice(0, maxWords);
    const vocabulary = new TextVocabulary(
      columns,
      kept.map(([word]) => word),
      kept.map(([, count]) => count),
      numNodes,
    );
    return NodeText.encode(vocabulary, numNodes, cells);
  }

  /** Returns the words of nodes that the vocabulary has. */
  static encode(
    vocabulary: TextVocabulary,
    numNodes: number,
    cells: (node: number) => readonly string[],
  ): NodeText {
    const width = vocabulary.columns.length;
    const offsets = new Int32Array(numNodes * width + 1);
    const words: number[] = [];
    for (let node = 0; node < numNodes; node++)
      for (const [c, text] of cells(node).entries()) {
        for (const word of vocabulary.numbersOf(text)) words.push(word);
        offsets[node * width + c + 1] = words.length;
      }
    return new NodeText(vocabulary, offsets, Int32Array.from(words));
  }

  get numNodes(): number {
    return (this.offsets.length - 1) / this.vocabulary.columns.length;
  }

  /** Returns the text with other numbers of nodes: node i becomes order[i]. */
  renumber(order: Int32Array): NodeText {
    const { offsets, words, numNodes } = this;
    const width = this.vocabulary.columns.length;
    const nodeAt = new Int32Array(numNodes);
    for (let node = 0; node < numNodes; node++) nodeAt[order[node]] = node;
    const moved = new NodeText(this.vocabulary, new Int32Array(offsets.length), new Int32Array(words.length));
    let filled = 0;
    for (let row = 0; row < numNodes * width; row++) {
      const from = nodeAt[Math.floor(row / width)] * width + (row % width);
      moved.words.set(words.subarray(offsets[from], offsets[from + 1]), filled);
      filled += offsets[from + 1] - offsets[from];
      moved.offsets[row + 1] = filled;
    }
    return moved;
  }

  /**
   * Returns the words as a matrix with one row per node and column, in the order of the offsets, and one column per word.
   * A row has the weights of its words, divided by their norm.
   */
  matrix(): SparseMatrix {
    const { offsets, words, vocabulary } = this;
    const weights = Float64Array.from(vocabulary.words, (_, word) => vocabulary.weightOf(word));
    const values = new Float32Array(words.length);
    for (let row = 0; row + 1 < offsets.length; row++) {
      let squares = 0;
      for (let p = offsets[row]; p < offsets[row + 1]; p++) squares += weights[words[p]] ** 2;
      const scale = squares === 0 ? 0 : 1 / Math.sqrt(squares);
      for (let p = offsets[row]; p < offsets[row + 1]; p++) values[p] = weights[words[p]] * scale;
    }
    return SparseMatrix.fromCsr(offsets, words, values, [offsets.length - 1, vocabulary.words.length]);
  }
}
