/** Writer of a CSV file that gets its final name once it is complete. */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { csvField } from '../../data/formats/csv-text.js';
import { FileWriter } from '../../data/prepare/binary-file.js';
import { trackUnfinished, untrackFinished } from '../../data/prepare/unfinished-files.js';
import { temporaryName } from '../../storage/temporary-name.js';

export class CsvFile {
  readonly #path: string;
  readonly #unfinished: string;
  readonly #file: FileWriter;

  constructor(folder: string, name: string, header: readonly string[]) {
    this.#path = join(folder, name);
    this.#unfinished = temporaryName(this.#path);
    trackUnfinished(this.#unfinished);
    this.#file = new FileWriter(this.#unfinished);
    this.write(header);
  }

  write(fields: readonly string[]): void {
    this.#file.writeText(`${fields.map((field) => csvField(field, ',')).join(',')}\n`);
  }

  close(): string {
    this.#file.close();
    renameSync(this.#unfinished, this.#path);
    untrackFinished(this.#unfinished);
    return this.#path;
  }
}
