/** Edges that workers hold together: what cannot be opened leaves nothing open, and too many edges are refused. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SelfCommunicator } from '../../../../dist/index.js';
import { ShardedSamplingGraph } from '../../../../dist/sampling/sharded-sampling-graph.js';
import { FileEdges } from './edge-splits.js';
import { ShardedEdges } from './sharded-edges.js';

/** Knows which tables are open, and refuses those whose names begin so. */
class CountingCommunicator extends SelfCommunicator {
  readonly open = new Set<string>();
  readonly #refused: string;

  constructor(refused: string) {
    super();
    this.#refused = refused;
  }

  override registerTable(...given: Parameters<SelfCommunicator['registerTable']>): void {
    if (given[0].startsWith(this.#refused)) throw new Error('no room');
    super.registerTable(...given);
    this.open.add(given[0]);
  }

  override unregisterTable(name: string): void {
    super.unregisterTable(name);
    this.open.delete(name);
  }
}

describe('what cannot be opened', () => {
  const rows = Int32Array.from({ length: 120 }, (_, i) => (i * 7) % 20);
  const folder = mkdtempSync(join(tmpdir(), 'skein-spread-'));
  const file = join(folder, 'edges.bin');
  afterAll(() => rmSync(folder, { recursive: true }));
  writeFileSync(file, new Uint8Array(rows.buffer));
  const edges = new FileEdges({ path: file, rows: 60, columns: 2, dtype: 'int32' });
  const both = { numNodes: 20, numRelations: 0, ofEdges: true, incoming: true, outgoing: true };

  it.each(['edges', 'incoming', 'outgoing'])('%s: nothing else stays open', async (refused) => {
    const comm = new CountingCommunicator(refused);
    await expect(ShardedEdges.open(edges, { ...both, comm })).rejects.toThrow('no room');
    expect([...comm.open]).toEqual([]);
    const whole = new CountingCommunicator('none');
    const opened = await ShardedEdges.open(edges, { ...both, comm: whole });
    expect(whole.open.size).toBe(3);
    opened.close();
    expect([...whole.open]).toEqual([]);
  });

  it('more edges than 32-bit places: refused before anything is read', async () => {
    const large = new FileEdges({ path: file, rows: 2 ** 31, columns: 2, dtype: 'int32' });
    const comm = new CountingCommunicator('none');
    await expect(ShardedEdges.open(large, { ...both, comm })).rejects.toThrow(
      /at most 2147483647 sharded edges for numEdges, got 2147483648\. Take fewer/,
    );
    const chunks = () => expect.fail('nothing is to be read');
    const options = { numNodes: 20, numEdges: 2 ** 31, numRelations: 0, incoming: true, outgoing: false };
    await expect(ShardedSamplingGraph.read({ ...options, chunks, comm })).rejects.toThrow(
      /ShardedSamplingGraph: expected at most/,
    );
  });
});
