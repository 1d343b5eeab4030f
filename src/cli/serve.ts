/** The work of `skein serve`: opens a run, serves it, and prints latency percentiles at the end. */
import { serveTemporal } from '../server/index.js';
import { Output, onlineScorer, openRun } from '../train/index.js';
import type { PluginOptions } from './options/options.js';

export interface ServeCommand extends PluginOptions {
  readonly temporal: string;
  readonly host: string;
  readonly port: number;
  readonly json: boolean;
}

export async function serveCommand({ temporal, host, port, json, plugin }: ServeCommand): Promise<void> {
  const output = new Output({ json });
  const opening = output.stage(`opening ${temporal}`);
  const run = await openRun(temporal, { command: 'serve', over: 'events', plugins: plugin });
  const scorer = onlineScorer(run);
  opening.end();
  const { dstPool: destinations, nodes } = run.stream.data;
  const { url, close } = await serveTemporal({ scorer, destinations, nodes, host, port });
  const { numNodes, numEvents } = run.stream.graph;
  output.text(
    `${numNodes.toLocaleString('en')} nodes, ${numEvents.toLocaleString('en')} events. Listening on ${url}`,
  );
  output.event('listening', { url, nodes: numNodes, events: numEvents });
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  await close();
  const latency = scorer.latency();
  const ms = (value: number): string => `${value.toFixed(2)} ms`;
  output.text(
    `${latency.count.toLocaleString('en')} scored: p50 ${ms(latency.p50)}, p90 ${ms(latency.p90)}, p99 ${ms(latency.p99)}, max ${ms(latency.max)}`,
  );
  output.event('done', { scored: latency.count, latency_ms: latency, events: scorer.graph.numEvents });
}
