/** The suites by name. A suite is loaded only if it runs, so that listing them loads no kernels. */
import type { Suite } from '../suite.js';

export interface SuiteEntry {
  readonly name: string;
  readonly about: string;
  load(): Promise<Suite>;
}

export const suites: readonly SuiteEntry[] = [
  {
    name: 'kernels',
    about: 'matrix products, rows by id, losses, normalisation, random numbers, steps of training',
    load: async () => (await import('./kernels.js')).kernelSuite,
  },
  {
    name: 'gnn',
    about: 'neighbour aggregation, epochs on the full graph, sampling, training on sampled blocks',
    load: async () => (await import('./gnn.js')).gnnSuite,
  },
  {
    name: 'kg',
    about: 'training on edges with shared negatives, filtered ranks over all nodes',
    load: async () => (await import('./kg.js')).kgSuite,
  },
  {
    name: 'temporal',
    about: 'training of a TGN on a stream of events, recent neighbours alone',
    load: async () => (await import('./temporal.js')).temporalSuite,
  },
  {
    name: 'predict',
    about: 'the best of a million rows for questions to a trained model',
    load: async () => (await import('./predict.js')).predictSuite,
  },
];

export async function loadSuite(name: string): Promise<Suite> {
  const entry = suites.find((suite) => suite.name === name);
  if (entry === undefined) throw new Error(`bench: no suite "${name}"`);
  return entry.load();
}
