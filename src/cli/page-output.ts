/**
 * The output of `skein train --ui`: starts the page when training has a directory, and prints its address. The event `done` waits
 * for the page, so that it is the last one.
 */
import { dirname } from 'node:path';
import { Output, type OutputOptions } from '../train/run/output.js';
import { openRunPage, type RunPage } from './run-page.js';
import { untilStopped } from './stop-signals.js';

export interface PageOutputOptions extends OutputOptions {
  readonly plugins: readonly string[];
  /** Whether the page shows all runs in the folder of the first one. */
  readonly showsFolder: boolean;
}

export class PageOutput extends Output {
  readonly #options: Pick<PageOutputOptions, 'plugins' | 'showsFolder'>;
  #opening: Promise<RunPage | null> | null = null;
  #done: Readonly<Record<string, unknown>> | null = null;

  constructor({ plugins, showsFolder, ...options }: PageOutputOptions) {
    super(options);
    this.#options = { plugins, showsFolder };
  }

  override event(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
    const { directory } = fields;
    if (event === 'config' && typeof directory === 'string') this.#opening ??= this.#open(directory);
    this.#writeDone();
    if (event === 'done' && this.#opening !== null) this.#done = fields;
    else super.event(event, fields);
  }

  #writeDone(): void {
    if (this.#done !== null) super.event('done', this.#done);
    this.#done = null;
  }

  async #open(run: string): Promise<RunPage | null> {
    const { plugins, showsFolder } = this.#options;
    const directory = showsFolder ? dirname(run) : run;
    try {
      const page = await openRunPage({ directory, plugins });
      this.text(`Page: ${page.link}`);
      super.event('ui', { url: page.link, directory });
      return page;
    } catch (error) {
      // Training does not depend on its page.
      this.warn(`the page is not shown: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    }
  }

  /** Prints the end of the command. With `waits` the page then stays open until Ctrl+C; otherwise it is closed. */
  async finish(waits: boolean): Promise<void> {
    const page = (await this.#opening) ?? null;
    this.#writeDone();
    if (page === null) return;
    try {
      if (waits) await this.#wait(page);
    } finally {
      await page.close();
    }
  }

  async #wait({ link, ended }: RunPage): Promise<void> {
    this.note(`The page stays open at ${link} until Ctrl+C.`);
    // Pending promises alone would not keep the process alive.
    const timer = setInterval(() => {}, 60_000);
    await untilStopped((stopped) => Promise.race([stopped, ended])).finally(() => clearInterval(timer));
  }
}
