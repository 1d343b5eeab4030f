/** The part of `skein predict` for candidate edges, whose truth is not known: one score per edge, and no metrics. */
import type { NameTable } from '../../data/prepare/name-table.js';
import { canCalibrate, LinkCalibration } from '../../predict/calibration/link-calibration.js';
import { type NodeRows, scoreEdges } from '../../predict/top-nodes.js';
import type { OpenedGraphRun } from '../../train/index.js';
import { CsvFile } from './csv-file.js';
import type { PredictCommand } from './predict.js';

/** Options that rank edges against others, so that the edges of the file are taken as true. */
const rankingOptions = ['metrics', 'saveRanks', 'numNegs', 'numChunks', 'degFrac', 'filtered'] as const;

/** Returns whether the edges of the input file are candidates: no option asks for their ranks. */
export function hasCandidates(command: PredictCommand): boolean {
  const asked = rankingOptions.some((name) => command[name] !== undefined && command[name] !== false);
  return command.inputFile !== undefined && !asked;
}

interface ScoredFile {
  readonly folder: string;
  /** Names of the graph, followed by those of new nodes. */
  readonly nodes: NameTable;
  /** Returns the rows of nodes; needed for new ones. */
  readonly rows?: (ids: Int32Array) => Promise<NodeRows>;
}

/**
 * Scores edges, rows [source, (relation,) destination], into scores.csv; with probabilities if there are enough validation
 * edges to calibrate them.
 */
export async function scoreCandidates(
  run: OpenedGraphRun,
  edges: Int32Array,
  { folder, nodes, rows }: ScoredFile,
): Promise<string> {
  const { dataset } = run;
  const columns = dataset.numColumns;
  const count = edges.length / columns;
  const column = (at: number): Int32Array =>
    Int32Array.from({ length: count }, (_, i) => edges[i * columns + at]);
  const [src, dst] = [column(0), column(columns - 1)];
  const kinds = dataset.hasRelations ? column(1) : null;
  const names = dataset.hasRelations ? await dataset.relationNames() : null;
  const asked = { src, dst, relations: kinds };
  const scores = await scoreEdges(run, asked, rows === undefined ? {} : { rows });
  const scale = canCalibrate(run) ? await LinkCalibration.fit(run) : null;
  const csv = new CsvFile(folder, 'scores.csv', [
    ...['src', ...(kinds === null ? [] : ['rel']), 'dst'],
    ...['score', ...(scale === null ? [] : ['probability'])],
  ]);
  for (let i = 0; i < count; i++) {
    const probability = scale?.probability(scores[i], kinds?.[i] ?? null);
    csv.write([
      nodes.nameOf(src[i]),
      ...(kinds === null || names === null ? [] : [names.nameOf(kinds[i])]),
      nodes.nameOf(dst[i]),
      ...[scores[i], ...(probability === undefined ? [] : [probability])].map(String),
    ]);
  }
  return csv.close();
}
