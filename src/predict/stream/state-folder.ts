/**
 * Files of a stream's folder besides its log. Released events are in files of fixed size that are written once; a snapshot
 * has the events after them and everything else. Each file appears whole or not at all.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ArrayFile, loadArrays, saveArrays } from '../../storage/array-file.js';
import { withStorageErrors, writeFileAtomic } from '../../storage/atomic-file.js';
import { isTemporaryName } from '../../storage/temporary-name.js';
import { FormatError, SkeinError, StateError } from '../../util/errors.js';
import type { ReleasedColumns } from './stream-model.js';

/** Events per file of released events. */
export const eventsPerFile = 2 ** 17;
const keptSnapshots = 3;

/** Properties that must not change while a folder is in use. */
export interface StreamIdentity {
  readonly format: 2;
  /** Checksums of the training stream. */
  readonly stream: string;
  /** Checksum of the parameters. */
  readonly model: string;
  readonly batchSize: number;
}

/** Where a snapshot belongs. */
interface Origin {
  readonly sequence: number;
  readonly identity: StreamIdentity | null;
}

export class StateFolder {
  readonly path: string;
  #identity: StreamIdentity | null = null;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Sequence number of an entry that was in the log for certain: that of the newest snapshot, or the first, which is written
   * before `stream.json`; 0 for a new folder.
   */
  get durable(): number {
    if (!existsSync(this.path)) return 0;
    return this.#snapshots().at(-1) ?? (existsSync(this.#identityFile) ? 1 : 0);
  }

  get #identityFile(): string {
    return join(this.path, 'stream.json');
  }

  /** Throws if the folder belongs to another model. */
  checkIdentity(identity: StreamIdentity): void {
    this.#identity = identity;
    const path = this.#identityFile;
    if (!existsSync(path)) {
      if (this.#snapshots().length === 0) return;
      throw new FormatError(`openStream: expected ${path} next to snapshots, got none. Restore the file.`, {
        path,
      });
    }
    const found = readIdentity(path);
    for (const key of ['format', 'stream', 'model', 'batchSize'] as const)
      if (found[key] !== identity[key])
        throw new StateError(
          `openStream: expected the ${key} ${found[key]} with which ${this.path} was created, got ${identity[key]}. Use the same run and batch size, or another folder.`,
        );
  }

  /**
   * Removes incomplete files that a killed process has left: each snapshot has a name of its own, so no later one replaces
   * them. Safe because the lock of the log is held.
   */
  removeIncomplete(): void {
    withStorageErrors('write', this.path, () => {
      for (const name of readdirSync(this.path).filter(isTemporaryName))
        rmSync(join(this.path, name), { force: true });
    });
  }

  /** Writes the identity of a new folder. */
  async writeIdentity(identity: StreamIdentity): Promise<void> {
    if (existsSync(this.#identityFile)) return;
    await writeFileAtomic(this.#identityFile, Buffer.from(`${JSON.stringify(identity, null, 2)}\n`));
  }

  /** Writes the files of released events up to `released` that are full and not there yet. */
  async saveEvents(
    released: number,
    columnsOf: (from: number, to: number) => ReleasedColumns,
  ): Promise<void> {
    const full = Math.floor(released / eventsPerFile);
    for (let file = this.#countEventFiles(); file < full; file++) {
      const { ...arrays } = columnsOf(file * eventsPerFile, (file + 1) * eventsPerFile);
      await saveArrays(this.#eventFile(file), { arrays, json: { first: file * eventsPerFile } });
    }
  }

  async loadEvents(file: number): Promise<ReleasedColumns> {
    const path = this.#eventFile(file);
    const { arrays, json } = await loadArrays(path);
    const { first } = json as { readonly first?: number };
    if (first !== file * eventsPerFile)
      throw new FormatError(
        `stream: expected the events from ${file * eventsPerFile} on in ${path}, got those from ${first} on. Restore the file from a copy.`,
        { path },
      );
    return arrays as unknown as ReleasedColumns;
  }

  async saveSnapshot(sequence: number, content: ArrayFile): Promise<void> {
    const { json, arrays } = content;
    const origin: Origin = { sequence, identity: this.#identity };
    await saveArrays(this.#snapshotFile(sequence), { arrays, json: { ...(json as object), origin } });
    for (const old of this.#snapshots().slice(0, -keptSnapshots))
      withStorageErrors('write', this.path, () => rmSync(this.#snapshotFile(old), { force: true }));
  }

  /** Sequence number up to which the log is not needed: one snapshot alone could be damaged. */
  get unneeded(): number {
    const all = this.#snapshots();
    return all.length < 2 ? 0 : all[0];
  }

  /** Loads the newest snapshot that can be read; `notice` gets a sentence for each that cannot. */
  async loadSnapshot(
    notice: (sentence: string) => void,
  ): Promise<{ readonly sequence: number; readonly content: ArrayFile } | null> {
    const sequences = this.#snapshots();
    for (const sequence of sequences.reverse()) {
      const path = this.#snapshotFile(sequence);
      try {
        const content = await loadArrays(path);
        this.#checkOrigin(path, sequence, content);
        return { sequence, content };
      } catch (error) {
        if (!(error instanceof SkeinError || error instanceof SyntaxError)) throw error;
        notice(`The snapshot ${path} cannot be read and is left out: ${(error as Error).message}`);
      }
    }
    return null;
  }

  /** Throws for a snapshot under the name of another one, or of another stream. */
  #checkOrigin(path: string, sequence: number, { json }: ArrayFile): void {
    const { origin } = json as { readonly origin?: Origin };
    // Snapshots of earlier versions have no origin.
    if (origin === undefined) return;
    const isSame =
      origin.sequence === sequence && JSON.stringify(origin.identity) === JSON.stringify(this.#identity);
    if (!isSame)
      throw new FormatError(
        `stream: expected the snapshot of record ${sequence} in ${path}, got another one of record ${origin.sequence}.`,
        { path },
      );
  }

  /** Files are written in order, and their content never changes: the released events are the same after every crash. */
  #countEventFiles(): number {
    let count = 0;
    while (existsSync(this.#eventFile(count))) count++;
    return count;
  }

  #snapshots(): number[] {
    return withStorageErrors('read', this.path, () => readdirSync(this.path))
      .flatMap((name) => {
        const [, digits] = /^snapshot-(\d{16})\.safetensors$/.exec(name) ?? [];
        return digits === undefined ? [] : [Number(digits)];
      })
      .sort((a, b) => a - b);
  }

  #snapshotFile(sequence: number): string {
    return join(this.path, `snapshot-${String(sequence).padStart(16, '0')}.safetensors`);
  }

  #eventFile(file: number): string {
    return join(this.path, `events-${String(file).padStart(8, '0')}.safetensors`);
  }
}

function readIdentity(path: string): StreamIdentity {
  const text = withStorageErrors('read', path, () => readFileSync(path, 'utf8'));
  try {
    const found: unknown = JSON.parse(text);
    if (typeof found === 'object' && found !== null && 'format' in found) return found as StreamIdentity;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new FormatError(
    `openStream: expected the identity of a stream as JSON in ${path}, got something else. Restore the file, or use another folder.`,
    { path },
  );
}
