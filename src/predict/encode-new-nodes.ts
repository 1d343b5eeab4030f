/**
 * Encodes nodes that were not in the training graph, from their features and their edges: the encoder runs on the graph
 * with them added. Models with trained embeddings are rejected, because they have no rows for new nodes.
 */
import type { NewNodeColumns } from '../data/prepare/new-nodes.js';
import { MemoryStore, type RowReader } from '../storage/index.js';
import { fromTypedArray, noGrad, scope } from '../tensor/index.js';
import { usesText } from '../train/config/check-layers.js';
import { GraphStorage, type OpenedGraphRun } from '../train/index.js';
import { initializeBatches } from '../train/tasks/graph/initialize-model.js';
import type { EncodedNodes } from '../train/tasks/graph/model/encoder.js';
import { MemoryEdges } from '../train/tasks/graph/storage/edge-splits.js';
import { StateError } from '../util/errors.js';

/**
 * Throws if a model cannot encode new nodes; returns the width of their features.
 *
 * @param option the argument with the new nodes, for messages
 */
export function newNodeFeatures(
  { config, storage }: OpenedGraphRun,
  { command, option }: { readonly command: string; readonly option: string },
): number {
  const { embedding_dim: trained } = config.model.encoder;
  if (trained > 0)
    throw new StateError(
      `${command}: expected an encoder of features only for ${option}, got one with trained embeddings of width ${trained}. A node that was not trained has none; train with FEATURE layers instead of EMBEDDING.`,
    );
  if (usesText(config))
    throw new StateError(
      `${command}: expected an encoder of features only for ${option}, got one with a TEXT layer. Prepare the dataset again with the new nodes in its node table, and train again.`,
    );
  return storage.features?.width ?? 0;
}

const batchSize = 1024;

export async function encodeNewNodes(run: OpenedGraphRun, added: NewNodeColumns): Promise<EncodedNodes> {
  const { model, config } = run;
  const storage = await extendGraph(run, added);
  const source = initializeBatches(config, storage);
  source.select('test');
  await source.load();
  const sampler = source.evaluationNeighbors;
  const table = storage.features as RowReader<Float32Array>;
  const featureDim = table.width;
  const [first, last] = [run.storage.numNodes, storage.numNodes];
  let width = 0;
  let rows = new Float32Array(0);
  for (let start = first; start < last; start += batchSize) {
    const ids = Int32Array.from({ length: Math.min(batchSize, last - start) }, (_, i) => start + i);
    const graph = sampler === null ? null : await sampler.sampleAsync(ids, { step: 0 });
    const features = await table.gather(graph?.nodeIds ?? ids);
    graph?.performMap();
    noGrad(() =>
      scope(() => {
        const inputs = fromTypedArray(features, [features.length / featureDim, featureDim]);
        const y = model.encoder.forward({ embeddings: null, features: inputs }, graph, false);
        width = y.shape[1];
        if (rows.length === 0) rows = new Float32Array((last - first) * width);
        rows.set(y.dataSync() as Float32Array, (start - first) * width);
      }),
    );
  }
  return { rows, width };
}

/** Training edges of runs that have encoded new nodes. */
const trainingEdges = new WeakMap<OpenedGraphRun, Promise<Int32Array>>();

function edgesOf(run: OpenedGraphRun): Promise<Int32Array> {
  const known = trainingEdges.get(run);
  if (known !== undefined) return known;
  const edges = run.dataset.readEdges('train');
  trainingEdges.set(run, edges);
  // A file that could not be read is read again by the next call.
  edges.catch(() => trainingEdges.delete(run));
  return edges;
}

/** Returns the graph with the new nodes and edges. */
async function extendGraph(
  run: OpenedGraphRun,
  { names, features, edges }: NewNodeColumns,
): Promise<GraphStorage> {
  const { storage, dataset } = run;
  const numNodes = storage.numNodes + names.length;
  const known =
    storage.features ?? new MemoryStore(new Float32Array(0), { rows: storage.numNodes, width: 0 });
  const trained = await edgesOf(run);
  const rows = new Int32Array(trained.length + edges.length);
  rows.set(trained);
  rows.set(edges, trained.length);
  return new GraphStorage({
    numNodes,
    numRelations: storage.numRelations,
    edges: { train: new MemoryEdges(rows, dataset.numColumns) },
    features: new ExtendedRows(known, features, names.length),
  });
}

/** Rows of a table, followed by rows in memory. The table is not copied: a request reads few of its rows. */
class ExtendedRows implements RowReader<Float32Array> {
  readonly dtype = 'f32';
  readonly rows: number;
  readonly width: number;
  readonly #known: RowReader<Float32Array>;
  readonly #added: Float32Array;

  constructor(known: RowReader<Float32Array>, added: Float32Array, numAdded: number) {
    this.rows = known.rows + numAdded;
    this.width = known.width;
    this.#known = known;
    this.#added = added;
  }

  async gather(ids: Int32Array, out = new Float32Array(ids.length * this.width)): Promise<Float32Array> {
    const { width } = this;
    const first = this.#known.rows;
    const known = await this.#known.gather(ids.filter((id) => id < first));
    let at = 0;
    for (const [i, id] of ids.entries()) {
      const [from, row] = id < first ? [known, at++] : [this.#added, id - first];
      out.set(from.subarray(row * width, (row + 1) * width), i * width);
    }
    return out;
  }

  range(start: number, count: number): Promise<Float32Array> {
    return this.gather(Int32Array.from({ length: count }, (_, i) => start + i));
  }

  prefetch(ids: Int32Array): Promise<void> {
    return this.#known.prefetch(ids.filter((id) => id < this.#known.rows));
  }
}
