/**
 * `loadDataset`: reads a dataset by name from local raw files, or downloads them, and checks it against the expected counts.
 */
import { dirname } from 'node:path';
import { SparseMatrix } from '../graph/index.js';
import { expected, FormatError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { catalogue, type DatasetName, datasetNames } from './catalogue.js';
import {
  type Dataset,
  type EntityDataset,
  type KnowledgeDataset,
  makeNodeDataset,
  type NodeDataset,
  type TemporalDataset,
} from './dataset.js';
import { findFiles } from './download.js';
import { symmetricEdges } from './edges.js';
import { readEdgeList } from './formats/edge-list.js';
import type { EdgeListOptions } from './formats/edge-list-options.js';
import { readEntityClassification } from './formats/entity-classification.js';
import { readOgb } from './formats/ogb.js';
import { readPlanetoid } from './formats/planetoid.js';
import { readShchur } from './formats/shchur.js';
import { readTripleFiles } from './formats/tsv.js';
import { karateClub } from './karate-club.js';
import { namedNodes, shiftedNodes } from './temporal/event-nodes.js';
import { readTemporal } from './temporal/read-temporal.js';
import { loadWordNet, type WordNet } from './wordnet.js';

export interface LoadDatasetOptions {
  /** Folder of the files. Default `$SKEIN_DATA`, else `./data`. */
  readonly root?: string;
  /** Download missing files. Default true. */
  readonly download?: boolean;
  /** Server with the files as <mirror>/<folder>/<file>, used instead of the publishers. */
  readonly mirror?: string;
}

/** The kind of dataset of each name; all others are `NodeDataset`. */
interface OtherKinds {
  aifb: EntityDataset;
  'fb15k-237': KnowledgeDataset;
  wn18rr: KnowledgeDataset;
  'codex-s': KnowledgeDataset;
  umls: KnowledgeDataset;
  kinships: KnowledgeDataset;
  nations: KnowledgeDataset;
  wordnet: WordNet;
  collegemsg: TemporalDataset;
  wikipedia: TemporalDataset;
  mathoverflow: TemporalDataset;
  reddit: TemporalDataset;
  mooc: TemporalDataset;
  lastfm: TemporalDataset;
}

export type DatasetOf<N extends DatasetName> = N extends keyof OtherKinds ? OtherKinds[N] : NodeDataset;

type Reader = (name: DatasetName, files: readonly string[]) => Promise<Dataset>;

/**
 * Loads a dataset of the catalogue.
 *
 * @example
 * const { graph, features, labels, splits } = await loadDataset('cora', { root: './data' });
 */
export async function loadDataset<N extends DatasetName>(
  name: N,
  options: LoadDatasetOptions = {},
): Promise<DatasetOf<N>> {
  checkOptionNames('loadDataset', options, { root: true, download: true, mirror: true });
  if (!Object.hasOwn(catalogue, name)) {
    throw new ValueError(expected('loadDataset', `one of ${datasetNames.join(', ')}`, 'name', name));
  }
  const root = options.root ?? process.env['SKEIN_DATA'] ?? './data';
  const { download = true, mirror } = options;
  if (typeof root !== 'string') throw new ValueError(expected('loadDataset', 'a path', 'root', root));
  if (typeof download !== 'boolean')
    throw new ValueError(expected('loadDataset', 'true or false', 'download', download));
  if (mirror !== undefined && typeof mirror !== 'string')
    throw new ValueError(expected('loadDataset', 'an address', 'mirror', mirror));
  const files = await findFiles(name, catalogue[name], {
    root,
    download,
    ...(mirror === undefined ? {} : { mirror }),
  });
  const dataset = await readers[name](name, files);
  checkCounts(name, dataset, files);
  return dataset as DatasetOf<N>;
}

const planetoid: Reader = async (name, files) =>
  makeNodeDataset(name, await readPlanetoid(dirname(files[0]), name));

const shchur: Reader = async (name, files) => makeNodeDataset(name, await readShchur(files[0]));

const facts: Reader = async (name, [train, valid, test]) => {
  const splits = await readTripleFiles({ train, valid, test });
  const { entities, relations } = splits.train;
  return { kind: 'facts', name, entities, relations, ...splits };
};

/** OGB files, which are in raw/ and split/. */
const ogb =
  (bothDirections: boolean): Reader =>
  async (name, files) =>
    makeNodeDataset(name, await readOgb(dirname(dirname(files[0])), { bothDirections }));

/** Text files whose ids start at 1 or are names. */
const events =
  (options: EdgeListOptions, numSources: number | null = null): Reader =>
  async (name, files) => {
    const { edges, time, type, typeNames, names } = await readEdgeList(files[0], options);
    for (let i = 1; time !== null && i < time.length; i++) {
      if (time[i] < time[i - 1]) {
        throw new FormatError(
          `${files[0]}: expected events in order of time, got event ${i} before its predecessor.`,
          {
            path: files[0],
            index: i,
          },
        );
      }
    }
    return {
      ...{ kind: 'events', name, ...edges, time: time as Float64Array, type, typeNames, names, numSources },
      ...{ features: null, featureWidth: 0, labels: null },
      nodes: names === null ? shiftedNodes(edges.numNodes, 1) : namedNodes(edges.numNodes, names),
    };
  };

/** Files of JODIE and TGN, with features and labels. */
const interactions: Reader = async (name, files) => {
  const { events, numNodes, nodes, featureWidth, labels, dstPool } = await readTemporal(files[0], { name });
  const { src, dst, time, features } = events;
  const numSources = dstPool.length === 0 ? 0 : dstPool[0];
  return {
    ...{ kind: 'events', name, numNodes, src, dst, time, type: null, typeNames: null, names: null },
    ...{ nodes, numSources, features: features ?? null, featureWidth, labels },
  };
};

const wikipediaText = events({ time: 2, idBase: 1 }, 8227);

const readers: Readonly<Record<DatasetName, Reader>> = {
  'karate-club': async (name) => {
    const { edges, labels, numNodes } = karateClub();
    const src = Int32Array.from(edges, ([a]) => a);
    const dst = Int32Array.from(edges, ([, b]) => b);
    const both = symmetricEdges({ numNodes, src, dst });
    return makeNodeDataset(name, { edges: both, features: null, labels, numClasses: 2, splits: null });
  },
  cora: planetoid,
  citeseer: planetoid,
  pubmed: planetoid,
  'amazon-computers': shchur,
  'amazon-photo': shchur,
  'coauthor-cs': shchur,
  'coauthor-physics': shchur,
  aifb: async (name, [triples, complete, train, test]) => ({
    kind: 'entities',
    name,
    ...(await readEntityClassification({
      ...{ triples, complete, train, test },
      ...{ entity: 'person', label: 'label_affiliation' },
    })),
  }),
  'fb15k-237': facts,
  wn18rr: facts,
  'codex-s': facts,
  umls: facts,
  kinships: facts,
  nations: facts,
  wordnet: async () => loadWordNet(),
  collegemsg: events({ time: 2, idBase: 1 }),
  wikipedia: (name, files) =>
    files[0].endsWith('.csv') ? interactions(name, files) : wikipediaText(name, files),
  mathoverflow: events({ time: 2, type: 3, ids: 'names' }),
  reddit: interactions,
  mooc: interactions,
  lastfm: interactions,
  'ogbn-arxiv': ogb(false),
  'ogbn-products': ogb(true),
};

/** Returns the counts of a dataset, under the names of the catalogue. */
export function datasetCounts(dataset: Dataset): Record<string, number> {
  switch (dataset.kind) {
    case 'nodes': {
      const { graph, features, numClasses, splits } = dataset;
      const columns = features instanceof SparseMatrix ? features.columns : features.shape[1];
      const sizes = splits === null ? {} : splitSizes(splits);
      return {
        nodes: graph.numNodes,
        edges: graph.numEdges,
        features: columns,
        classes: numClasses,
        ...sizes,
      };
    }
    case 'facts': {
      const splits = { train: dataset.train.src, valid: dataset.valid.src, test: dataset.test.src };
      return {
        entities: dataset.entities.length,
        relations: dataset.relations.length,
        ...splitSizes(splits),
      };
    }
    case 'entities':
      return {
        ...{
          entities: dataset.entities.length,
          relations: dataset.relations.length,
          facts: dataset.src.length,
        },
        ...{ classes: dataset.numClasses, ...splitSizes(dataset.splits) },
      };
    case 'events': {
      const types = dataset.typeNames === null ? {} : { types: dataset.typeNames.length };
      return { nodes: dataset.numNodes, events: dataset.src.length, ...types };
    }
  }
}

function splitSizes(splits: object): Record<string, number> {
  return Object.fromEntries(Object.entries(splits).map(([name, ids]) => [name, (ids as Int32Array).length]));
}

function checkCounts(name: DatasetName, dataset: Dataset, files: readonly string[]): void {
  const got = datasetCounts(dataset);
  for (const [what, count] of Object.entries(catalogue[name].counts)) {
    if (got[what] === count) continue;
    throw new FormatError(
      `loadDataset: expected ${count} ${what} in ${name}, got ${got[what]}. The files are of another version: ${files.join(', ')}`,
      { dataset: name, what, files },
    );
  }
}
