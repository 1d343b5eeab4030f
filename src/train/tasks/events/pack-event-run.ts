/** The parts of a packed run over events besides its model: the stream, which answers continue. */
import { encodeStream } from '../../../data/temporal/stream-file.js';
import { type PackedParts, packedSections } from '../../run/packed-checkpoint.js';
import { locateStream } from './locate-stream.js';
import type { FoundEventRun } from './open-event-run.js';
import { openStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

const streamPath = 'dataset/stream.safetensors';

export async function packEventRun(found: FoundEventRun): Promise<PackedParts> {
  const config = locateStream(found);
  const { data } = await openStream(config);
  return {
    config: packedConfig(config),
    files: [{ name: streamPath, from: encodeStream(data) }],
    state: {},
  };
}

/** Returns the configuration with the packed stream. Its arrays are final, so that nothing is detected or sorted. */
function packedConfig(config: TemporalRunConfig): TemporalRunConfig {
  const { dataset, evaluation, storage, training } = config;
  return {
    ...config,
    ...packedSections(config),
    dataset: {
      ...{ ...dataset, name: '', path: streamPath, format: 'auto', sort: false, header: 'auto' },
      ...{ query: '', database: '', node_types: null, columns: emptyColumns(dataset.columns) },
    },
    // Listed negatives are not packed; the benchmark draws from the same destinations.
    evaluation: {
      ...evaluation,
      negatives: evaluation.negatives === 'file' ? 'tgb' : evaluation.negatives,
      negatives_path: '',
    },
    training: { ...training, resume_training: false },
    storage: { ...storage, model_dir: '.' },
  };
}

type Columns = TemporalRunConfig['dataset']['columns'];

function emptyColumns(columns: Columns): Columns {
  return Object.fromEntries(
    Object.entries(columns).map(([role, value]) => [role, typeof value === 'string' ? '' : null]),
  ) as Columns;
}
