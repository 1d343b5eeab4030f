/**
 * Graphs and streams in which the reason of every answer is known because it was planted, and measures of how often `explain`
 * finds it: Barabási–Albert graphs with houses and trees with cycles (Ying et al., GNNExplainer, NeurIPS 2019), facts that follow
 * from a rule, and events that follow a trigger.
 */
import {
  type EventStreamPredictor,
  type Explanation,
  fitEvents,
  fitLinks,
  fitNodes,
  type LinkPredictor,
  type NodePredictor,
  type WeightedEdge,
} from 'skein/predict';
import { Random } from 'skein/util';

/** The explanations of one planted reason. */
export interface Measured {
  readonly name: string;
  /** How good the model is: accuracy, or mean reciprocal rank. */
  readonly quality: number;
  /** AUC of the weights of planted edges against the others, or the share of answers whose reason is among the first three. */
  readonly found: number;
  /** `found` of models with random parameters, or by chance; null if it was not measured. */
  readonly control: number | null;
  /** Mean rank correlation with the weights of a model with random parameters. */
  readonly sanity: number;
  readonly plus: number;
  readonly minus: number;
  readonly sparsity: number;
}

type Edge = readonly [string, string];

interface PlantedGraph {
  readonly nodes: { readonly id: string; readonly role: string; readonly all: string }[];
  readonly edges: Edge[];
  /** The planted edges of each node of a motif. */
  readonly motifOf: ReadonlyMap<string, ReadonlySet<string>>;
}

const keyOf = (head: string, tail: string): string => [head, tail].sort().join(' ');

class GraphBuilder {
  readonly roles = new Map<string, string>();
  readonly #edges = new Map<string, Edge>();
  readonly #motifOf = new Map<string, ReadonlySet<string>>();

  link(a: string, b: string): void {
    if (a !== b) this.#edges.set(keyOf(a, b), [a, b]);
  }

  /** Adds nodes with their roles and edges between them, joined to a node by one edge. */
  motif(
    name: string,
    roles: readonly string[],
    edges: readonly (readonly [number, number])[],
    to: string,
  ): void {
    const idOf = (i: number): string => `${name}.${i}`;
    const own = new Set(edges.map(([a, b]) => keyOf(idOf(a), idOf(b))));
    for (const [i, role] of roles.entries()) {
      this.roles.set(idOf(i), role);
      this.#motifOf.set(idOf(i), own);
    }
    for (const [a, b] of edges) this.link(idOf(a), idOf(b));
    this.link(idOf(0), to);
  }

  /** Adds edges between random nodes. */
  disturb(count: number, random: Random): void {
    const ids = [...this.roles.keys()];
    for (let i = 0; i < count; i++)
      this.link(ids[random.nextInt(ids.length)], ids[random.nextInt(ids.length)]);
  }

  finish(): PlantedGraph {
    // All nodes have the same feature: only the edges tell them apart.
    const nodes = Array.from(this.roles, ([id, role]) => ({ id, role, all: 'node' }));
    return { nodes, edges: [...this.#edges.values()], motifOf: this.#motifOf };
  }
}

/** Houses of five nodes on a Barabási–Albert graph; the role of a node is its position in a house. */
export function houseGraph(seed: number, base = 300, houses = 80, m = 2): PlantedGraph {
  const random = new Random(seed);
  const builder = new GraphBuilder();
  const ends: string[] = [];
  for (let i = 0; i < base; i++) {
    const id = `b${i}`;
    builder.roles.set(id, 'base');
    const chosen = new Set<string>();
    while (chosen.size < Math.min(i, m))
      chosen.add(i <= m ? `b${chosen.size}` : ends[random.nextInt(ends.length)]);
    for (const other of chosen) {
      builder.link(id, other);
      ends.push(id, other);
    }
  }
  const roles = ['bottom', 'bottom', 'middle', 'middle', 'top'];
  const walls = [
    [0, 1],
    [0, 2],
    [1, 3],
    [2, 3],
    [2, 4],
    [3, 4],
  ] as const;
  for (let i = 0; i < houses; i++) builder.motif(`h${i}`, roles, walls, `b${random.nextInt(base)}`);
  builder.disturb(Math.round((base + 5 * houses) / 100), random);
  return builder.finish();
}

/** Cycles of six nodes on a binary tree; the role of a node is whether it is part of a cycle. */
export function cycleGraph(seed: number, levels = 8, cycles = 60): PlantedGraph {
  const random = new Random(seed);
  const builder = new GraphBuilder();
  const base = 2 ** levels - 1;
  for (let i = 0; i < base; i++) {
    builder.roles.set(`t${i}`, 'tree');
    if (i > 0) builder.link(`t${i}`, `t${Math.floor((i - 1) / 2)}`);
  }
  const ring = Array.from({ length: 6 }, (_, i) => [i, (i + 1) % 6] as const);
  const roles = new Array<string>(6).fill('cycle');
  for (let i = 0; i < cycles; i++) builder.motif(`c${i}`, roles, ring, `t${random.nextInt(base)}`);
  builder.disturb(Math.round((base + 6 * cycles) / 100), random);
  return builder.finish();
}

/** Area under the ROC curve of the weights of planted edges; null unless there are edges of both kinds. */
function areaUnderCurve(edges: readonly WeightedEdge[], planted: ReadonlySet<string>): number | null {
  const [hits, others] = [true, false].map((wanted) =>
    edges.filter(({ head, tail }) => planted.has(keyOf(head, tail)) === wanted).map(({ weight }) => weight),
  );
  if (hits.length === 0 || others.length === 0) return null;
  let above = 0;
  for (const hit of hits) for (const other of others) above += hit > other ? 1 : hit === other ? 0.5 : 0;
  return above / (hits.length * others.length);
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

function summary(
  name: string,
  quality: number,
  found: readonly number[],
  control: number | null,
  explanations: readonly Explanation[],
): Measured {
  const of = (value: (one: Explanation) => number): number => mean(explanations.map(value));
  return {
    ...{ name, quality, found: mean(found), control },
    sanity: mean(explanations.flatMap(({ sanity }) => sanity?.correlation ?? [])),
    plus: of(({ fidelity }) => fidelity.plus),
    minus: of(({ fidelity }) => fidelity.minus),
    sparsity: of(({ fidelity }) => fidelity.sparsity),
  };
}

const layer = (width: number, last = false) => ({
  ...{ type: 'GNN', options: { type: 'GRAPH_CONV' }, output_dim: width, bias: true },
  ...(last ? {} : { activation: 'RELU' }),
});

export interface RoleOptions {
  readonly seed?: number;
  /** Nodes that are explained. */
  readonly count?: number;
  readonly method?: 'mask' | 'gradient';
  readonly epochs?: number;
}

/** @param rate almost 0 leaves a model with random parameters */
function fitRoles(graph: PlantedGraph, seed: number, epochs: number, rate = 0.01): Promise<NodePredictor> {
  const classes = new Set(graph.nodes.map(({ role }) => role)).size;
  return fitNodes(graph, {
    ...{ label: 'role', seed, epochs },
    config: {
      'model.encoder.layers': [
        [{ type: 'FEATURE', output_dim: 1 }],
        [layer(20)],
        [layer(20)],
        [layer(classes, true)],
      ],
      'model.dense_optimizer.options.learning_rate': rate,
      'model.dense_optimizer.options.weight_decay': 0.001,
      'training.full_batch': true,
      'training.early_stopping.patience': epochs,
    },
  });
}

/** Models with random parameters that are explained for comparison; one alone may prefer near edges, or far ones. */
const numRandom = 4;

/** Trains a graph neural network on the roles, and explains nodes of motifs. */
export async function measureRoles(
  name: string,
  graph: PlantedGraph,
  { seed = 1, count = 16, method = 'mask', epochs = 500 }: RoleOptions = {},
): Promise<Measured> {
  const motifs = [...graph.motifOf];
  // A step that is prime to the sizes of motifs, so that every role is asked about.
  const asked = Array.from({ length: count }, (_, i) => motifs[(i * 37) % motifs.length]);
  const roles = new Map(graph.nodes.map(({ id, role }) => [id, role]));
  const areas = async (model: NodePredictor, of: typeof asked): Promise<number[]> => {
    const found: number[] = [];
    for (const [node, planted] of of) {
      const { edges } = await model.explain(node, {
        k: 100_000,
        method,
        seed,
        class: roles.get(node) as string,
      });
      const area = areaUnderCurve(edges, planted);
      if (area !== null) found.push(area);
    }
    return found;
  };
  const random: number[] = [];
  for (let r = 0; r < numRandom; r++) {
    const other = await fitRoles(graph, seed + 1 + r, 1, 1e-9);
    random.push(
      ...(await areas(
        other,
        asked.filter((_, i) => i % numRandom === r),
      )),
    );
    await other.close();
  }
  const model = await fitRoles(graph, seed, epochs);
  try {
    // A wrong answer has other reasons than the planted ones.
    const classes = await model.classify(asked.map(([node]) => node));
    const right = asked.filter(([node], i) => classes[i].class === roles.get(node));
    const explanations: Explanation[] = [];
    for (const [i, [node, planted]] of right.entries())
      explanations.push(
        await model.explain(node, { k: planted.size, method, seed: seed + i, randomize: true }),
      );
    const quality = model.metrics.test['accuracy'] as number;
    return summary(name, quality, await areas(model, right), mean(random), explanations);
  } finally {
    await model.close();
  }
}

type Fact = readonly [string, string, string];

/** People, cities and countries: who lives in a city is a citizen of its country. All other facts are random. */
export function ruleFacts(seed: number, people = 240, cities = 24, countries = 6): Fact[] {
  const random = new Random(seed);
  const facts: Fact[] = [];
  const countryOf = Array.from({ length: cities }, (_, i) => i % countries);
  for (const [city, country] of countryOf.entries())
    facts.push([`city${city}`, 'city in', `country${country}`]);
  for (let i = 0; i < people; i++) {
    const city = random.nextInt(cities);
    facts.push([`person${i}`, 'lives in', `city${city}`]);
    facts.push([`person${i}`, 'citizen of', `country${countryOf[city]}`]);
    facts.push([`person${i}`, 'born in', `city${random.nextInt(cities)}`]);
    facts.push([`person${i}`, 'likes', `country${random.nextInt(countries)}`]);
    for (let j = 0; j < 2; j++) facts.push([`person${i}`, 'knows', `person${random.nextInt(people)}`]);
  }
  return facts.filter(([head, , tail]) => head !== tail);
}

export interface RuleMeasured {
  /** The path of the rule among the first three paths. */
  readonly paths: Measured;
  /** One of the two facts of the rule among the first three facts. */
  readonly facts: Measured;
}

/** Trains embeddings on the facts, and explains who is a citizen of which country. */
export async function measureRule({
  seed = 1,
  count = 40,
}: {
  readonly seed?: number;
  readonly count?: number;
} = {}): Promise<RuleMeasured> {
  const facts = ruleFacts(seed);
  const cityOf = new Map(
    facts.flatMap(([head, relation, tail]) => (relation === 'lives in' ? [[head, tail] as const] : [])),
  );
  const model: LinkPredictor = await fitLinks(facts, { seed, epochs: 40 });
  try {
    const citizens = facts.filter(([, relation]) => relation === 'citizen of');
    const asked = Array.from({ length: count }, (_, i) => citizens[(i * 37) % citizens.length]);
    const explanations: Explanation[] = [];
    const [byPath, byFact, byChance]: [number[], number[], number[]] = [[], [], []];
    for (const [i, [head, relation, tail]] of asked.entries()) {
      const one = await model.explain({ head, relation, tail }, { k: 3, seed: seed + i, randomize: true });
      explanations.push(one);
      const city = cityOf.get(head) as string;
      const isReason = (edge: { readonly head: string; readonly relation?: string; readonly tail: string }) =>
        (edge.head === head && edge.relation === 'lives in' && edge.tail === city) ||
        (edge.head === city && edge.relation === 'city in' && edge.tail === tail);
      byPath.push(one.paths.some(({ edges }) => edges.length === 2 && edges.every(isReason)) ? 1 : 0);
      byFact.push(one.facts.some(isReason) ? 1 : 0);
      const { facts: all } = await model.explain({ head, relation, tail }, { k: 100_000, seed });
      const reasons = all.filter(isReason).length;
      // The chance that three random facts contain one of them.
      let missed = 1;
      for (let i = 0; i < 3; i++)
        missed *= Math.max(0, all.length - reasons - i) / Math.max(1, all.length - i);
      byChance.push(1 - missed);
    }
    const quality = model.metrics.test['mrr'] as number;
    return {
      paths: summary('rule, paths', quality, byPath, null, explanations),
      facts: summary('rule, facts', quality, byFact, mean(byChance), explanations),
    };
  } finally {
    await model.close();
  }
}

interface PlantedEvent {
  readonly head: string;
  readonly tail: string;
  readonly time: number;
}

/** People visit places at random; who sees alarm i reports to desk i next. */
export function triggerEvents(seed: number, people = 40, count = 6000): PlantedEvent[] {
  const random = new Random(seed);
  const [places, alarms] = [20, 8];
  const seen = new Map<number, number>();
  return Array.from({ length: count }, (_, time) => {
    const person = random.nextInt(people);
    const head = `person${person}`;
    const alarm = seen.get(person);
    if (alarm !== undefined) {
      seen.delete(person);
      return { head, tail: `desk${alarm}`, time };
    }
    if (random.nextInt(4) > 0) return { head, tail: `place${random.nextInt(places)}`, time };
    seen.set(person, random.nextInt(alarms));
    return { head, tail: `alarm${seen.get(person)}`, time };
  });
}

/** Trains on the stream, and explains the reports that are due at its end. */
export async function measureTrigger({ seed = 1 }: { readonly seed?: number } = {}): Promise<Measured> {
  const events = triggerEvents(seed);
  const model: EventStreamPredictor = await fitEvents(events, { seed });
  try {
    const last = new Map(events.map((event) => [event.head, event]));
    const due = [...last.values()].filter(({ tail }) => tail.startsWith('alarm'));
    const explanations: Explanation[] = [];
    const found: number[] = [];
    for (const [i, trigger] of due.entries()) {
      const tail = trigger.tail.replace('alarm', 'desk');
      const one = await model.explain(
        { head: trigger.head, tail },
        { k: 3, seed: seed + i, randomize: true },
      );
      explanations.push(one);
      found.push(one.events.some(({ head, time }) => head === trigger.head && time === trigger.time) ? 1 : 0);
    }
    // By chance: three of the 40 events that are left out.
    return summary('trigger', model.metrics.test['mrr'] as number, found, 3 / 40, explanations);
  } finally {
    await model.close();
  }
}
