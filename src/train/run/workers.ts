/**
 * The workers of a training run: who they are, what they agree on after every batch, and the part of a configuration that
 * is about them.
 */

import { currentCommunicator, WorkerGroup } from '../../dist/index.js';
import { launchedBy } from '../../util/launched-by.js';
import { defaultDistributed } from '../config/schema-distributed.js';
import type { DistributedConfig } from '../config/types.js';
import type { Request } from '../fit.js';
import { Output } from './output.js';

/** Requests, the more far-reaching later. */
const requests: readonly Request[] = ['continue', 'save', 'stop'];

/** The most far-reaching request of all workers: they stop, or save, at the same batch. */
export function agreedRequest(group: WorkerGroup, own: Request): Request {
  return requests[group.highest(requests.indexOf(own))];
}

/** Opens the workers that a launcher started, with the section's time-outs; without a launcher there is one. */
export function openWorkers(distributed: DistributedConfig | null): WorkerGroup {
  const { timeout, peer_timeout: peerTimeout } = distributed ?? defaultDistributed();
  return new WorkerGroup({ comm: currentCommunicator({ timeout, peerTimeout }) });
}

/** A launcher asks for workers, even for one: then the section is there, with its defaults where the file has none. */
export function withWorkers<C extends { readonly distributed: DistributedConfig | null }>(config: C): C {
  if (config.distributed !== null || launchedBy() === null) return config;
  return { ...config, distributed: defaultDistributed() };
}

/** Rank 0 talks for all. */
export function outputOf(group: WorkerGroup, output: Output): Output {
  return group.isRoot ? output : Output.silent(output.json);
}
