/**
 * The node table of a run on the whole graph: rank 0's files, so that the run is opened, evaluated and gone on with like any
 * other. Nothing of it is read in training, where every worker has the features of its own partition.
 */
import type { WorkerGroup } from '../../dist/index.js';
import type { TableManifest } from '../../storage/index.js';
import type { BufferedNodeTable } from '../batch/buffered-node-table.js';
import { MemoryNodeTable, type RunTable } from '../batch/node-table.js';

/** All methods are collective. */
export class RootTable extends MemoryNodeTable implements RunTable {
  readonly optimizer = null;
  readonly #group: WorkerGroup;
  /** null on other ranks. */
  readonly #files: BufferedNodeTable | null;

  private constructor(group: WorkerGroup, files: BufferedNodeTable | null) {
    super({ numNodes: 0 });
    this.#group = group;
    this.#files = files;
  }

  static async open(group: WorkerGroup, open: () => Promise<BufferedNodeTable>): Promise<RootTable> {
    let files: BufferedNodeTable | null = null;
    await group.onRoot(async () => {
      files = await open();
    });
    return new RootTable(group, files);
  }

  checkpoint(): Promise<TableManifest> {
    return this.#group.onRoot(() => (this.#files as BufferedNodeTable).checkpoint());
  }

  async removeUnreferenced(keep: readonly TableManifest[]): Promise<void> {
    await this.#group.onRoot(() => (this.#files as BufferedNodeTable).removeUnreferenced(keep));
  }

  override async unload(write = false): Promise<void> {
    await this.#files?.unload(write);
  }
}
