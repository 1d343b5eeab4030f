/**
 * The work of `skein predict` on a temporal run: scores pairs at times after the end of its stream, from a file with the
 * columns source, destination and optionally time; without a time a pair is scored just after the last event. Node names
 * are those of the event file.
 */
import { readRecords } from '../../data/formats/delimited.js';
import { columnIndex, findTextLayout } from '../../data/formats/text-layout.js';
import type { EventNodes, EventSide } from '../../data/temporal/event-nodes.js';
import { makeFolder } from '../../storage/make-folder.js';
import { type OpenedEventRun, Output, onlineScorer } from '../../train/index.js';
import { FormatError, ValueError } from '../../util/errors.js';
import { invocation } from '../../util/invocation.js';
import { parseColumn } from '../options/options.js';
import { CsvFile } from './csv-file.js';
import type { PredictCommand } from './predict.js';
import { edgeColumns, parseList } from './predict-input.js';

/** Default number of pairs per batch. */
const defaultBatchSize = 1000;

interface Pairs {
  readonly src: number[];
  readonly dst: number[];
  /** Empty when the file has no times. */
  readonly times: number[];
}

export async function predictEvents(run: OpenedEventRun, command: PredictCommand): Promise<void> {
  const output = new Output({ json: command.json });
  const { inputFile } = command;
  if (inputFile === undefined)
    throw new ValueError(
      `predict: expected --input-file with pairs to score (source, destination, time), got none. To evaluate on the test events: ${invocation()} eval <run>`,
    );
  const scorer = onlineScorer(run, 'predict');
  const { nodes } = run.stream.data;
  const { src, dst, times } = await readPairs(inputFile, command, nodes, (note) => output.note(note));
  const folder = command.outputDir ?? run.checkpoint;
  makeFolder(folder);
  const timed = times.length > 0;
  const csv = new CsvFile(folder, 'scores.csv', ['src', 'dst', ...(timed ? ['time'] : []), 'score', 'logit']);
  const { batchSize = defaultBatchSize } = command;
  for (let from = 0; from < src.length; from += batchSize) {
    const to = Math.min(src.length, from + batchSize);
    const slice = <T>(column: readonly T[]): T[] => column.slice(from, to);
    const logits = scorer.score(slice(src), slice(dst), timed ? slice(times) : undefined);
    for (let i = from; i < to; i++) {
      const logit = logits[i - from];
      const score = 1 / (1 + Math.exp(-logit));
      const when = timed ? [String(times[i])] : [];
      csv.write([nodes.nameOf(src[i]), nodes.nameOf(dst[i]), ...when, String(score), String(logit)]);
    }
  }
  const file = csv.close();
  output.text(
    `${src.length.toLocaleString('en')} ${src.length === 1 ? 'pair' : 'pairs'} scored, wrote ${file}`,
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
    // The time column is optional.
    if (role === 2 && typeof column === 'number') return column;
    return columnIndex(layout, ['--src-column', '--dst-column', '--time-column'][role], column);
  });
  const pairs: Pairs = { src: [], dst: [], times: [] };
  let skipped = 0;
  for await (const block of readRecords(layout)) {
    for (let row = 0; row < block.rows; row++) {
      const line = block.lines[row];
      const known = (column: number, side: EventSide): boolean =>
        nodes.idOf(block.text(row, column), side) !== undefined;
      if (command.skipUnknown === true && !(known(from, 'src') && known(to, 'dst'))) {
        skipped++;
        continue;
      }
      pairs.src.push(nodeAt({ path, line, nodes, side: 'src' }, block.text(row, from)));
      pairs.dst.push(nodeAt({ path, line, nodes, side: 'dst' }, block.text(row, to)));
      if (when !== undefined && when < layout.width)
        pairs.times.push(timeAt(path, line, block.text(row, when)));
    }
  }
  if (skipped > 0) onNote(`${skipped} ${skipped === 1 ? 'line' : 'lines'} with unknown names skipped`);
  return pairs;
}

/** Returns the columns of source, destination and, optionally, time. */
function pairColumns(command: PredictCommand): (string | number)[] {
  const listed = parseList(command.columns).map(parseColumn);
  if (![0, 2, 3].includes(listed.length))
    throw new ValueError(
      `predict: expected source, destination and time for --columns, got ${listed.join(' ')}.`,
    );
  const given = [command.srcColumn, command.dstColumn, command.timeColumn];
  const columns = listed.length === 0 ? [0, 1, 2] : listed;
  return columns.map((column, role) => (given[role] === undefined ? column : parseColumn(given[role])));
}

interface NodeLocation {
  readonly path: string;
  readonly line: number;
  readonly nodes: EventNodes;
  readonly side: EventSide;
}

function nodeAt({ path, line, nodes, side }: NodeLocation, raw: string): number {
  const id = nodes.idOf(raw, side);
  if (id !== undefined) return id;
  const first = Array.from({ length: nodes.size }, (_, node) => node).find((node) =>
    [null, side].includes(nodes.sideOf(node)),
  );
  const example = first === undefined ? '' : `, such as ${JSON.stringify(nodes.nameOf(first))}`;
  throw new FormatError(
    `${path}:${line}: expected a ${side === 'src' ? 'source' : 'destination'} of the event file (${nodes.size} nodes${example}), got ${JSON.stringify(raw)}.`,
    { path, line },
  );
}

function timeAt(path: string, line: number, raw: string): number {
  const time = Number(raw);
  if (raw.trim() !== '' && Number.isFinite(time)) return time;
  throw new FormatError(`${path}:${line}: expected a time, got ${JSON.stringify(raw)}.`, { path, line });
}
