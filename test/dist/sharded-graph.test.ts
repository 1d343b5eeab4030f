/**
 * Graphs whose edges are sharded over workers, and the rows that a worker of a run holds: one worker here, several
 * under mpirun.
 */
import { writeFileSync } from 'node:fs';
import { SelfCommunicator } from 'skein/dist';
import { describe, expect, it } from 'vitest';
import { randomRows, scratch, tinyConfig, writeDataset } from '../train/tiny.js';
import { hasMpi, launch, withoutMpi } from './mpi-launch.js';
import { shardedCases } from './sharded-cases.js';
import { workerCounts } from './worker-counts.js';

const folder = scratch();

describe('one worker', () => {
  it.each(shardedCases)('$name', async ({ run }) => {
    await run(new SelfCommunicator());
  });
});

describe.skipIf(!hasMpi)(`MPI${withoutMpi}`, () => {
  it.each(workerCounts([3], [2]))(
    '%i ranks',
    async (ranks) => {
      const { code, lines, err } = await launch(ranks, [
        'case-worker.ts',
        'sharded-cases.js',
        'shardedCases',
      ]);
      expect(lines.filter(({ error }) => error !== '')).toEqual([]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(lines.length).toBe(ranks * shardedCases.length);
    },
    240_000,
  );

  it('a worker of a run holds its part of the rows and edges, or all of them; what needs all edges is refused', async () => {
    const numNodes = 100;
    const dataset = writeDataset(folder(), {
      ...{ numNodes, train: randomRows(numNodes, 500, 0), test: randomRows(numNodes, 20, 0, 9) },
      features: { width: 4, values: new Float32Array(numNodes * 4).fill(1) },
    });
    const config = (kept: string, filtered = false) =>
      tinyConfig(dataset, {
        model: {
          decoder: { type: 'DOT' },
          encoder: {
            train_neighbor_sampling: [{ type: 'ALL' }],
            layers: [
              [{ type: 'FEATURE', output_dim: 4 }],
              [{ type: 'GNN', options: { type: 'GRAPH_SAGE' }, output_dim: 4 }],
            ],
          },
        },
        training: { negative_sampling: { filtered } },
        distributed: { features: kept, edges: kept },
      });
    const path = `${folder()}.json`;
    const configs = ['spread', 'replicated', 'auto'].map((kept) => config(kept));
    writeFileSync(path, JSON.stringify([...configs, config('spread', true)]));
    const { code, lines, err } = await launch(2, ['held-rows-worker.ts', path]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const held = (run: number) => lines.filter((line) => 'run' in line && line.run === run);
    for (const rank of [0, 1]) {
      expect(held(0)).toContainEqual({ rank, run: 0, rows: 50, edges: 250 });
      expect(held(1)).toContainEqual({ rank, run: 1, rows: 100, edges: 500 });
      // Little data is copied unless the file says otherwise.
      expect(held(2)).toContainEqual({ rank, run: 2, rows: 100, edges: 500 });
      const error = expect.stringContaining(
        'distributed.edges: expected replicated with training.negative_sampling.filtered, got spread',
      );
      expect(held(3)).toContainEqual({ rank, run: 3, error });
    }
  }, 120_000);
});
