/**
 * The curves of a run as an event file of TensorBoard, which other tools read as well: records in the framing of TFRecord, each
 * an `Event` of protocol buffers.
 *
 * Formats: tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/event.proto.
 */
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { ProtoWriter } from '../interop/onnx/proto-writer.js';
import { runPath } from '../predict/open-model.js';
import { writeFileAtomic } from '../storage/atomic-file.js';
import { makeFolder } from '../storage/make-folder.js';
import { isRunDirectory } from '../train/find-run.js';
import { Output } from '../train/index.js';
import { type MetricsRecord, metricsOf, readCompleteRecords } from '../train/run/metrics-file.js';
import { crc32c } from '../util/crc32c.js';
import { StateError, ValueError } from '../util/errors.js';
import type { ExportCommand } from './export.js';

export async function exportTensorBoard(path: string, command: ExportCommand): Promise<void> {
  const output = new Output({ json: command.json });
  const directory = runPath(path);
  if (!isRunDirectory(directory))
    throw new StateError(
      `export: expected the directory of a run for --format tensorboard, got ${path}. "skein train" creates one.`,
    );
  const chosen = [...(command.what ?? []), ...(command.tables ?? [])];
  if (chosen.length > 0)
    throw new ValueError(
      `export: expected neither --what nor --tables with --format tensorboard, got ${chosen.join(', ')}. All curves are written.`,
    );
  const records = [...readCompleteRecords(join(directory, 'metrics.jsonl'))];
  const folder = resolve(command.outputDir ?? join(directory, 'tensorboard'));
  const [first] = records;
  if (first === undefined)
    throw new StateError(`export: expected a run with at least one epoch, got ${path} without any.`);
  // TensorBoard takes the time of the start from the name.
  const file = join(folder, `events.out.tfevents.${Math.floor(secondsOf(first))}.${basename(directory)}`);
  if (existsSync(file) && !command.overwrite)
    throw new StateError(`export: expected no file ${file}, got one. Pass --overwrite to replace it.`);
  makeFolder(folder);
  await writeFileAtomic(file, eventFile(records));
  output.text(`wrote ${file}`);
  output.text(`tensorboard --logdir ${folder}`);
  output.event('done', { files: [file] });
}

/** Returns the bytes of an event file with the curves of records. */
export function eventFile(records: readonly MetricsRecord[]): Uint8Array {
  const start = records.length === 0 ? 0 : secondsOf(records[0]);
  const events = [new ProtoWriter().double(1, start).text(3, 'brain.Event:2')];
  for (const record of records) {
    const scalars = scalarsOf(record);
    if (scalars.length === 0) continue;
    const summary = new ProtoWriter();
    for (const [tag, value] of scalars) summary.message(1, new ProtoWriter().text(1, tag).float(2, value));
    events.push(
      new ProtoWriter().double(1, secondsOf(record)).integer(2, Number(record['epoch'])).message(5, summary),
    );
  }
  return Buffer.concat(events.map((event) => framed(event.finish())));
}

/** Returns the curves that a record has a point of. */
function scalarsOf(record: MetricsRecord): [string, number][] {
  const { event, set, epoch } = record;
  if (typeof epoch !== 'number') return [];
  if (event === 'eval' && typeof set === 'string')
    return Object.entries(metricsOf(record)).map(([name, value]) => [`${set}/${name}`, value]);
  if (event !== 'epoch') return [];
  return ['loss', 'seconds', 'items_per_second', 'memory'].flatMap((name): [string, number][] => {
    const value = record[name];
    return typeof value === 'number' ? [[`train/${name}`, value]] : [];
  });
}

function secondsOf({ time }: MetricsRecord): number {
  const parsed = typeof time === 'string' ? Date.parse(time) / 1000 : Number.NaN;
  return Number.isFinite(parsed) ? parsed : 0;
}

/** A record of TFRecord: length, its checksum, data, their checksum. */
function framed(data: Uint8Array): Uint8Array {
  const out = new Uint8Array(data.length + 16);
  const view = new DataView(out.buffer);
  view.setBigUint64(0, BigInt(data.length), true);
  view.setUint32(8, masked(crc32c(out.subarray(0, 8))), true);
  out.set(data, 12);
  view.setUint32(12 + data.length, masked(crc32c(data)), true);
  return out;
}

/** A checksum that is stored next to its data is rotated, so that checksums of such data stay useful. */
const masked = (crc: number): number => ((((crc >>> 15) | (crc << 17)) >>> 0) + 0xa282ead8) >>> 0;
