/**
 * The checkpoint state of trained rows, for every task that has them: the list of their files and the optimiser state.
 * Without rows the table is null.
 */
import type { DurableRows, RowOptimizer, RowOptimizerState } from '../../../storage/index.js';
import type { TableManifest } from '../../../storage/table-manifest.js';
import type { SavedState } from '../../task.js';

/** The checkpoint state of trained rows. */
export interface KeptRowsState {
  readonly table: TableManifest | null;
  readonly rowOptimizer: RowOptimizerState | null;
}

export class KeptRows {
  readonly #table: DurableRows | null;
  readonly #optimizer: RowOptimizer | null;
  readonly #rate: number;
  #opened: string;

  /** @param opened the checkpoint's table that `table` was opened with. */
  constructor(
    table: DurableRows | null,
    optimizer: RowOptimizer | null,
    opened: TableManifest | null = null,
  ) {
    this.#table = table;
    this.#optimizer = optimizer;
    this.#rate = optimizer?.learningRate ?? 0;
    this.#opened = JSON.stringify(opened);
  }

  /** Sets the learning rate to this fraction of the initial one. */
  scaleRate(factor: number): void {
    if (this.#optimizer !== null) this.#optimizer.learningRate = this.#rate * factor;
  }

  async snapshot(): Promise<KeptRowsState> {
    return {
      table: (await this.#table?.checkpoint()) ?? null,
      rowOptimizer: this.#optimizer?.state() ?? null,
    };
  }

  async restore({ table, rowOptimizer }: KeptRowsState): Promise<void> {
    // Rows that were opened for the checkpoint are loaded already, perhaps partitioned for another number of workers.
    if (table !== null && JSON.stringify(table) !== this.#opened) await this.#table?.restore(table);
    this.#opened = '';
    if (rowOptimizer !== null) this.#optimizer?.restore(rowOptimizer);
  }

  /** @param kept the states of the tasks of all checkpoints. */
  async prune(kept: readonly SavedState['state'][]): Promise<void> {
    await this.#table?.prune(kept.flatMap((state) => (state as unknown as KeptRowsState).table ?? []));
  }
}
