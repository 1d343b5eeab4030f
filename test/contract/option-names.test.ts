/**
 * Every public function, constructor and static method that takes options rejects an unknown name. The table
 * is read from the sources: what a folder exports, and its parameters called options or typed as such. So a new entry
 * without the check fails here.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';
import * as data from 'skein/data';
import * as dist from 'skein/dist';
import * as gnn from 'skein/gnn';
import * as gpu from 'skein/gpu';
import * as graph from 'skein/graph';
import * as interop from 'skein/interop';
import * as nn from 'skein/nn';
import * as predict from 'skein/predict';
import * as sample from 'skein/sample';
import * as storage from 'skein/storage';
import * as temporal from 'skein/temporal';
import { zeros } from 'skein/tensor';
import * as train from 'skein/train';
import { describe, expect, it, test } from 'vitest';

type Exports = Readonly<Record<string, unknown>>;
const folders: Readonly<Record<string, Exports>> = {
  ...{ data, dist, gnn, gpu, graph, interop, nn: { ...nn, ...nn.init }, predict, sample },
  ...{ storage, temporal, train },
};

/** Without a check, and why. */
const exempt: Readonly<Record<string, string>> = {
  chunkedSoftmaxLoss: 'an operation of every batch',
  chunkedSoftmaxLossSides: 'an operation of every batch',
  complexProduct: 'an operation of every batch',
  edgeSoftmaxLoss: 'an operation of every batch',
  temporalAttention: 'an operation of every batch',
  stateDelta: 'a step of every batch',
  'Block.trusted': 'made for every batch by samplers',
  GraphShardManager: 'made by constructFullGraph from checked options',
  DistributedBlock: 'made by constructMfgs from checked options',
  AdaptiveSampler: 'made by openSampler from checked options',
  EdgeDecoder: 'abstract: decoders of users have options of their own',
  LossFunction: 'abstract: losses of users have options of their own',
  LayeredModel: 'abstract: the models that extend it check theirs',
  MemoryUpdater: 'abstract: the updaters that extend it check theirs',
  loadDglPartitionData: 'hands them to loadPartitionData',
  initializeStorage: 'calls initializeSharedStorage or checks its table',
  TrainingSession: 'made by trainRun from checked options',
};

/** Arguments without which the check is not reached. */
const needed: Readonly<Record<string, readonly unknown[]>> = {
  ...Object.fromEntries(
    ['StepLR', 'MultiStepLR', 'CosineAnnealingLR', 'LinearWarmup'].map((name) => [
      name,
      [new nn.SGD([nn.parameter(zeros([1]))], { lr: 1 }), 1],
    ]),
  ),
  ...Object.fromEntries(['GAT', 'GCN', 'GIN', 'GraphSAGE'].map((name) => [name, [[4, 2]]])),
  edgeDecoder: ['DOT'],
  lossFunction: ['MSE'],
  readEdgeList: ['edges.csv'],
  Block: [graph.Graph.fromEdges(Int32Array.of(0), Int32Array.of(1), { numNodes: 2 }).adjacency],
};

type Callable = (new (...args: unknown[]) => object) & Record<string, (...args: unknown[]) => unknown>;

interface Entry {
  readonly name: string;
  readonly at: number;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  // biome-ignore lint/suspicious/noExplicitAny: a syntax tree, read by the names of its parts
  readonly [part: string]: any;
}

/** Parameters that are options, of what a file exports. */
function entriesOf(path: string): Entry[] {
  const text = readFileSync(path, 'utf8');
  const body = parseSync(path, text).program.body as unknown as Node[];
  const found: Entry[] = [];
  const look = (name: string, params: readonly Node[]): void => {
    for (const [at, param] of params.entries()) {
      const inner = param.type === 'TSParameterProperty' ? param['parameter'] : param;
      const target: Node = inner.type === 'AssignmentPattern' ? inner.left : inner;
      const type: Node | undefined = target['typeAnnotation']?.typeAnnotation;
      const shown = type === undefined ? '' : text.slice(type.start, type.end);
      if (/Options\b/.test(shown) && !/Input</.test(shown)) found.push({ name, at });
      else if (target['name'] === 'options' && shown.startsWith('{')) found.push({ name, at });
    }
  };
  for (const { declaration } of body.filter(({ type }) => type === 'ExportNamedDeclaration')) {
    if (declaration?.type === 'FunctionDeclaration' && declaration.body)
      look(declaration.id.name, declaration.params);
    if (declaration?.type !== 'ClassDeclaration') continue;
    for (const member of declaration.body.body as Node[]) {
      if (member.type !== 'MethodDefinition' || !member['value'].body) continue;
      const { name } = declaration.id;
      if (member['kind'] === 'constructor') look(name, member['value'].params);
      else if (member['static']) look(`${name}.${member['key'].name}`, member['value'].params);
    }
  }
  return found;
}

const src = fileURLToPath(new URL('../../src', import.meta.url));

async function call(own: Exports, { name, at }: Entry): Promise<unknown> {
  const [head, method] = name.split('.');
  const target = own[head] as Callable;
  const args = Array.from({ length: at }, (_, i) => needed[head]?.[i]);
  const given = { ...{ notAnOption: 1 } };
  if (method !== undefined) return target[method](...args, given);
  if (!/^class\b/.test(Function.prototype.toString.call(target)))
    return (target as unknown as (...all: unknown[]) => unknown)(...args, given);
  // An abstract class is checked through what extends it.
  const made = class extends (target as new (...all: unknown[]) => object) {};
  Object.defineProperty(made, 'name', { value: head });
  return new made(...args, given);
}

describe.each(Object.entries(folders))('skein/%s', (folder, own) => {
  const files = readdirSync(join(src, folder), { recursive: true, encoding: 'utf8' });
  const entries = files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => entriesOf(join(src, folder, file)))
    .filter(({ name }) => name.split('.')[0] in own && !(name in exempt));

  test.each(entries.map((entry) => [entry.name, entry] as const))('%s', async (_name, entry) => {
    await expect((async () => call(own, entry))()).rejects.toThrow(/(expected|unknown|no) .*notAnOption/);
  });
});

it('the error for a misspelt option in another style suggests the right one', () => {
  const misspelt = { input_node_features: ['h'] } as object;
  expect(() => new dist.DistNeighborSampler([2], misspelt)).toThrow(/Did you mean inputNodeFeatures\?/);
});
