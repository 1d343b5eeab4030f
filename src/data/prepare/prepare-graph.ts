/** Writes graphs in memory, from arrays or a generator, as prepared directories for `skein train`. */

import { temporaryName } from '../../storage/temporary-name.js';
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { PreparedStats } from './dataset-yaml.js';
import { type ArraySplit, arraySource, type OnPrepareProgress } from './graph-source.js';
import { buildFolder, checkTarget } from './output-folder.js';
import { writePrepared } from './write-prepared.js';

/** Edges src[i] → dst[i] of one split; all splits have relations, or none. */
export interface GraphSplit {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly relations?: Int32Array;
}

export interface PrepareGraphOptions {
  readonly outputDir: string;
  readonly numNodes: number;
  /** Required if edges have relations. */
  readonly numRelations?: number;
  /** Names of nodes and relations, by id; nodes are then renumbered, as for files. Default: the ids are the names. */
  readonly nodeNames?: readonly string[];
  readonly relationNames?: readonly string[];
  /** Default 1. */
  readonly partitions?: number;
  /** Fractions of training, (validation) and test edges, if one split is given. Default: all are training edges. */
  readonly split?: readonly number[];
  /** Default 1. */
  readonly seed?: number;
  readonly overwrite?: boolean;
  readonly progress?: OnPrepareProgress;
}

const where = 'prepareGraph';

/**
 * Writes one split, or training and test, or training, validation and test. Ids are kept.
 *
 * @example
 * const { src, dst } = rmatEdges(1000, { numEdges: 10_000 });
 * await prepareGraph([{ src, dst }], { outputDir: 'data/mine', numNodes: 1000, split: [0.9, 0.05, 0.05] });
 */
export async function prepareGraph(
  splits: readonly GraphSplit[],
  options: PrepareGraphOptions,
): Promise<PreparedStats> {
  checkOptionNames('prepareGraph', options, {
    outputDir: true,
    numNodes: true,
    numRelations: true,
    nodeNames: true,
    relationNames: true,
    partitions: true,
    split: true,
    seed: true,
    overwrite: true,
    progress: true,
  });
  const { outputDir, numNodes, split = null } = options;
  checkInteger(where, 'numNodes', numNodes, 1, 2 ** 31 - 1);
  if (splits.length < 1 || splits.length > 3)
    throw new ValueError(expected(where, 'one to three splits', 'splits', splits.length));
  const numRelations = checkInteger(where, 'numRelations', options.numRelations ?? 0);
  const checked = splits.map((one, i) => checkSplit(one, i, numNodes, numRelations));
  checkTarget(where, outputDir, options.overwrite ?? false);
  const { nodeNames = null } = options;
  const relationNames = options.relationNames ?? Array.from({ length: numRelations }, (_, r) => String(r));
  if (nodeNames !== null) checkNames('nodeNames', nodeNames, numNodes);
  checkNames('relationNames', relationNames, numRelations);
  const source = arraySource({
    numNodes,
    splits: checked,
    nodeNames,
    relationNames: numRelations > 0 ? relationNames : null,
  });
  const settings = {
    where,
    outputDir,
    seed: checkInteger(where, 'seed', options.seed ?? 1),
    partitions: checkInteger(where, 'partitions', options.partitions ?? 1, 1),
    partitionedEval: false,
    remap: nodeNames !== null,
    sequentialTrainNodes: false,
    split: splits.length > 1 ? null : split,
    memoryBytes: 64 * 2 ** 20,
  };
  return buildFolder(
    temporaryName(outputDir),
    { where, outputDir, overwrite: options.overwrite ?? false },
    (folder) => writePrepared(source, folder, settings, options.progress ?? (() => {})),
  );
}

/** Throws unless there is one name per id and no name twice. */
function checkNames(option: string, names: readonly string[], count: number): void {
  if (names.length !== count)
    throw new ShapeError(expected(where, `${count} names`, option, `${names.length} names`));
  const seen = new Set<string>();
  for (const [id, name] of names.entries()) {
    if (typeof name !== 'string' || name === '')
      throw new ValueError(expected(where, 'text', `${option}[${id}]`, name));
    if (seen.has(name))
      throw new ValueError(
        expected(where, 'different names', `${option}[${id}]`, name, 'It names another id too.'),
      );
    seen.add(name);
  }
}

function checkSplit(
  { src, dst, relations }: GraphSplit,
  i: number,
  numNodes: number,
  numRelations: number,
): ArraySplit {
  const name = `splits[${i}]`;
  if (src.length !== dst.length)
    throw new ShapeError(expected(where, `${src.length} ids (as src)`, `${name}.dst`, dst.length));
  if ((relations !== undefined) !== numRelations > 0)
    throw new ValueError(
      expected(
        where,
        numRelations > 0 ? 'relations' : 'no relations',
        `${name}.relations`,
        relations === undefined ? 'none' : 'some',
        'Set numRelations if and only if edges have relations.',
      ),
    );
  const checkRange = (ids: Int32Array, limit: number, what: string): void => {
    const wrong = ids.findIndex((id) => id < 0 || id >= limit);
    if (wrong >= 0)
      throw new ValueError(
        expected(where, `ids from 0 to ${limit - 1}`, `${name}.${what}[${wrong}]`, ids[wrong]),
      );
  };
  checkRange(src, numNodes, 'src');
  checkRange(dst, numNodes, 'dst');
  if (relations === undefined) return { src, dst };
  if (relations.length !== src.length)
    throw new ShapeError(expected(where, `${src.length} relations`, `${name}.relations`, relations.length));
  checkRange(relations, numRelations, 'relations');
  return { src, rel: relations, dst };
}
