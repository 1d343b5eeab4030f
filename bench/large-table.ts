/** The configuration of link prediction with one embedding per node, for benchmarks whose node table is large. */
export function largeTableConfig(dataset: string, dim: number): string {
  return `model:
  learning_task: LINK_PREDICTION
  random_seed: 1
  encoder: { layers: [[{ type: EMBEDDING, output_dim: ${dim} }]] }
  decoder: { type: DOT }
  loss: { type: SOFTMAX_CE }
  sparse_optimizer: { type: ADAGRAD, options: { learning_rate: 0.1 } }
storage: { dataset: { dataset_dir: ${dataset} } }
training:
  batch_size: 1000
  num_epochs: 1
  negative_sampling: { num_chunks: 10, negatives_per_positive: 500 }
evaluation: { negative_sampling: { filtered: true } }
`;
}
