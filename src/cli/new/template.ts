/** The files of a new project, as text: they ship with the compiled package and need no further packaging. */
import { skeinVersion } from '../../util/version.js';
import { factsCsv } from './facts.js';

/** Returns the files of a project, by path. */
export function projectFiles(name: string): Readonly<Record<string, string>> {
  return {
    'package.json': `${JSON.stringify(packageJson(name), null, 2)}\n`,
    'tsconfig.json': `${JSON.stringify(tsconfig, null, 2)}\n`,
    '.gitignore': 'node_modules/\ndist/\nruns/\ndata/prepared/\n*.tgz\n',
    'README.md': readme(name),
    'skein.yaml': config,
    'data/facts.csv': factsCsv(),
    'src/facts.ts': factsProgram,
    'src/main.ts': mainProgram,
    'src/facts.test.ts': testProgram,
  };
}

function packageJson(name: string): object {
  return {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=20.19' },
    scripts: {
      build: 'tsc',
      start: 'tsc && node dist/main.js',
      test: 'tsc && node --test dist/facts.test.js',
      serve: 'skein serve runs/first',
    },
    dependencies: { skein: `^${skeinVersion}` },
    devDependencies: { '@types/node': '^20.19.0', typescript: '^5.9.0' },
  };
}

const tsconfig = {
  compilerOptions: {
    target: 'ES2022',
    module: 'NodeNext',
    outDir: 'dist',
    rootDir: 'src',
    strict: true,
    types: ['node'],
  },
  include: ['src'],
};

const config = `# How the model is trained. Change a key and run npm start again after removing runs/.
# Every key and default: node_modules/skein/docs/configuration.md
model:
  learning_task: LINK_PREDICTION
  random_seed: 1                 # the same seed gives the same model, bit for bit
  encoder:
    layers:
      - - type: EMBEDDING
          output_dim: 64
          init: { type: NORMAL, options: { std: 0.001 } }
  decoder:
    type: COMPLEX                # or DISTMULT, TRANSE, ROTATE
    options: { relation_init: { type: NORMAL, options: { std: 0.001 } } }
  loss: { type: SOFTMAX_CE, options: { reduction: MEAN } }
  regularizer: { type: N3, coef: 0.1 }
  relation_prediction: { weight: 0.125 }
  dense_optimizer: { type: ADAGRAD, options: { learning_rate: 0.1 } }
  sparse_optimizer: { type: ADAGRAD, options: { learning_rate: 0.1 } }
storage:
  dataset: { dataset_dir: data/prepared }
  model_dir: runs/first
training:
  form: ONE_VS_ALL               # every edge against all nodes; NEGATIVES for large graphs
  batch_size: 100
  num_epochs: 100
  early_stopping: { metric: mrr, patience: 8 }
  checkpoint: { save_best: true }
evaluation:
  epochs_per_eval: 5
  negative_sampling: { filtered: true }
`;

/** The package as a project imports it; the sources of the package themselves import by relative paths alone. */
const library = 'skein';

const factsProgram = `/** The model of data/facts.csv: trained once as skein.yaml says, then opened. */
import { existsSync, rmSync } from 'node:fs';
import { openModel, type Predictor } from '${library}';
import { preprocess } from '${library}/data';
import { loadConfig, Output, trainRun } from '${library}/train';

const run = 'runs/first';

/** Opens the model; trains it first if there is none. Close it after use. */
export async function openFacts(): Promise<Predictor> {
  if (!existsSync(\`\${run}/done.json\`)) await trainFacts();
  return openModel(run);
}

async function trainFacts(): Promise<void> {
  rmSync(run, { recursive: true, force: true });
  await preprocess({
    edges: 'data/facts.csv', // columns head, relation, tail
    outputDir: 'data/prepared',
    split: [0.9, 0.05, 0.05], // training, validation, test
    overwrite: true,
  });
  const { config } = loadConfig('skein.yaml');
  await trainRun({ config, output: new Output() });
}
`;

const mainProgram = `/** Trains a model of the facts, and asks it. */
import { openFacts } from './facts.js';

const model = await openFacts();
console.log('test MRR', model.metrics['test']?.['mrr']?.toFixed(3));

// No fact says where zoe works; her skills and the people she knows do.
const teams = await model.rank({ head: 'zoe', relation: 'works in' }, { k: 3 });
console.log('zoe works in', teams[0]?.name);
console.table(teams);

const similar = await model.neighbors('typescript', { k: 3 });
console.log('like typescript:', similar.map(({ name }) => name).join(', '));

await model.close();
`;

const testProgram = `import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openFacts } from './facts.js';

const model = await openFacts();
after(() => model.close());

test('finds the team of a person from her skills', async () => {
  const [best] = await model.rank({ head: 'zoe', relation: 'works in' });
  assert.equal(best?.name, 'web');
});

test('an unknown name is an error that suggests another', async () => {
  await assert.rejects(model.neighbors('zoé'), /Did you mean .*zoe/);
});
`;

const readme = (name: string): string => `# ${name}

A graph of people, teams, skills and cities, and a model that finds facts that are missing.

\`\`\`sh
npm install
npm start          # prepares data/facts.csv, trains (seconds), asks
npm test
npm run serve      # the same answers over HTTP
\`\`\`

While it serves:

\`\`\`sh
curl http://localhost:8080/rank -H 'Content-Type: application/json' -d '{ "questions": [{ "head": "zoe", "relation": "works in" }], "k": 3 }'
\`\`\`

| file | |
|---|---|
| \`data/facts.csv\` | the facts: head, relation, tail. Put yours here |
| \`skein.yaml\` | how the model is trained |
| \`src/facts.ts\` | prepares, trains and opens the model |
| \`src/main.ts\` | asks |
| \`src/facts.test.ts\` | tests the answers |

After a change of the facts or of \`skein.yaml\`, remove \`runs/\` and start again. The command line works on the same files:

\`\`\`sh
npx skein query runs/first --head zoe --relation "has skill" --include-known
npx skein pack runs/first -o model.tgz      # one file for another machine
\`\`\`
`;
