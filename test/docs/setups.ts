/** Assumptions of the pages of docs/: files in the working directory, and values that their TypeScript blocks use. */

export interface Setup {
  /** Files to write, by path relative to the working directory of the page. */
  readonly files?: Readonly<Record<string, string>>;
  /** Commands of `skein` to run before the first block. */
  readonly commands?: readonly string[];
  /** TypeScript in front of each program of the page, for example the reader's own graph. */
  readonly prelude?: string;
}

/** Facts about 48 people in 4 teams, as lines of text. */
const people = Array.from({ length: 48 }, (_, i) => `p${i}`);
const factRows = people.flatMap((name, i) => [
  [name, 'works in', `team${i % 4}`],
  [name, 'lives in', `city${i % 2}`],
  [name, 'knows', people[(i + 4) % 48]],
]);
factRows.push(
  ['ana', 'works in', 'team0'],
  ['ana', 'knows', 'p0'],
  ['ana', 'knows', 'p4'],
  ['carl', 'knows', 'ana'],
);
const facts = { 'facts.tsv': factRows.map((row) => `${row.join('\t')}\n`).join('') };

const customers = Array.from({ length: 60 }, (_, i) => ({
  ...{
    id: `c${i}`,
    age: 20 + (i % 3) * 15,
    spend: i % 9 === 0 ? '' : 10 * (i % 3),
    country: ['FR', 'DE'][i % 2],
  },
  segment: i % 4 === 0 ? '' : ['business', 'casual', 'student'][i % 3],
}));
const referrals = Array.from({ length: 180 }, (_, i) => [`c${i % 60}`, `c${(i * 7 + 3 * (i % 5)) % 60}`]);
const customerFiles = {
  'customers.csv': `id,age,spend,country,segment\n${customers.map((row) => `${Object.values(row).join(',')}\n`).join('')}`,
  'referrals.csv': `source,target\n${referrals.map((row) => `${row.join(',')}\n`).join('')}`,
  'new.csv': 'id,age,spend,country\nn1,35,10,FR\nn2,20,,DE\n',
  'new-edges.csv': 'source,target\nn1,c4\nc3,n2\n',
};

const events = Array.from({ length: 300 }, (_, i) => [
  `u${i % 15}`,
  `u${(i * 4 + 1) % 15}`,
  1700000100 + 60 * i,
]);
const eventFiles = {
  'events.csv': `source,target,time\n${events.map((row) => `${row.join(',')}\n`).join('')}`,
};

/** A prepared graph and its configuration, as the guide to links makes them. */
const preparedFacts = [
  'skein preprocess --edges facts.tsv --output-directory facts --dataset-split 0.9 0.05 0.05',
  'skein config facts > facts.yaml',
];

/** A prepared graph with features and classes, and partitions of it for two workers. */
const preparedCustomers = [
  'skein preprocess --edges referrals.csv --node-table customers.csv --label-column segment --output-directory customers',
];
const partitionedCustomers = [
  ...preparedCustomers,
  'skein partition customers --num-partitions 2 --algorithm random --output partitions/customers',
];

export const setups: Readonly<Record<string, Setup>> = {
  'README.md': { files: { ...facts, ...customerFiles, ...eventFiles } },
  'docs/extending.md': { files: facts, commands: preparedFacts },
  'docs/guides/links.md': {
    files: facts,
    prelude: `const moreFacts: [string, string, string][] = ${JSON.stringify(factRows)};\n`,
  },
  'docs/guides/nodes.md': {
    files: customerFiles,
    prelude: `
const moreCustomers = ${JSON.stringify(customers.map(({ spend, ...row }) => ({ ...row, segment: row.segment || null })))};
const moreReferrals: [string, string][] = ${JSON.stringify(referrals)};
`,
  },
  'docs/guides/events.md': {
    files: eventFiles,
    prelude: `const moreMessages: [string, string, number][] = ${JSON.stringify(events.map(([a, b, t]) => [a === 'u0' ? 'ana' : a, b, t]))};\n`,
  },
  'docs/guides/larger-than-memory.md': { files: facts, commands: preparedFacts },
  'docs/guides/workers.md': { files: facts, commands: preparedFacts },
  'docs/distributed.md': {
    prelude: `
import { randn } from 'skein';
const features = randn([8, 4]);
const labels = Int32Array.from({ length: 8 }, (_, i) => i % 2);
`,
  },
  'docs/distributed-training.md': { files: facts, commands: preparedFacts },
  'docs/distributed-sampling.md': { files: customerFiles, commands: partitionedCustomers },
  'docs/sar.md': { files: customerFiles, commands: partitionedCustomers },
  'docs/graphs.md': {
    prelude: `
import { Graph, randn } from 'skein';
const [numNodes, numEdges] = [50, 200];
const graph = Graph.fromEdges(
  Array.from({ length: numEdges }, (_, i) => (i * 7) % numNodes),
  Array.from({ length: numEdges }, (_, i) => (i * 3 + 1) % numNodes),
  { numNodes },
);
const x = randn([numNodes, 100]);
const labels = Int32Array.from({ length: numNodes }, (_, i) => i % 47);
const trainIds = Int32Array.from({ length: 30 }, (_, i) => i);
`,
  },
};
