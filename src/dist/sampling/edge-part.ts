/**
 * The edges into a range of nodes, by destination, with everything that sampling and blocks need of them: what a worker
 * holds, or the whole graph where every worker has gathered it.
 *
 * Edges of a destination are in the order of their global ids, as in a `Graph` made from all edges in that order, so a
 * part draws what the whole graph would draw.
 */
import { Graph } from '../../graph/index.js';
import { kernels } from '../../native/index.js';
import { SamplingGraph } from '../../sample/sampling-graph.js';
import { cast, type Tensor } from '../../tensor/index.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';
import type { Communicator } from '../comm/communicator.js';
import type { PartitionData } from '../partition/partition-data.js';
import { joined } from './arrays.js';

/** What a field of edges is called and what its rows are. */
interface Schema {
  readonly name: string;
  readonly dtype: 'f32' | 'i32';
  /** The shape of a row. */
  readonly shape: readonly number[];
  readonly width: number;
}

/** A field of edges, one row for each slot. */
export interface EdgeField extends Schema {
  readonly values: Float32Array | Int32Array;
}

/** The field of `PartitionData` that holds the weights of messages, and the name of edge types in blocks. */
const weightField = 'weight';
const edgeTypeField = '_TYPE';

const where = 'DistGraph';

const weightSchema: Schema = { name: weightField, dtype: 'f32', shape: [], width: 1 };

const schemaOf = ({ name, dtype, shape, width }: Schema): Schema => ({ name, dtype, shape, width });

const zeros = (dtype: 'f32' | 'i32', n: number) =>
  dtype === 'i32' ? new Int32Array(n) : new Float32Array(n);

export class EdgePart {
  /** The node of the first row. */
  readonly firstNode: number;
  /** Rows are the nodes of the part, sources are global ids. */
  readonly graph: Graph;
  /** Global ids of edges by slot. */
  readonly edgeIds: Int32Array;
  readonly weights: Float32Array | null;
  readonly fields: readonly EdgeField[];
  readonly #drawn = new Map<string | null, SamplingGraph>();

  private constructor(parts: {
    firstNode: number;
    offsets: Int32Array;
    indices: Int32Array;
    numNodes: number;
    edgeIds: Int32Array;
    weights: Float32Array | null;
    fields: readonly EdgeField[];
  }) {
    this.firstNode = parts.firstNode;
    this.edgeIds = parts.edgeIds;
    this.weights = parts.weights;
    this.fields = parts.fields;
    this.graph = Graph.fromCsc(parts.offsets, parts.indices, { numSrc: parts.numNodes, share: true });
  }

  get offsets(): Int32Array {
    return this.graph.adjacency.offsets as Int32Array;
  }

  /** Global ids of sources by slot. */
  get indices(): Int32Array {
    return this.graph.adjacency.indices;
  }

  /** The part as samplers take it; `prob` names the field that says how likely an edge is drawn. */
  drawn(prob: string | null): SamplingGraph {
    let graph = this.#drawn.get(prob);
    if (graph === undefined) {
      const chances = prob === null ? undefined : this.#chances(prob);
      graph = new SamplingGraph('DistNeighborSampler', this.graph, 'in', chances);
      this.#drawn.set(prob, graph);
    }
    return graph;
  }

  #chances(prob: string): Float32Array {
    if (prob === weightField && this.weights !== null) return this.weights;
    const field = this.fields.find(({ name }) => name === prob);
    if (field?.dtype === 'f32' && field.width === 1) return field.values as Float32Array;
    const known = this.fields.map(({ name }) => name);
    if (this.weights !== null) known.push(weightField);
    throw new ValueError(
      expected(
        'DistNeighborSampler',
        'a field of edges with one number each',
        'prob',
        prob,
        `There are: ${known.join(', ') || 'none'}.`,
      ),
    );
  }

  /** What a worker holds. */
  static fromPartitionData(pd: PartitionData): EdgePart {
    const { start, end } = pd.nodeRanges[pd.rank];
    const shards = pd.allShardEdges;
    const join = (pick: (shard: (typeof shards)[number]) => Int32Array) => joined(shards.map(pick));
    const ids = join((shard) => shard.edgeIds);
    const byId = ascending(ids);
    const dst = take(
      join((shard) => shard.dst),
      byId,
    ).map((v) => v - start);
    const offsets = new Int32Array(end - start + 1);
    const grouped = new Int32Array(dst.length);
    kernels().groupByKey(dst, offsets, grouped, dst.length, end - start);
    // The place of each slot's edge in the shards one after the other.
    const order = take(byId, grouped);
    const fields = edgeFields(pd, order);
    const weights = fields.find(
      ({ name, dtype, width }) => name === weightField && dtype === 'f32' && width === 1,
    );
    return new EdgePart({
      firstNode: start,
      offsets,
      indices: take(
        join((shard) => shard.src),
        order,
      ),
      numNodes: pd.nodeRanges[pd.nodeRanges.length - 1].end,
      edgeIds: take(ids, order),
      weights: (weights?.values as Float32Array | undefined) ?? null,
      fields: fields.filter((field) => field !== weights),
    });
  }

  /**
   * The part with the fields that any worker has, so that all speak of the same ones: a worker without edges of a type may
   * not know its fields. Collective.
   */
  withFieldsOfAll(comm: Communicator): EdgePart {
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
    return new EdgePart({
      ...{ firstNode, offsets, indices, edgeIds, numNodes: this.graph.numSrcNodes },
      weights: this.weights ?? (weighted ? new Float32Array(indices.length).fill(1) : null),
      fields: [...all.keys()].sort().map((key) => {
        const schema = all.get(key) as Schema;
        const values = this.fields.find((field) => field.name === key)?.values;
        return { ...schema, values: values ?? zeros(schema.dtype, indices.length * schema.width) };
      }),
    });
  }

  /** The parts of all workers as one. Collective. */
  gathered(comm: Communicator): EdgePart {
    const degrees = joined(comm.allGather(this.graph.inDegrees()));
    const offsets = new Int32Array(degrees.length + 1);
    for (let v = 0; v < degrees.length; v++) offsets[v + 1] = offsets[v] + degrees[v];
    const whole = <T extends Int32Array | Float32Array>(part: T): T => joined(comm.allGather(part));
    return new EdgePart({
      firstNode: 0,
      offsets,
      indices: whole(this.indices),
      numNodes: this.graph.numSrcNodes,
      edgeIds: whole(this.edgeIds),
      weights: this.weights === null ? null : whole(this.weights),
      fields: this.fields.map((field) => ({ ...field, values: whole(field.values) })),
    });
  }
}

/** All fields of edges by slot: rows of types without a field are 0. */
function edgeFields(pd: PartitionData, order: Int32Array): EdgeField[] {
  const names = new Set(
    pd.allShardEdges.flatMap(({ edgeFeatures }) =>
      Object.keys(edgeFeatures).map((key) => key.slice(key.indexOf('/') + 1)),
    ),
  );
  const fields = [...names].sort().map((name) => oneField(pd, name, order));
  if (pd.edgeTypeNames.length > 1) {
    const types = joined(
      pd.allShardEdges.map(({ src, edgeTypes }) => edgeTypes ?? new Int32Array(src.length)),
    );
    fields.push({ name: edgeTypeField, dtype: 'i32', shape: [], width: 1, values: take(types, order) });
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
      // Edges of a shard are sorted by type, so a type's rows lie together.
      const type = pd.edgeTypeNames.indexOf(key.slice(0, key.indexOf('/')));
      const from = edgeTypes === null ? 0 : edgeTypes.indexOf(type);
      all.set(numbers(rows), (first + from) * width);
    }
    first += src.length;
  }
  const values = zeros(dtype, all.length);
  kernels().gatherRows(all, order, values, order.length, width * 4);
  return { name, dtype, shape, width, values };
}

function numbers(rows: Tensor): ArrayLike<number> {
  return rows.dtype === 'f16' || rows.dtype === 'bf16' ? cast(rows, 'f32').dataSync() : rows.dataSync();
}

function take(values: Int32Array, places: Int32Array): Int32Array {
  const taken = new Int32Array(places.length);
  kernels().gatherRows(values, places, taken, places.length, 4);
  return taken;
}

/** Places in the order of ascending ids. A worker's edges are one range of ids, so each has its place at once. */
function ascending(ids: Int32Array): Int32Array {
  const first = ids.reduce((least, id) => Math.min(least, id), Infinity);
  const order = new Int32Array(ids.length).fill(-1);
  for (let i = 0; i < ids.length; i++) {
    const place = ids[i] - first;
    if (place >= ids.length || order[place] >= 0)
      throw new ValueError(
        expected(where, 'edge ids that are one range without repeats', 'partitionData', `edge ${ids[i]}`),
      );
    order[place] = i;
  }
  return order;
}
