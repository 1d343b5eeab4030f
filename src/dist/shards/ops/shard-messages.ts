/**
 * User-defined message functions, shard by shard: the function runs on the edges of one shard at a time, and again in
 * backward, so that neither messages of all edges nor rows of all workers are ever held. Only the fields that it reads
 * are sent.
 */
import type { ReduceName, UserMessage } from '../../../graph/index.js';
import { kernels } from '../../../native/index.js';
import { gradientsOf } from '../../../tensor/backward.js';
import {
  type BackwardContext,
  defineMultiOp,
  enableGrad,
  randomState,
  scope,
  setRandomState,
  type Tensor,
} from '../../../tensor/index.js';
import { zerosLike } from '../../../tensor/ops/common.js';
import { Random, type RandomState } from '../../../util/philox.js';
import type { GraphShard } from '../graph-shard.js';
import { forEachShard } from '../shard-rounds.js';
import { contiguous, RowKeeper, rowBytes, savedRowsOf } from '../shard-rows.js';
import { MessageResult, messageGradient } from './message-result.js';
import {
  type Field,
  type MessageTarget,
  runOnShard,
  shardEdgeIds,
  shardEdgeRows,
  traceMessage,
} from './message-run.js';

type GeneratorStates = Map<GraphShard, RandomState>;

interface Attributes {
  readonly graph: MessageTarget;
  readonly message: UserMessage;
  readonly fields: readonly Field[];
  readonly parameters: readonly Tensor[];
  readonly names: readonly string[];
  /** null: rows per edge are the result. */
  readonly reduce: ReduceName | null;
  /** Messages of the own shard, computed already. */
  readonly own: readonly Tensor[];
  /** The state of the shared generator before each shard, so that a second run draws the same numbers. */
  readonly random: GeneratorStates;
}

/** Inputs are the tensors of the fields, then the parameters. */
const messagesOp = defineMultiOp<Attributes>({
  name: 'messages (shards)',
  forward(ctx, inputs, { graph, message, fields, names, reduce, own, random }) {
    const tensors = inputs.slice(0, fields.length).map(contiguous);
    const keeper = new RowKeeper(graph, ctx.recording);
    const results = own.map((rows) => new MessageResult(graph, reduce, rows));
    forEachShard(graph, {
      fields: tensors.filter((_, i) => fields[i].side === 'src'),
      visit(shard, rows) {
        if (shard === graph.own) {
          for (const [i, result] of results.entries()) result.join(shard, own[i]);
          return undefined;
        }
        random.set(shard, shardGenerator(graph, shard, random));
        scope(() => {
          const given = shardRows(graph, shard, fields, tensors, rows);
          const made = withGenerator(random.get(shard), () => runOnShard(shard, message, fields, given));
          for (const [i, name] of names.entries()) results[i].join(shard, contiguous(made[name]));
        });
        return keeper.keep(shard, rows);
      },
    });
    const args = results.flatMap(({ arg }) => (arg === null ? [] : [arg]));
    ctx.save(...tensors, ...args, ...keeper.rows);
    keeper.dispose();
    for (const t of [...args, ...own]) t.dispose();
    return results.map(({ y }) => y);
  },
  backward(ctx, gradients, attributes) {
    const { graph, fields, names, reduce } = attributes;
    const { saved } = ctx;
    const tensors = saved.slice(0, fields.length);
    const extreme = reduce === 'max' || reduce === 'min';
    const args = extreme ? saved.slice(fields.length, fields.length + names.length) : null;
    const kept = saved.slice(fields.length + (args?.length ?? 0));
    const sources = tensors.filter((_, i) => fields[i].side === 'src');
    const all = [...tensors, ...attributes.parameters];
    const totals = all.map((t, i) => (ctx.needs(i) ? zerosLike(t.dtype, t.shape) : null));
    const given = gradients.map((g) => (g === null ? null : contiguous(g)));
    forEachShard(graph, {
      fields: sources,
      savedRows: savedRowsOf(graph, kept, sources.length),
      gradients: totals.flatMap((t, i) => (t !== null && fields[i]?.side === 'src' ? [t] : [])),
      visit(shard, rows, targets) {
        const inputs = scope(() => shardGradients(ctx, shard, tensors, rows, given, args, attributes));
        addGradients(shard, inputs, totals, targets, attributes);
        for (const t of inputs) t?.dispose();
        return undefined;
      },
    });
    return totals;
  },
});

/**
 * Returns a separate generator for a shard of another worker: the shared one advances as far as on one machine, on all
 * workers alike.
 */
function shardGenerator(
  { own }: MessageTarget,
  { owner, start }: GraphShard,
  random: GeneratorStates,
): RandomState {
  const { key, position } = random.get(own) as RandomState;
  const shared = new Random(0);
  shared.restore({ key, position });
  return shared.split(position).split(owner).split(start).state();
}

/** Runs `work` with the shared generator at `state`, and restores the generator. */
function withGenerator<T>(state: RandomState | undefined, work: () => T): T {
  const before = randomState();
  if (state !== undefined) setRandomState(state);
  const made = work();
  setRandomState(before);
  return made;
}

/** Returns the rows of all fields that a shard needs; those of edges are copies. */
function shardRows(
  graph: MessageTarget,
  shard: GraphShard,
  fields: readonly Field[],
  tensors: readonly Tensor[],
  sources: readonly Tensor[],
): Tensor[] {
  let next = 0;
  return fields.map(({ side }, i) => {
    if (side === 'src') return sources[next++];
    return side === 'dst' ? tensors[i] : shardEdgeRows(graph, shard, tensors[i]);
  });
}

/** Returns the gradients of fields (rows of the shard) and parameters from one shard, in the order of the inputs. */
function shardGradients(
  ctx: BackwardContext,
  shard: GraphShard,
  tensors: readonly Tensor[],
  sources: readonly Tensor[],
  gradients: readonly (Tensor | null)[],
  args: readonly Tensor[] | null,
  { graph, message, fields, parameters, names, reduce, random }: Attributes,
): (Tensor | null)[] {
  const rows = shardRows(graph, shard, fields, tensors, sources);
  const leaves = rows.map((t, i) => t.view(t.shape, t.strides).setRequiresGrad(ctx.needs(i)));
  const made = withGenerator(random.get(shard), () =>
    enableGrad(() => runOnShard(shard, message, fields, leaves)),
  );
  const roots: Tensor[] = [];
  const starts: Tensor[] = [];
  for (const [i, name] of names.entries()) {
    const g = gradients[i];
    if (g === null || !made[name].requiresGrad) continue;
    roots.push(made[name]);
    starts.push(messageGradient(graph, shard, reduce, g, args?.[i] ?? null));
  }
  const inputs = [...leaves, ...parameters];
  const wanted = inputs.filter((_, i) => ctx.needs(i));
  const found = roots.length === 0 ? [] : gradientsOf(roots, starts, wanted);
  let next = 0;
  return inputs.map((_, i) => (ctx.needs(i) ? (found[next++] ?? null) : null));
}

/** Adds a shard's gradients to the totals; those of its sources go to `targets`. */
function addGradients(
  shard: GraphShard,
  found: readonly (Tensor | null)[],
  totals: readonly (Tensor | null)[],
  targets: readonly Tensor[],
  { graph, fields }: Attributes,
): void {
  let next = 0;
  for (const [i, total] of totals.entries()) {
    if (total === null) continue;
    const g = found[i];
    const side = i < fields.length ? fields[i].side : 'parameter';
    if (side === 'src') {
      const target = targets[next++].floats;
      if (g === null) target.fill(0);
      else target.set(g.floats);
    } else if (g !== null && side === 'data') {
      const ids = shardEdgeIds(graph, shard);
      kernels().putRows(g.array, ids, total.array, shard.numEdges, rowBytes(total));
    } else if (g !== null) {
      kernels().axpy(1, g.floats, total.floats, total.size);
    }
  }
}

/**
 * Runs a message function on all edges; with `reduce`, returns the reduction of the chosen messages by destination,
 * otherwise the rows of all messages by edge position.
 */
export function shardMessages(
  graph: MessageTarget,
  message: UserMessage,
  choose: (names: readonly string[]) => readonly string[],
  reduce: ReduceName | null,
): Record<string, Tensor> {
  const random = new Map([[graph.own, randomState()]]);
  const { fields, parameters, results } = traceMessage(graph, message);
  const names = choose(Object.keys(results));
  const own = names.map((name) => results[name]);
  const inputs = [...fields.map(({ tensor }) => tensor), ...parameters];
  const attributes = { graph, message, fields, parameters, names, reduce, own, random };
  const made = messagesOp(inputs, attributes);
  return Object.fromEntries(names.map((name, i) => [name, made[i]]));
}
