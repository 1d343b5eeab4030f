/**
 * The edges into a range of nodes, by destination, with the data that sampling and blocks need: the edges of one
 * worker, or the whole graph if every worker has gathered it.
 *
 * Edges of a destination are in the order of their global ids, as in a `Graph` of all edges in that order, so sampling
 * draws the same edges as on the whole graph.
 */
import { Graph } from '../../graph/index.js';
import { kernels } from '../../native/index.js';
import { SamplingGraph } from '../../sample/sampling-graph.js';
import { cast, type Tensor } from '../../tensor/index.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';
import type { Communicator } from '../comm/communicator.js';
import type { PartitionData } from '../partition/partition-data.js';
import { concatArrays } from './arrays.js';

/** Name, element type and row shape of an edge field. */
interface Schema {
  readonly name: string;
  readonly dtype: 'f32' | 'i32';
  /** The shape of a row. */
  readonly shape: readonly number[];
  readonly width: number;
}

/** An edge field, one row per edge position. */
export interface EdgeField extends Schema {
  readonly values: Float32Array | Int32Array;
}

/** The field of `PartitionData` with the message weights, and the name of edge types in blocks. */
const weightField = 'weight';
const edgeTypeField = '_TYPE';

const where = 'DistGraph';

const weightSchema: Schema = { name: weightField, dtype: 'f32', shape: [], width: 1 };

const schemaOf = ({ name, dtype, shape, width }: Schema): Schema => ({ name, dtype, shape, width });

const zeros = (dtype: 'f32' | 'i32', n: number) =>
  dtype === 'i32' ? new Int32Array(n) : new Float32Array(n);

export class InEdges {
  /** The node of the first row. */
  readonly firstNode: number;
  /** Rows are the nodes of the range, sources are global ids. */
  readonly graph: Graph;
  /** Global ids of edges by position. */
  readonly edgeIds: Int32Array;
  readonly weights: Float32Array | null;
  readonly fields: readonly EdgeField[];
  readonly #samplingGraphs = new Map<string | null, SamplingGraph>();

  private constructor(edges: {
    firstNode: number;
    offsets: Int32Array;
    indices: Int32Array;
    numNodes: number;
    edgeIds: Int32Array;
    weights: Float32Array | null;
    fields: readonly EdgeField[];
  }) {
    this.firstNode = edges.firstNode;
    this.edgeIds = edges.edgeIds;
    this.weights = edges.weights;
    this.fields = edges.fields;
    this.graph = Graph.fromCsc(edges.offsets, edges.indices, { numSrc: edges.numNodes, share: true });
  }

  get offsets(): Int32Array {
    return this.graph.adjacency.offsets as Int32Array;
  }

  /** Global ids of sources by position. */
  get indices(): Int32Array {
    return this.graph.adjacency.indices;
  }

  /** Returns the graph for samplers; `prob` names the field with the relative probabilities of edges. */
  toSamplingGraph(prob: string | null): SamplingGraph {
    let graph = this.#samplingGraphs.get(prob);
    if (graph === undefined) {
      const probabilities = prob === null ? undefined : this.#probabilities(prob);
      graph = new SamplingGraph('DistNeighborSampler', this.graph, 'in', probabilities);
      this.#samplingGraphs.set(prob, graph);
    }
    return graph;
  }

  #probabilities(prob: string): Float32Array {
    if (prob === weightField && this.weights !== null) return this.weights;
    const field = this.fields.find(({ name }) => name === prob);
    if (field?.dtype === 'f32' && field.width === 1) return field.values as Float32Array;
    const known = this.fields.map(({ name }) => name);
    if (this.weights !== null) known.push(weightField);
    throw new ValueError(
      expected(
        'DistNeighborSampler',
        'an edge field with one number per edge',
        'prob',
        prob,
        `There are: ${known.join(', ') || 'none'}.`,
      ),
    );
  }

  /** Creates it from the data of one worker. */
  static fromPartitionData(pd: PartitionData): InEdges {
    const { start, end } = pd.nodeRanges[pd.rank];
    const shards = pd.allShardEdges;
    const join = (pick: (shard: (typeof shards)[number]) => Int32Array) => concatArrays(shards.map(pick));
    const ids = join((shard) => shard.edgeIds);
    const byId = ascendingOrder(ids);
    const dst = gatherInt32(
      join((shard) => shard.dst),
      byId,
    ).map((v) => v - start);
    const offsets = new Int32Array(end - start + 1);
    const grouped = new Int32Array(dst.length);
    kernels().groupByKey(dst, offsets, grouped, dst.length, end - start);
    // The index of each edge in the concatenated shards.
    const order = gatherInt32(byId, grouped);
    const fields = edgeFields(pd, order);
    const weights = fields.find(
      ({ name, dtype, width }) => name === weightField && dtype === 'f32' && width === 1,
    );
    return new InEdges({
      firstNode: start,
      offsets,
      indices: gatherInt32(
        join((shard) => shard.src),
        order,
      ),
      numNodes: pd.nodeRanges[pd.nodeRanges.length - 1].end,
      edgeIds: gatherInt32(ids, order),
      weights: (weights?.values as Float32Array | undefined) ?? null,
      fields: fields.filter((field) => field !== weights),
    });
  }

  /**
   * Returns the edges with the fields that any worker has, so that all have the same fields: a worker without edges of
   * a type may not have its fields. Collective.
   */
  withAllFields(comm: Communicator): InEdges {
    const own: Schema[] = [...this.fields, ...(this.weights === null ? [] : [weightSchema])];
    const all = new Map<string, Schema>();
    for (const text of comm.allGather(new TextEncoder().encode(JSON.stringify(own.map(schemaOf)))))
      for (const schema of JSON.parse(new TextDecoder().decode(text)) as Schema[]) {
        const known = all.get(schema.name);
        if (known === undefined || JSON.stringify(known) === JSON.stringify(schema))
          all.set(schema.name, schema);
        else
          throw new ShapeError(
            expected(where, 'the same shape on all workers', schema.name, [known.shape, schema.shape]),
          );
      }
    const { firstNode, offsets, indices, edgeIds } = this;
    const weighted = all.delete(weightField);
    return new InEdges({
      ...{ firstNode, offsets, indices, edgeIds, numNodes: this.graph.numSrcNodes },
      weights: this.weights ?? (weighted ? new Float32Array(indices.length).fill(1) : null),
      fields: [...all.keys()].sort().map((key) => {
        const schema = all.get(key) as Schema;
        const values = this.fields.find((field) => field.name === key)?.values;
        return { ...schema, values: values ?? zeros(schema.dtype, indices.length * schema.width) };
      }),
    });
  }

  /** Gathers the edges of all workers. Collective. */
  gatherAll(comm: Communicator): InEdges {
    const degrees = concatArrays(comm.allGather(this.graph.inDegrees()));
    const offsets = new Int32Array(degrees.length + 1);
    for (let v = 0; v < degrees.length; v++) offsets[v + 1] = offsets[v] + degrees[v];
    const gatherRanks = <T extends Int32Array | Float32Array>(values: T): T =>
      concatArrays(comm.allGather(values));
    return new InEdges({
      firstNode: 0,
      offsets,
      indices: gatherRanks(this.indices),
      numNodes: this.graph.numSrcNodes,
      edgeIds: gatherRanks(this.edgeIds),
      weights: this.weights === null ? null : gatherRanks(this.weights),
      fields: this.fields.map((field) => ({ ...field, values: gatherRanks(field.values) })),
    });
  }
}

/** Returns all edge fields by position: rows of types without a field are 0. */
function edgeFields(pd: PartitionData, order: Int32Array): EdgeField[] {
  const names = new Set(
    pd.allShardEdges.flatMap(({ edgeFeatures }) =>
      Object.keys(edgeFeatures).map((key) => key.slice(key.indexOf('/') + 1)),
    ),
  );
  const fields = [...names].sort().map((name) => oneField(pd, name, order));
  if (pd.edgeTypeNames.length > 1) {
    const types = concatArrays(
      pd.allShardEdges.map(({ src, edgeTypes }) => edgeTypes ?? new Int32Array(src.length)),
    );
    fields.push({
      name: edgeTypeField,
      dtype: 'i32',
      shape: [],
      width: 1,
      values: gatherInt32(types, order),
    });
  }
  return fields;
}

function oneField(pd: PartitionData, name: string, order: Int32Array): EdgeField {
  const found = pd.allShardEdges.flatMap(({ edgeFeatures }) =>
    Object.entries(edgeFeatures).filter(([key]) => key.slice(key.indexOf('/') + 1) === name),
  );
  const [, like] = found.find(([, { shape }]) => shape[0] > 0) ?? found[0];
  const shape = like.shape.slice(1);
  const width = shape.reduce((product, n) => product * n, 1);
  const dtype = like.dtype === 'i32' || like.dtype === 'u8' ? 'i32' : 'f32';
  const all = zeros(dtype, order.length * width);
  let first = 0;
  for (const { src, edgeTypes, edgeFeatures } of pd.allShardEdges) {
    for (const [key, rows] of Object.entries(edgeFeatures)) {
      if (key.slice(key.indexOf('/') + 1) !== name || rows.shape[0] === 0) continue;
      if (rows.size !== rows.shape[0] * width)
        throw new ShapeError(
          expected(where, `rows of shape [${shape.join(', ')}] in all edge types`, key, rows.shape),
        );
      // Edges of a shard are sorted by type, so a type's rows are contiguous.
      const type = pd.edgeTypeNames.indexOf(key.slice(0, key.indexOf('/')));
      const from = edgeTypes === null ? 0 : edgeTypes.indexOf(type);
      all.set(toNumbers(rows), (first + from) * width);
    }
    first += src.length;
  }
  const values = zeros(dtype, all.length);
  kernels().gatherRows(all, order, values, order.length, width * 4);
  return { name, dtype, shape, width, values };
}

function toNumbers(rows: Tensor): ArrayLike<number> {
  return rows.dtype === 'f16' || rows.dtype === 'bf16' ? cast(rows, 'f32').dataSync() : rows.dataSync();
}

function gatherInt32(values: Int32Array, positions: Int32Array): Int32Array {
  const gathered = new Int32Array(positions.length);
  kernels().gatherRows(values, positions, gathered, positions.length, 4);
  return gathered;
}

/** Returns indices in the order of ascending ids. A worker's edges are one range of ids, so no sorting is needed. */
function ascendingOrder(ids: Int32Array): Int32Array {
  const first = ids.reduce((least, id) => Math.min(least, id), Infinity);
  const order = new Int32Array(ids.length).fill(-1);
  for (let i = 0; i < ids.length; i++) {
    const position = ids[i] - first;
    if (position >= ids.length || order[position] >= 0)
      throw new ValueError(
        expected(where, 'edge ids that are one range without repeats', 'partitionData', `edge ${ids[i]}`),
      );
    order[position] = i;
  }
  return order;
}
