/** What a run should know of its stream before it trains: keys that it leaves without effect, parts without events. */
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

export function streamWarnings({ model, training }: TemporalRunConfig, stream: OpenedStream): string[] {
  const { graph, rows, data } = stream;
  const warnings: string[] = [];
  const memory = model.sections?.memory;
  if (memory?.type === 'node' && memory.combine_node_feature && graph.nodeFeatures === null)
    warnings.push(
      'memory.combine_node_feature: has no effect, nodes have no features. dataset.random_node_features makes some.',
    );
  if (rows.validation.length === 0)
    warnings.push(
      `no event of ${graph.numEvents} is in the validation part: no epoch is the best one${training.patience === -1 ? '' : ' and training.patience has no effect'}. Raise dataset.validation_share, or give more events.`,
    );
  if (rows.test.length === 0)
    warnings.push(
      `no event of ${graph.numEvents} is in the test part: there will be no test. Lower dataset.train_share, or give more events.`,
    );
  if (data.dstPool.length === 1)
    warnings.push('all events have the same destination: there is no other to tell it from.');
  return warnings;
}
