/** Graphs in memory as prepared directories: what `skein train` runs on, from arrays of one's own or a generator. */

import { temporaryName } from '../../storage/temporary-name.js';
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { PreparedStats } from './dataset-yaml.js';
import { type ArrayPart, arraySource, type OnPrepareProgress } from './graph-source.js';
import { buildFolder, checkTarget } from './output-folder.js';
import { writePrepared } from './write-prepared.js';

/** Edges src[i] → dst[i]; with relations all parts have them. */
export interface GraphPart {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly relations?: Int32Array;
}

export interface PrepareGraphOptions {
  readonly outputDir: string;
  readonly numNodes: number;
  /** Needed when edges have relations. */
  readonly numRelations?: number;
  /** Names of nodes and of relations, by id; ids are then drawn again, as for files. Default: the ids are the names. */
  readonly nodeNames?: readonly string[];
  readonly relationNames?: readonly string[];
  /** Default 1. */
  readonly partitions?: number;
  /** Shares of training, (validation) and test edges, when one part is given. Default: all are training edges. */
  readonly split?: readonly number[];
  /** Default 1. */
  readonly seed?: number;
  readonly overwrite?: boolean;
  readonly progress?: OnPrepareProgress;
}

const where = 'prepareGraph';

/**
 * Writes one part, or training and test, or training, validation and test. Ids stay as they are.
 *
 * @example
 * const { src, dst } = rmatEdges(1000, { numEdges: 10_000 });
 * await prepareGraph([{ src, dst }], { outputDir: 'data/mine', numNodes: 1000, split: [0.9, 0.05, 0.05] });
 */
export async function prepareGraph(
  parts: readonly GraphPart[],
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
  if (parts.length < 1 || parts.length > 3)
    throw new ValueError(expected(where, 'one to three parts', 'parts', parts.length));
  const numRelations = checkInteger(where, 'numRelations', options.numRelations ?? 0);
  const checked = parts.map((part, i) => checkPart(part, i, numNodes, numRelations));
  checkTarget(where, outputDir, options.overwrite ?? false);
  const { nodeNames = null } = options;
  const relationNames = options.relationNames ?? Array.from({ length: numRelations }, (_, r) => String(r));
  if (nodeNames !== null) checkNames('nodeNames', nodeNames, numNodes);
  checkNames('relationNames', relationNames, numRelations);
  const source = arraySource({
    numNodes,
    parts: checked,
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
    split: parts.length > 1 ? null : split,
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

function checkPart(
  { src, dst, relations }: GraphPart,
  i: number,
  numNodes: number,
  numRelations: number,
): ArrayPart {
  const name = `parts[${i}]`;
  if (src.length !== dst.length)
    throw new ShapeError(expected(where, `${src.length} ids (as src)`, `${name}.dst`, dst.length));
  if ((relations !== undefined) !== numRelations > 0)
    throw new ValueError(
      expected(
        where,
        numRelations > 0 ? 'relations' : 'no relations',
        `${name}.relations`,
        relations === undefined ? 'none' : 'some',
        'Give numRelations with relations, and only then.',
      ),
    );
  const inRange = (ids: Int32Array, limit: number, what: string): void => {
    const wrong = ids.findIndex((id) => id < 0 || id >= limit);
    if (wrong >= 0)
      throw new ValueError(
        expected(where, `ids from 0 to ${limit - 1}`, `${name}.${what}[${wrong}]`, ids[wrong]),
      );
  };
  inRange(src, numNodes, 'src');
  inRange(dst, numNodes, 'dst');
  if (relations === undefined) return { src, dst };
  if (relations.length !== src.length)
    throw new ShapeError(expected(where, `${src.length} relations`, `${name}.relations`, relations.length));
  inRange(relations, numRelations, 'relations');
  return { src, rel: relations, dst };
}
