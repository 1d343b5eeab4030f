/**
 * The workers of a training run: opening them, agreeing on a request after every batch, and their section of the
 * configuration.
 */

import { currentCommunicator, WorkerGroup } from '../../dist/index.js';
import { launchedBy } from '../../util/launched-by.js';
import { defaultDistributed } from '../config/schema-distributed.js';
import type { DistributedConfig } from '../config/types.js';
import type { Request } from '../fit.js';
import { Output } from './output.js';

/** Requests, in ascending order of priority. */
const requests: readonly Request[] = ['continue', 'save', 'stop'];

/** Returns the request of highest priority of all workers, so that they stop or save at the same batch. */
export function agreedRequest(group: WorkerGroup, own: Request): Request {
  return requests[group.highest(requests.indexOf(own))];
}

/** Opens the workers that a launcher started, with the time-outs of the section; without a launcher there is one worker. */
export function openWorkers(distributed: DistributedConfig | null): WorkerGroup {
  const { timeout, peer_timeout: peerTimeout } = distributed ?? defaultDistributed();
  return new WorkerGroup({ comm: currentCommunicator({ timeout, peerTimeout }) });
}

/** Under a launcher, even with one worker, adds the section with its defaults if the file has none. */
export function withWorkers<C extends { readonly distributed: DistributedConfig | null }>(config: C): C {
  if (config.distributed !== null || launchedBy() === null) return config;
  return { ...config, distributed: defaultDistributed() };
}

/** Returns the output of rank 0, and a silent one for other ranks. */
export function outputOf(group: WorkerGroup, output: Output): Output {
  return group.isRoot ? output : Output.silent(output.json);
}
