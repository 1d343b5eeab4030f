/** Progress of preparing a dataset: one stage of the output at a time, and events with --json. */
import type { OnPrepareProgress } from '../../data/prepare/graph-source.js';
import type { Output, Stage } from './output.js';

const stageNames = {
  read: 'reading edges',
  number: 'numbering ids',
  edges: 'splitting edges',
  sort: 'sorting edges into buckets',
  names: 'writing names',
  features: 'writing features',
  checksums: 'computing checksums',
} as const;

export function prepareProgress(output: Output): OnPrepareProgress {
  let last = '';
  let stage: Stage | null = null;
  return (progress) => {
    if (progress.stage !== last) {
      last = progress.stage;
      stage = output.stage(stageNames[progress.stage] ?? progress.stage);
      output.event('prepare', { ...progress });
    }
    if (progress.done > 0) stage?.update(progress.done, progress.total);
  };
}
