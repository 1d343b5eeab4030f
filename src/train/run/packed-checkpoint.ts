/** The checkpoint of a packed run: what answers need of it. */
import { join } from 'node:path';
import { loadTensors } from '../../storage/index.js';
import { checkpointMetadata } from '../../storage/safetensors-file.js';
import type { ArchiveSource } from '../../storage/write-archive.js';
import { encodeSafetensors } from '../../tensor/safetensors.js';
import type { PluginRecord } from '../config/plugin-record.js';
import type { DistributedConfig } from '../config/types.js';
import type { RunConfig } from '../load-run-config.js';
import { modelFile, type RunRecord } from './run-record.js';

/** The parts of a packed run that its kind of task adds. */
export interface PackedParts {
  /** The configuration with paths relative to the run. */
  readonly config: RunConfig;
  readonly files: readonly ArchiveSource[];
  /** Changes of the task's state in the record. */
  readonly state: Readonly<Record<string, unknown>>;
}

/** The sections that every kind of configuration has. */
interface CommonSections {
  readonly plugins?: readonly PluginRecord[];
  readonly distributed: DistributedConfig | null;
}

/** Returns sections without paths of this machine: plugins by the names of their files, and no partitions. */
export function packedSections({ plugins = [], distributed }: CommonSections): CommonSections {
  return {
    ...(plugins.length === 0
      ? {}
      : { plugins: plugins.map((plugin) => ({ ...plugin, path: plugin.path.replace(/^.*[/\\]/s, '') })) }),
    distributed: distributed === null ? null : { ...distributed, partition_dir: null },
  };
}

/** Returns the bytes of a checkpoint with another record and without the state of the optimiser. */
export async function packedCheckpoint(folder: string, record: RunRecord): Promise<Uint8Array> {
  const { tensors } = await loadTensors(join(folder, modelFile));
  const kept = Object.entries(tensors).filter(([name]) => !name.startsWith('optimizer.'));
  return encodeSafetensors(Object.fromEntries(kept), checkpointMetadata(null, record));
}
