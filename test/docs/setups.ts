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
    plan: ['team', 'pro', 'free'][i % 3],
  },
  segment: i % 4 === 0 ? '' : ['business', 'casual', 'student'][i % 3],
}));
const referrals = Array.from({ length: 180 }, (_, i) => [`c${i % 60}`, `c${(i * 7 + 3 * (i % 5)) % 60}`]);
const customerFiles = {
  'customers.csv': `id,age,spend,country,plan,segment\n${customers.map((row) => `${Object.values(row).join(',')}\n`).join('')}`,
  'referrals.csv': `source,target\n${referrals.map((row) => `${row.join(',')}\n`).join('')}`,
  'new.csv': 'id,age,spend,country,plan\nn1,35,10,FR,pro\nn2,20,,DE,team\n',
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

/** A number from 0 to 1 that looks random and depends on its arguments alone. */
const noise = (i: number, salt: number): number =>
  (Math.imul(Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(salt, 0x85ebca6b), 0xc2b2ae35) >>> 8) / 2 ** 24;

/** 1,200 customers of a shop in three segments, and 5,000 referrals, most of them within a segment. */
function shopFiles(): Record<string, string> {
  const segments = ['business', 'casual', 'student'];
  const plans = ['team', 'pro', 'free'];
  const countries = ['FR', 'DE', 'ES', 'IT', 'NL'];
  const lines = Array.from({ length: 1200 }, (_, i) => {
    const s = i % 3;
    const age = Math.round([38, 34, 20][s] + 14 * noise(i, 1));
    const spend = noise(i, 2) < 0.03 ? '' : ([60, 35, 20][s] + 40 * noise(i, 3)).toFixed(2);
    const plan = noise(i, 4) < 0.5 ? plans[s] : plans[Math.floor(3 * noise(i, 5))];
    return `c${i},${age},${spend},${countries[Math.floor(5 * noise(i, 6))]},${plan},${noise(i, 7) < 0.3 ? segments[s] : ''}\n`;
  });
  const referrals = Array.from({ length: 5000 }, (_, i) => {
    const from = Math.floor(1200 * noise(i, 8));
    const to = Math.floor(400 * noise(i, 9)) * 3 + (noise(i, 10) < 0.6 ? from % 3 : i % 3);
    return `c${from},c${to}\n`;
  });
  return {
    'customers.csv': `id,age,spend,country,plan,segment\n${lines.join('')}`,
    'referrals.csv': `source,target\n${referrals.join('')}`,
    'new.csv': 'id,age,spend,country,plan\nn1,37,44.10,ES,pro\nn2,49,,DE,team\n',
    'new-edges.csv': 'source,target\nn1,c4\nc3,n2\n',
  };
}

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

/** Purchases in three files, and citations with features and classes. */
const purchases = (count: number, salt: number): string =>
  `user,action,item,times\n${Array.from({ length: count }, (_, i) => `${(i * 7) % 20},${['views', 'buys'][i % 2]},${(i + salt) % 30},${1 + (i % 3)}\n`).join('')}`;
const papers = Array.from({ length: 40 }, (_, i) => `paper${i}`);
const inputFiles = {
  'train.csv': purchases(120, 0),
  'valid.csv': purchases(10, 1),
  'test.csv': purchases(10, 2),
  'cites.csv': `citing,cited\n${papers.map((name, i) => `${name},${papers[(i * 3 + 1) % 40]}\n`).join('')}`,
  'x.csv': papers.map((name, i) => `${name},${i % 4},${i % 7}\n`).join(''),
  'y.csv': papers.map((name, i) => `${name},${['theory', 'practice'][i % 2]}\n`).join(''),
};

/** Accounts, few of them fraudulent, most transfers of which are among themselves. */
const isFraud = (i: number): boolean => i % 8 === 3;
const accountFiles = {
  'accounts.csv': `id,age,volume,label\n${Array.from({ length: 80 }, (_, i) => `a${i},${30 + Math.floor(900 * noise(i, 11))},${Math.floor((isFraud(i) ? 900 : 300) * noise(i, 12))},${i % 5 === 4 ? '' : isFraud(i) ? 'fraud' : 'fine'}\n`).join('')}`,
  'transfers.csv': `source,target\n${Array.from({ length: 240 }, (_, i) => `a${i % 80},a${isFraud(i % 80) ? 3 + 8 * (i % 10) : (i * 7 + 2) % 80}\n`).join('')}`,
};

/** Purchases of 50 users among 30 items, the first of which are the most popular. */
const purchaseFiles = {
  'purchases.csv': `user,item\n${Array.from({ length: 600 }, (_, i) => `${i % 50},${Math.floor(30 * noise(i, 1) * noise(i, 2))}\n`).join('')}`,
};

/** Two short runs: of links in runs/links, of nodes in runs/nodes. */
const trainedRuns = [
  ...preparedFacts,
  'skein train facts.yaml --storage.model_dir=runs/links --training.num_epochs=2',
  ...preparedCustomers,
  'skein config customers > customers.yaml',
  'skein train customers.yaml --storage.model_dir=runs/nodes --training.num_epochs=2',
];

export const setups: Readonly<Record<string, Setup>> = {
  'README.md': { files: { ...facts, ...customerFiles, ...eventFiles } },
  'docs/extending.md': { files: facts, commands: preparedFacts },
  'docs/first-run.md': { files: shopFiles() },
  'docs/guides/links.md': {
    files: facts,
    prelude: `const moreFacts: [string, string, string][] = ${JSON.stringify(factRows)};\n`,
  },
  'docs/guides/recommend.md': { files: purchaseFiles },
  'docs/recipes.md': {
    files: { ...facts, ...customerFiles, ...accountFiles, ...purchaseFiles, ...eventFiles },
    prelude: `const moreFacts: [string, string, string][] = ${JSON.stringify(factRows)};\n`,
  },
  'docs/migration/marius.md': { files: facts },
  'docs/migration/tgl.md': {
    files: { ...eventFiles, 'pairs.csv': 'u1,u5,1800000000\nu2,u9,1800000060\n' },
  },
  'docs/migration/sar.md': { files: customerFiles, commands: preparedCustomers },
  'docs/guides/nodes.md': {
    files: customerFiles,
    prelude: `
const moreCustomers = ${JSON.stringify(customers.map(({ spend, plan, ...row }) => ({ ...row, segment: row.segment || null })))};
const moreReferrals: [string, string][] = ${JSON.stringify(referrals)};
`,
  },
  'docs/guides/events.md': {
    files: eventFiles,
    prelude: `const moreMessages: [string, string, number][] = ${JSON.stringify(events.map(([a, b, t]) => [a === 'u0' ? 'ana' : a, b, t]))};\n`,
  },
  'docs/search.md': {
    files: facts,
    commands: preparedFacts,
  },
  'docs/explanations.md': {
    files: { ...facts, ...customerFiles, ...eventFiles },
    commands: [
      ...trainedRuns,
      'skein config events.csv > events.yaml',
      'skein train events.yaml --storage.model_dir=runs/events --train.epoch=1',
    ],
    prelude: `
const customers = ${JSON.stringify(customers.map(({ spend, plan, ...row }) => ({ ...row, segment: row.segment || null })))};
const referrals: [string, string][] = ${JSON.stringify(referrals)};
const facts: [string, string, string][] = ${JSON.stringify(factRows)};
const messages: [string, string, number][] = ${JSON.stringify(events.map(([a, b, t]) => [a === 'u0' ? 'ana' : a, b, t]))};
`,
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
  'docs/partitions.md': { files: customerFiles, commands: preparedCustomers },
  'docs/features.md': { files: { 'features.bin': '\0'.repeat(4 * 128 * 1000) } },
  'docs/gpu-training.md': {
    prelude: `
import { type GraphBatcher, type Model } from 'skein/marius';
declare const model: Model;
declare const batcher: GraphBatcher;
`,
  },
  'docs/onnx.md': {
    files: { ...facts, ...customerFiles },
    commands: [
      ...preparedFacts,
      ...preparedCustomers,
      'skein config customers > customers.yaml',
      'skein train facts.yaml --storage.model_dir=runs/facts --training.num_epochs=1',
      'skein train customers.yaml --storage.model_dir=runs/customers --training.num_epochs=1',
    ],
  },
  'docs/sar.md': { files: customerFiles, commands: partitionedCustomers },
  'docs/datasets.md': { files: eventFiles },
  'docs/formats.md': {
    prelude: `
import { writeFileSync } from 'node:fs';
import { TensorView, writeNpy, writeNpz } from 'skein/interop';
import { fromTypedArray, randn } from 'skein';
const ids = (list: number[]) => TensorView.fromTensor(fromTypedArray(Int32Array.from(list), [list.length]));
writeFileSync('features.npy', writeNpy(TensorView.fromTensor(randn([3, 4]))));
writeFileSync('edges.npz', await writeNpz({ row: ids([0, 1, 2]), col: ids([1, 2, 0]) }));
`,
  },
  'docs/preprocessing.md': { files: { ...facts, ...customerFiles, ...inputFiles } },
  'docs/temporal.md': {
    files: {
      ...eventFiles,
      'calls.csv': `caller,callee,when\n${events.map((row) => `${row.join(',')}\n`).join('')}`,
      'pairs.csv': 'u1,u5,1800000000\nu2,u9,1800000060\n',
    },
  },
  'docs/temporal-evaluation.md': { files: eventFiles },
  'docs/streams.md': { files: eventFiles },
  'docs/serving.md': {
    files: { ...facts, ...customerFiles, ...eventFiles },
    commands: [
      ...preparedCustomers,
      'skein config customers > customers.yaml',
      'skein train customers.yaml --storage.model_dir=runs/customers --training.num_epochs=2',
      'skein config events.csv > events.yaml',
      'skein train events.yaml --storage.model_dir=runs/events --train.epoch=1',
    ],
  },
  'docs/runs.md': {
    files: {
      ...{ ...facts, ...customerFiles, 'candidates.tsv': 'ana\tworks in\tteam1\nana\tknows\tp8\n' },
      'questions.ndjson': '{"head":"ana","relation":"works in"}\n{"neighbors":"carl"}\n',
    },
    commands: trainedRuns,
  },
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
