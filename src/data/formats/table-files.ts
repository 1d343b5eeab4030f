/**
 * Files for the tables of table-text.ts, so that the readers of text can read them, some twice. Messages of these readers
 * have the file and the line; `rename` replaces them by the name of the table and the row.
 */
import { createWriteStream } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type FormatError, SkeinError } from '../../util/errors.js';
import { type LazyDuckDb, lazyDuckDb } from './duckdb.js';
import { tableEnding } from './table-layout.js';
import type { TableQuery, TableRequest } from './table-source.js';
import { type Connect, tableText } from './table-text.js';
import { readChunks } from './text-lines.js';

export class TableFiles {
  readonly #names = new Map<string, string>();

  /** @param folder where to write; it must exist, and the caller removes it. */
  constructor(
    readonly folder: string,
    readonly connect: Connect,
  ) {}

  /** Returns the path of a table as text: its own path, or that of a file with its rows. */
  async textOf(request: TableRequest): Promise<string> {
    const { source, name } = request;
    const text = tableText(request, this.connect);
    if (text === null) return source as string;
    const folder = join(this.folder, `table${this.#names.size}`);
    await mkdir(folder);
    // The name of a table may tell the type of its nodes.
    const stem = typeof source === 'string' ? basename(source).replace(/\..*$/, '') : 'query';
    const path = join(folder, `${stem}${tableEnding}`);
    this.#names.set(path, name);
    await pipeline(text, createWriteStream(path, { highWaterMark: 1 << 20 }));
    return path;
  }

  /** Replaces the paths of the files in a text by the names of their tables. */
  rename(text: string): string {
    let renamed = text;
    for (const [path, name] of this.#names) renamed = renamed.replaceAll(path, name);
    return renamed;
  }

  /** Runs `work`; an error of it names tables and rows. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw error instanceof SkeinError ? await this.#renamed(error) : error;
    }
  }

  async #renamed(error: SkeinError): Promise<SkeinError> {
    let { message } = error;
    for (const [path, name] of this.#names) {
      const lines = [...message.matchAll(new RegExp(`${escapePattern(path)}:(\\d+)`, 'g'))];
      for (const [place, line] of lines) {
        const row = await rowOfLine(path, Number(line));
        message = message.replace(place, row === 0 ? name : `${name}, row ${row}`);
      }
      message = message.replaceAll(path, name);
    }
    if (message === error.message) return error;
    const { path, line: _line, ...details } = error.details;
    const kind = error.constructor as typeof FormatError;
    return new kind(message, { ...details, path: this.#names.get(String(path)) ?? path });
  }
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** Returns the number of the row, from 1 (0: the header), that starts at a line; quoted fields may contain line breaks. */
async function rowOfLine(path: string, wanted: number): Promise<number> {
  let [line, row, quoted] = [1, 0, false];
  for await (const chunk of readChunks(path)) {
    for (const byte of chunk) {
      if (byte === 34) quoted = !quoted;
      if (byte !== 10) continue;
      if (line >= wanted) return row;
      line++;
      if (!quoted) row++;
    }
  }
  return row;
}

/** Writes the result of a query to a CSV file with a header. */
export async function writeQuery(where: string, source: TableQuery, path: string): Promise<void> {
  await withTableFiles(where, async (tables) => {
    const text = await tables.textOf({ source, kind: 'edges', name: 'query' });
    await mkdir(dirname(path), { recursive: true });
    await copyFile(text, path);
  });
}

/** Runs `work` with files in a temporary folder and a database of its own, and removes both. */
export async function withTableFiles<T>(where: string, work: (tables: TableFiles) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'skein-table-'));
  const database: LazyDuckDb = lazyDuckDb(where);
  try {
    const tables = new TableFiles(folder, database.connect);
    return await tables.run(() => work(tables));
  } finally {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  }
}
