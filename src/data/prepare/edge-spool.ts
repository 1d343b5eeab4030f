/**
 * Intermediate storage of edges during preprocessing: the ends go to the numbering of names, relations and weights to
 * files, all in the order of the input. An invalid field is returned as a message, so that the reader can add its location.
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
  /** Ids and relations are whole numbers that are kept; `numNodes` and `numRelations` limit them. */
  readonly keep: boolean;
  readonly numNodes?: number | undefined;
  readonly numRelations?: number | undefined;
}

export class EdgeSpool {
  readonly types = new ByteNames();
  #largestType = -1;
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

  /** Adds the ends of an edge; returns an error message, or null. */
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
    const what = id < 0 ? 'a whole number (noRemapIds keeps ids)' : `a number from 0 to ${numNodes - 1}`;
    return `expected ${what} for the ${side} id, got ${JSON.stringify(bytes.toString('utf8', start, end))}`;
  }

  addType(bytes: Buffer, start: number, end: number): string | null {
    if (start === end) return 'expected text for the type, got ""';
    if (!this.options.keep) {
      this.#relations?.writeInt32(this.types.add(bytes, start, end));
      return null;
    }
    const id = parseId(bytes, start, end);
    if (id < 0 || end - start > 9)
      return `expected a whole number for the type, got ${JSON.stringify(bytes.toString('utf8', start, end))}`;
    this.#largestType = Math.max(this.#largestType, id);
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

  /** Closes the files; returns the number of relations, 0 for edges without a type. */
  finish(): number {
    this.#relations?.close();
    this.#weights?.close();
    const { hasTypes, keep, numRelations } = this.options;
    if (!hasTypes) return 0;
    if (!keep) return this.types.size;
    if (numRelations !== undefined && this.#largestType >= numRelations)
      throw new FormatError(
        `preprocess: expected relations from 0 to ${numRelations - 1}, got ${this.#largestType}. Raise numRelations.`,
      );
    return numRelations ?? this.#largestType + 1;
  }
}
