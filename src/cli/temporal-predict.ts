/**
 * The work of `skein predict` on a temporal run: scores of pairs at times after the end of its stream, from a file with
 * the columns source, destination and, if wanted, time; without a time the pair is scored just after the last event. Nodes
 * are called as in the stream's file.
 */
import { readRecords } from '../data/formats/delimited.js';
import { columnPlace, findTextLayout } from '../data/formats/text-layout.js';
import type { EventNodes, EventSide } from '../data/index.js';
import { makeFolder } from '../storage/make-folder.js';
import { type OpenedEventRun, Output, onlineScorer } from '../train/index.js';
import { FormatError, ValueError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';
import { CsvFile } from './csv-file.js';
import { columnOption } from './options.js';
import type { PredictCommand } from './predict.js';
import { edgeColumns, listOf } from './predict-input.js';

/** Pairs scored in one pass of the model. */
const atOnce = 1000;

interface Pairs {
  readonly src: number[];
  readonly dst: number[];
  /** Empty when the file has no times. */
  readonly times: number[];
}

export async function predictTemporal(run: OpenedEventRun, command: PredictCommand): Promise<void> {
  const output = new Output({ json: command.json });
  const { inputFile } = command;
  if (inputFile === undefined)
    throw new ValueError(
      `predict: expected --input-file with pairs to score (source, destination, time), got none. For the metrics of the test events use: ${invocation()} eval <run>`,
    );
  const scorer = onlineScorer(run, 'predict');
  const { nodes } = run.stream.data;
  const { src, dst, times } = await readPairs(inputFile, command, nodes, (note) => output.note(note));
  const folder = command.outputDir ?? run.checkpoint;
  makeFolder(folder);
  const timed = times.length > 0;
  const csv = new CsvFile(folder, 'scores.csv', ['src', 'dst', ...(timed ? ['time'] : []), 'score', 'logit']);
  for (let from = 0; from < src.length; from += command.batchSize ?? atOnce) {
    const to = Math.min(src.length, from + (command.batchSize ?? atOnce));
    const part = <T>(column: readonly T[]): T[] => column.slice(from, to);
    const logits = scorer.score(part(src), part(dst), timed ? part(times) : undefined);
    for (let i = from; i < to; i++) {
      const logit = logits[i - from];
      const score = 1 / (1 + Math.exp(-logit));
      const when = timed ? [String(times[i])] : [];
      csv.write([nodes.nameOf(src[i]), nodes.nameOf(dst[i]), ...when, String(score), String(logit)]);
    }
  }
  const file = csv.close();
  output.text(
    `${src.length.toLocaleString('en')} ${src.length === 1 ? 'pair' : 'pairs'} scored, written: ${file}`,
  );
  output.event('done', { items: src.length, files: [file] });
}

export async function readPairs(
  path: string,
  command: PredictCommand,
  nodes: EventNodes,
  onNote: (note: string) => void,
): Promise<Pairs> {
  const { delimiter, header } = edgeColumns({ ...command, columns: [] });
  const columns = pairColumns(command);
  const layout = await findTextLayout(path, { delimiter, header, wanted: columns, onNote });
  if (layout === null)
    throw new FormatError(`${path}: expected at least one pair of nodes, got none.`, { path });
  const [from, to, when] = columns.map((column, role) => {
    // A file need not have times.
    if (role === 2 && typeof column === 'number') return column;
    return columnPlace(layout, ['--src-column', '--dst-column', '--time-column'][role], column);
  });
  const pairs: Pairs = { src: [], dst: [], times: [] };
  for await (const block of readRecords(layout)) {
    for (let row = 0; row < block.rows; row++) {
      const line = block.lines[row];
      pairs.src.push(nodeAt({ path, line, nodes, side: 'src' }, block.text(row, from)));
      pairs.dst.push(nodeAt({ path, line, nodes, side: 'dst' }, block.text(row, to)));
      if (when !== undefined && when < layout.width)
        pairs.times.push(timeAt(path, line, block.text(row, when)));
    }
  }
  return pairs;
}

/** Source, destination and, where there may be one, time. */
function pairColumns(command: PredictCommand): (string | number)[] {
  const listed = listOf(command.columns).map(columnOption);
  if (![0, 2, 3].includes(listed.length))
    throw new ValueError(
      `predict: expected source, destination and time for --columns, got ${listed.join(' ')}.`,
    );
  const given = [command.srcColumn, command.dstColumn, command.timeColumn];
  const usual = listed.length === 0 ? [0, 1, 2] : listed;
  return usual.map((column, role) => (given[role] === undefined ? column : columnOption(given[role])));
}

interface NodePlace {
  readonly path: string;
  readonly line: number;
  readonly nodes: EventNodes;
  readonly side: EventSide;
}

function nodeAt({ path, line, nodes, side }: NodePlace, raw: string): number {
  const id = nodes.idOf(raw, side);
  if (id !== undefined) return id;
  const first = Array.from({ length: nodes.size }, (_, node) => node).find((node) =>
    [null, side].includes(nodes.sideOf(node)),
  );
  const such = first === undefined ? '' : `, such as ${JSON.stringify(nodes.nameOf(first))}`;
  throw new FormatError(
    `${path}:${line}: expected a ${side === 'src' ? 'source' : 'destination'} as the stream's file calls it (${nodes.size} nodes${such}), got ${JSON.stringify(raw)}.`,
    { path, line },
  );
}

function timeAt(path: string, line: number, raw: string): number {
  const time = Number(raw);
  if (raw.trim() !== '' && Number.isFinite(time)) return time;
  throw new FormatError(`${path}:${line}: expected a time, got ${JSON.stringify(raw)}.`, { path, line });
}
