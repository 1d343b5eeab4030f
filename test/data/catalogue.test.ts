/** The catalogue: finding files, fetching them, and what is said when they are missing, damaged or elsewhere. */
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogue, type DatasetName, datasetNames, loadDataset } from 'skein/data';
import { FormatError, StorageError, ValueError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let folder = '';
let server: Server;
let mirror = '';
/** Responses of the server, by path. */
const served = new Map<string, string>();

/** A knowledge graph with the counts of UMLS. */
function umlsParts(): Record<'train' | 'valid' | 'test', string> {
  const facts = Array.from(
    { length: 5216 + 652 + 661 },
    (_, i) => `e${i % 135}\tr${i % 46}\te${(i * 7) % 135}`,
  );
  const text = (from: number, to: number): string => `${facts.slice(from, to).join('\n')}\n`;
  return { train: text(0, 5216), valid: text(5216, 5868), test: text(5868, 6529) };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-catalogue-'));
  for (const [part, text] of Object.entries(umlsParts())) served.set(`/umls/${part}.txt`, text);
  server = createServer((request, response) => {
    const body = served.get(request.url ?? '');
    response.writeHead(body === undefined ? 404 : 200).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  mirror = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

test('entries are complete and stay in their folder', () => {
  for (const name of datasetNames) {
    const entry = catalogue[name];
    expect(Object.keys(entry.counts).length).toBeGreaterThan(1);
    for (const file of entry.files.flat()) {
      expect(file.name).toMatch(/^[\w.-]+(\/[\w.-]+)*$/);
      expect(file.name).not.toMatch(/(^|\/)\.\.?(\/|$)/);
      if (file.sha256 !== undefined) expect(file.sha256).toMatch(/^[0-9a-f]{64}$/);
      if (file.url !== undefined) expect(file.url).toMatch(/^https:\/\//);
    }
  }
});

test('a name that is not in the catalogue lists those that are', async () => {
  for (const name of ['corra', '../cora', 'toString'])
    await expect(loadDataset(name as DatasetName)).rejects.toThrow(ValueError);
  await expect(loadDataset('corra' as DatasetName)).rejects.toThrow(/one of karate-club, cora, citeseer/);
});

test('missing files are listed with their path and address', async () => {
  const loading = loadDataset('cora', { root: folder, download: false });
  await expect(loading).rejects.toThrow(StorageError);
  await expect(loading).rejects.toThrow(join(folder, 'planetoid', 'ind.cora.allx'));
  await expect(loading).rejects.toThrow(
    'https://github.com/kimiyoung/planetoid/raw/master/data/ind.cora.graph',
  );
  const other = loadDataset('fb15k-237', { root: folder, download: false });
  await expect(other).rejects.toThrow(
    `${join(folder, 'fb15k-237', 'train.txt.gz')}  or  ${join(folder, 'fb15k-237', 'train.txt')}`,
  );
});

describe('fetching', () => {
  test('files are fetched once and then found', async () => {
    const root = join(folder, 'fetched');
    const data = await loadDataset('umls', { root, mirror });
    expect(data.entities.length).toBe(135);
    expect(data.train.src.length).toBe(5216);
    expect((await readdir(join(root, 'umls'))).sort()).toEqual(['test.txt', 'train.txt', 'valid.txt']);
    expect(await loadDataset('umls', { root, download: false })).toEqual(data);
  });

  test('what cannot be fetched is said, with the reason and what to do', async () => {
    const loading = loadDataset('collegemsg', { root: join(folder, 'none'), mirror });
    await expect(loading).rejects.toThrow(/download failed: download: expected http.*got status 404/);
    await expect(loading).rejects.toThrow(join(folder, 'none', 'collegemsg', 'CollegeMsg.txt'));
  });

  test('content with a wrong checksum is rejected and not kept', async () => {
    served.set('/mathoverflow/sx-mathoverflow-typed.txt.gz', '1 2 3\n');
    const root = join(folder, 'wrong');
    await expect(loadDataset('mathoverflow', { root, mirror })).rejects.toThrow(
      /expected the checksum e451861143b5…/,
    );
    await expect(readdir(join(root, 'mathoverflow'))).rejects.toThrow('ENOENT');
  });
});

describe('local files', () => {
  /** A folder of UMLS-like files below `place`. */
  async function put(place: string): Promise<string> {
    await mkdir(place, { recursive: true });
    for (const [part, text] of Object.entries(umlsParts())) await writeFile(join(place, `${part}.txt`), text);
    return place;
  }

  test('are found in the folder, in raw/, and in the root itself', async () => {
    for (const place of ['umls', 'umls/raw', '.']) {
      const root = join(folder, `plain-${place.length}`);
      await put(join(root, place));
      expect((await loadDataset('umls', { root, download: false })).relations.length).toBe(46);
    }
  });

  test('$SKEIN_DATA is the default root', async () => {
    const before = process.env['SKEIN_DATA'];
    process.env['SKEIN_DATA'] = join(folder, 'env');
    try {
      await put(join(folder, 'env', 'umls'));
      expect((await loadDataset('umls', { download: false })).valid.src.length).toBe(652);
    } finally {
      if (before === undefined) delete process.env['SKEIN_DATA'];
      else process.env['SKEIN_DATA'] = before;
    }
  });

  test('with other counts are rejected', async () => {
    const root = join(folder, 'short');
    await put(join(root, 'umls'));
    const text = await readFile(join(root, 'umls', 'test.txt'), 'utf8');
    await writeFile(join(root, 'umls', 'test.txt'), text.slice(text.indexOf('\n') + 1));
    const loading = loadDataset('umls', { root, download: false });
    await expect(loading).rejects.toThrow(FormatError);
    await expect(loading).rejects.toThrow(/expected 661 test in umls, got 660/);
  });

  test('with a wrong checksum are rejected', async () => {
    const root = join(folder, 'damaged');
    await mkdir(join(root, 'collegemsg'), { recursive: true });
    await writeFile(join(root, 'collegemsg', 'CollegeMsg.txt'), '1 2 3\n');
    await expect(loadDataset('collegemsg', { root })).rejects.toThrow(
      /CollegeMsg\.txt: expected the checksum e00ba2415373…/,
    );
  });

  test('that lead out of the root are rejected', async () => {
    const outside = await put(join(folder, 'outside'));
    const root = join(folder, 'linked');
    await mkdir(root);
    await symlink(outside, join(root, 'umls'));
    await expect(loadDataset('umls', { root, download: false })).rejects.toThrow(
      /expected files inside .*, which leads to/,
    );
    await rm(join(root, 'umls'));
    await cp(outside, join(root, 'umls'), { recursive: true });
    expect((await loadDataset('umls', { root, download: false })).name).toBe('umls');
  });
});
