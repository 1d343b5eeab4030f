/**
 * Checks a configuration against a prepared dataset. Widths, classes and counts in the file must equal those of the data.
 * A wrong count that only describes the splits gives a warning and the count of the dataset is used, as in Marius.
 */
import { convRegistry } from '../../gnn/conv/conv-registry.js';
import { ConfigError } from '../../util/errors.js';
import { type ConfigProblem, problem } from '../../util/schema/problem.js';
import { usesEdgeWeights } from './check-layers.js';
import type { DatasetConfig, SkeinConfig } from './types.js';

/** The statistics of a dataset that are checked. */
export interface DatasetFacts {
  readonly num_nodes: number;
  readonly num_relations: number;
  /** Whether edges have a relation column; absent: unknown. */
  readonly has_relations?: boolean;
  /** Whether training edges have weights. */
  readonly has_weights?: boolean;
  readonly num_edges?: number;
  readonly num_train?: number;
  readonly num_valid?: number;
  readonly num_test?: number;
  readonly node_feature_dim?: number;
  readonly rel_feature_dim?: number;
  readonly num_classes?: number;
  /** Text columns of the nodes; absent: unknown. */
  readonly num_text_columns?: number;
  /** Whether heads and tails of edges are different nodes, as users and items are, with one relation. */
  readonly is_bipartite?: boolean;
  /** The number of partitions by which the edges are sorted; 1 or absent: not sorted. */
  readonly num_partitions?: number;
}

/** Returns the facts of a prepared dataset. */
export function factsOf(dataset: {
  readonly stats: DatasetFacts;
  readonly hasRelations: boolean;
  readonly textColumns: readonly string[];
  weightsFile(split: 'train'): string | null;
}): DatasetFacts {
  return {
    ...dataset.stats,
    has_relations: dataset.hasRelations,
    has_weights: dataset.weightsFile('train') !== null,
    num_text_columns: dataset.textColumns.length,
  };
}

/** Returns the warnings. Throws a ConfigError that names every mismatch. */
export function checkAgainstDataset(config: SkeinConfig, facts: DatasetFacts): string[] {
  const warnings: string[] = [];
  const problems = [
    ...checkCounts(config.storage.dataset, facts, warnings),
    ...checkWidths(config, facts, warnings),
    ...partitionCountProblems(config, facts),
    ...checkExamples(config, facts),
  ];
  if (problems.length > 0) {
    const head =
      problems.length === 1 ? 'config: ' : `config: ${problems.length} problems with this dataset\n  `;
    throw new ConfigError(head + problems.map(({ message }) => message).join('\n  '), { problems });
  }
  const { type: decoder } = config.model.decoder;
  if (facts.has_relations === false && decoder !== 'NODE' && decoder !== 'DOT')
    warnings.push(
      `model.decoder.type: the edges of the dataset have no relations, so ${decoder} scores their two nodes without one; DOT does the same explicitly.`,
    );
  if (facts.has_weights === true && !usesEdgeWeights(config)) {
    const names = convRegistry
      .all()
      .filter((type) => 'weighsEdges' in type)
      .map(({ name }) => name);
    warnings.push(
      `model.encoder.layers: the edges of the dataset have weights, which no layer of the encoder uses. Layers that use them: ${names.join(', ')}.`,
    );
  }
  const { num_valid: valid, num_test: test } = facts;
  // Unknown counts give no warning.
  if (valid !== undefined && test !== undefined && valid <= 0)
    warnings.push(missingSplitWarning(config, test > 0));
  return warnings;
}

/** Returns the warning for a run without held-out edges or nodes to evaluate on. */
function missingSplitWarning({ model }: SkeinConfig, hasTest: boolean): string {
  const option = model.learning_task === 'NODE_CLASSIFICATION' ? '--node-split' : '--dataset-split';
  const shares = option === '--node-split' ? '0.6 0.2 0.2' : '0.9 0.05 0.05';
  const what = hasTest
    ? 'there is no validation set, so metrics are computed at the end only'
    : 'there is neither a validation nor a test set, so there will be no metrics';
  return `storage.dataset: ${what}; create the splits with preprocess ${option} ${shares}.`;
}

const useDataset = 'Remove the key, or prepare the dataset again if these are not the intended files.';

function checkCounts(stated: DatasetConfig, facts: DatasetFacts, warnings: string[]): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const counts = ['num_nodes', 'num_relations', 'node_feature_dim', 'rel_feature_dim'] as const;
  for (const key of counts) {
    const actual = facts[key] ?? -1;
    // Files of graphs without a relation column state 0 or 1 relations.
    const isNone = (count: number): boolean => count <= 0 || (key === 'num_relations' && count === 1);
    if (stated[key] === -1 || stated[key] === actual || (isNone(stated[key]) && isNone(actual))) continue;
    const what = actual <= 0 ? 'no such count' : `the ${actual} of the dataset`;
    problems.push(problem(`storage.dataset.${key}`, what, stated[key], useDataset));
  }
  for (const key of ['num_edges', 'num_train', 'num_valid', 'num_test', 'num_classes'] as const) {
    const actual = facts[key] ?? -1;
    if (stated[key] !== -1 && actual !== -1 && stated[key] !== actual)
      warnings.push(
        `storage.dataset.${key}: the dataset has ${actual}, not ${stated[key]}; ${actual} is used.`,
      );
  }
  return problems;
}

function checkWidths({ model }: SkeinConfig, facts: DatasetFacts, warnings: string[]): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const width = facts.node_feature_dim ?? -1;
  for (const [i, stage] of model.encoder.layers.entries())
    for (const [j, layer] of stage.entries()) {
      if (layer.type === 'TEXT' && facts.num_text_columns === 0)
        problems.push(
          problem(
            ['model', 'encoder', 'layers', i, j, 'type'],
            'a layer that needs no text',
            'TEXT',
            'The dataset has no text columns; prepare it with --node-table and --text-columns.',
          ),
        );
      if (layer.type !== 'FEATURE' || layer.output_dim === width) continue;
      const path = ['model', 'encoder', 'layers', i, j];
      problems.push(
        width > 0
          ? problem(
              [...path, 'output_dim'],
              `the feature width ${width} of the dataset`,
              layer.output_dim,
              `Set it to ${width}.`,
            )
          : problem(
              [...path, 'type'],
              'a layer that needs no features',
              'FEATURE',
              'The dataset has no features; use EMBEDDING.',
            ),
      );
    }
  const output = model.encoder.layers.at(-1)?.at(-1)?.output_dim ?? -1;
  const classes = facts.num_classes ?? -1;
  if (model.learning_task !== 'NODE_CLASSIFICATION') return problems;
  const last = `model.encoder.layers[${model.encoder.layers.length - 1}][0].output_dim`;
  if (classes < 1)
    problems.push(
      problem(
        'model.learning_task',
        'LINK_PREDICTION',
        'NODE_CLASSIFICATION',
        'The dataset has no labels; prepare it with labels.',
      ),
    );
  else if (output < classes)
    problems.push(
      problem(last, `at least the ${classes} classes of the dataset`, output, `Set it to ${classes}.`),
    );
  else if (output > classes)
    warnings.push(
      `${last}: the dataset has ${classes} classes; ${output - classes} of the ${output} outputs are unused.`,
    );
  return problems;
}

function partitionCountProblems({ storage, training }: SkeinConfig, facts: DatasetFacts): ConfigProblem[] {
  const tooMany = (key: string, partitions: number): ConfigProblem[] => {
    if (partitions <= facts.num_nodes) return [];
    const most = `at most the ${facts.num_nodes} nodes of the dataset`;
    return [problem(key, most, partitions, 'Use fewer partitions.')];
  };
  const ordered = tooMany('training.bucket_partitions', training.bucket_partitions);
  const buffered = (['embeddings', 'features'] as const).flatMap((name) => {
    const table = storage[name];
    if (table.type !== 'PARTITION_BUFFER') return [];
    const { num_partitions: partitions } = table.options;
    const key = `storage.${name}.options.num_partitions`;
    const more = tooMany(key, partitions);
    if (more.length > 0) return more;
    const prepared = facts.num_partitions ?? 1;
    if (prepared <= 1 || prepared === partitions) return [];
    const advice = `Set it to ${prepared}, or prepare the dataset with --num-partitions ${partitions}.`;
    return [problem(key, `the ${prepared} partitions of the dataset`, partitions, advice)];
  });
  return [...ordered, ...buffered];
}

function checkExamples({ model, training }: SkeinConfig, facts: DatasetFacts): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const typed = facts.num_relations > 1;
  if (model.decoder.type !== 'NODE') {
    const { options } = model.decoder;
    if (options.edge_decoder_method === 'CORRUPT_REL' && !typed)
      problems.push(
        problem(
          'model.decoder.options.edge_decoder_method',
          'a method for edges without relations',
          'CORRUPT_REL',
          'Write CORRUPT_NODE.',
        ),
      );
    if (options.use_relation_features)
      problems.push(
        problem(
          'model.decoder.options.use_relation_features',
          'false',
          true,
          'Prepared datasets have no relation features; relation embeddings are learnt.',
        ),
      );
  }
  if (facts.num_valid !== undefined && facts.num_valid <= 0) {
    const advice =
      'The dataset has no validation set to compare epochs on; split it with --dataset-split, or remove the key.';
    if (training.early_stopping !== null)
      problems.push(problem('training.early_stopping', 'nothing', training.early_stopping, advice));
    if (training.checkpoint.save_best)
      problems.push(problem('training.checkpoint.save_best', 'false', true, advice));
  }
  return problems;
}
