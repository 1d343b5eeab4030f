/** Warnings about the stream of a run before training: keys without effect on it, and empty splits. */
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

export function streamWarnings({ model, training }: TemporalRunConfig, stream: OpenedStream): string[] {
  const { graph, rows, data } = stream;
  const warnings: string[] = [];
  const memory = model.sections?.memory;
  if (memory?.type === 'node' && memory.combine_node_feature && graph.nodeFeatures === null)
    warnings.push(
      'memory.combine_node_feature: has no effect, nodes have no features. Set dataset.random_node_features to generate some.',
    );
  if (rows.validation.length === 0)
    warnings.push(
      `none of the ${graph.numEvents} events is in the validation split: no best epoch is chosen${training.patience === -1 ? '' : ' and training.patience has no effect'}. Raise dataset.validation_share, or give more events.`,
    );
  if (rows.test.length === 0)
    warnings.push(
      `none of the ${graph.numEvents} events is in the test split: there will be no test metrics. Lower dataset.train_share, or give more events.`,
    );
  if (data.dstPool.length === 1)
    warnings.push(
      'all events have the same destination: there are no negative destinations to compare it with.',
    );
  return warnings;
}
