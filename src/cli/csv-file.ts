/** A CSV file that has its name once it is complete. */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { FileWriter } from '../data/prepare/binary-file.js';
import { csvField } from '../data/prepare/mapping-file.js';
import { fileBegun, fileFinished } from '../data/prepare/unfinished-files.js';

export class CsvFile {
  readonly #path: string;
  readonly #file: FileWriter;

  constructor(folder: string, name: string, header: readonly string[]) {
    this.#path = join(folder, name);
    fileBegun(`${this.#path}.tmp`);
    this.#file = new FileWriter(`${this.#path}.tmp`);
    this.write(header);
  }

  write(fields: readonly string[]): void {
    this.#file.writeText(`${fields.map((field) => csvField(field, ',')).join(',')}\n`);
  }

  close(): string {
    this.#file.close();
    renameSync(`${this.#path}.tmp`, this.#path);
    fileFinished(`${this.#path}.tmp`);
    return this.#path;
  }
}
