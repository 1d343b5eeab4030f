/**
 * Edges on their way to a prepared directory: the ends go to the numbering of names, relations and weights to files beside
 * it, all in the order of the input. A field that breaks a rule is not thrown but told, so that the reader can say where.
 */
import { join } from 'node:path';
import { FormatError } from '../../util/errors.js';
import { ByteNames } from '../formats/byte-names.js';
import { f32Limit } from '../formats/edge-list-options.js';
import { parseId, parseNumber } from '../formats/parse-number.js';
import { bytesOf, FileWriter } from './binary-file.js';
import type { NameSink } from './name-numbers.js';

export interface SpoolOptions {
  readonly hasTypes: boolean;
  readonly hasWeights: boolean;
  /** Ids and relations are whole numbers that stay; `numNodes` and `numRelations` bound them. */
  readonly keep: boolean;
  readonly numNodes?: number | undefined;
  readonly numRelations?: number | undefined;
}

export class EdgeSpool {
  readonly kinds = new ByteNames();
  #largestKind = -1;
  readonly #relations: FileWriter | null;
  readonly #weights: FileWriter | null;
  readonly #weight = new Float32Array(1);

  constructor(
    folder: string,
    readonly names: NameSink,
    readonly options: SpoolOptions,
  ) {
    this.#relations = options.hasTypes ? new FileWriter(join(folder, 'relations.bin')) : null;
    this.#weights = options.hasWeights ? new FileWriter(join(folder, 'weights.bin')) : null;
  }

  get relationsPath(): string | null {
    return this.#relations?.path ?? null;
  }

  get weightsPath(): string | null {
    return this.#weights?.path ?? null;
  }

  /** The ends of an edge; says what is wrong with them, or null. */
  add(bytes: Buffer, source: number, sourceEnd: number, target: number, targetEnd: number): string | null {
    const problem =
      this.#idProblem('source', bytes, source, sourceEnd) ??
      this.#idProblem('target', bytes, target, targetEnd);
    if (problem !== null) return problem;
    this.names.add(bytes, source, sourceEnd, 0);
    this.names.add(bytes, target, targetEnd, 1);
    return null;
  }

  #idProblem(side: string, bytes: Buffer, start: number, end: number): string | null {
    const { keep, numNodes = 2 ** 31 - 1 } = this.options;
    if (!keep) return start < end ? null : `expected a name for the ${side} id, got ""`;
    const id = parseId(bytes, start, end);
    if (id >= 0 && id < numNodes) return null;
    const what =
      id < 0
        ? 'a whole number (ids are kept as they are with noRemapIds)'
        : `a number from 0 to ${numNodes - 1}`;
    return `expected ${what} for the ${side} id, got ${JSON.stringify(bytes.toString('utf8', start, end))}`;
  }

  addType(bytes: Buffer, start: number, end: number): string | null {
    if (start === end) return 'expected a word for the type, got ""';
    if (!this.options.keep) {
      this.#relations?.writeInt32(this.kinds.add(bytes, start, end));
      return null;
    }
    const id = parseId(bytes, start, end);
    if (id < 0 || end - start > 9)
      return `expected a whole number for the type, got ${JSON.stringify(bytes.toString('utf8', start, end))}`;
    this.#largestKind = Math.max(this.#largestKind, id);
    this.#relations?.writeInt32(id);
    return null;
  }

  addWeight(bytes: Buffer, start: number, end: number): string | null {
    const value = parseNumber(bytes, start, end);
    const got = (): string => JSON.stringify(bytes.toString('utf8', start, end));
    if (!Number.isFinite(value)) return `expected a finite number for the weight, got ${got()}`;
    if (Math.abs(value) >= f32Limit)
      return `expected a number within the range of f32 for the weight, got ${got()}`;
    this.#weight[0] = value;
    this.#weights?.write(bytesOf(this.#weight));
    return null;
  }

  /** Closes the files; returns the number of relations, 0 for edges of one kind. */
  finish(): number {
    this.#relations?.close();
    this.#weights?.close();
    const { hasTypes, keep, numRelations } = this.options;
    if (!hasTypes) return 0;
    if (!keep) return this.kinds.size;
    if (numRelations !== undefined && this.#largestKind >= numRelations)
      throw new FormatError(
        `preprocess: expected relations from 0 to ${numRelations - 1}, got ${this.#largestKind}. Raise numRelations.`,
      );
    return numRelations ?? this.#largestKind + 1;
  }
}
