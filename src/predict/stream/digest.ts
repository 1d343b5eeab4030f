/** A checksum of everything that answers depend on. */
import { createHash } from 'node:crypto';
import { addedFeatures } from './snapshot.js';
import type { StreamModel } from './stream-model.js';

export function streamDigest(model: StreamModel): string {
  const { scorer, nodes, pool } = model.parts;
  // A question after the last event makes a state take in what it keeps back until its time is over.
  if (nodes.size > 0) scorer.score([0], [0]);
  const hash = createHash('sha256');
  const add = (name: string, array: NodeJS.TypedArray): void => {
    hash.update(`${name} ${array.length}\n`);
    hash.update(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  };
  for (const [name, array] of Object.entries(model.columnsOf(0, model.released))) add(name, array);
  add('destinations', pool.nodes);
  for (const [name, array] of Object.entries(addedFeatures(model))) add(name, array);
  const { arrays = {}, ...rest } = scorer.state?.snapshot() ?? {};
  for (const name of Object.keys(arrays).sort()) add(name, arrays[name] as NodeJS.TypedArray);
  hash.update(JSON.stringify([nodes.added, model.applied, rest]));
  return hash.digest('hex');
}
