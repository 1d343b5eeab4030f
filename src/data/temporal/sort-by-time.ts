/** Sorts events by time; events of equal time keep their order. Without ids, their rows in the file become ids. */
import type { EventColumns } from './event-columns.js';

export function sortByTime(columns: EventColumns): void {
  const { time, rows, featureWidth: width } = columns;
  let sorted = true;
  for (let i = 1; i < rows && sorted; i++) sorted = time[i] >= time[i - 1];
  if (sorted) return;
  const order = Uint32Array.from({ length: rows }, (_, i) => i).sort((a, b) => time[a] - time[b] || a - b);
  columns.src = columns.src.map((_, i) => columns.src[order[i]]);
  columns.dst = columns.dst.map((_, i) => columns.dst[order[i]]);
  columns.time = time.map((_, i) => time[order[i]]);
  const { label, id, split, type, features } = columns;
  if (label !== null) columns.label = label.map((_, i) => label[order[i]]);
  columns.id = id === null ? Int32Array.from(order) : id.map((_, i) => id[order[i]]);
  if (split !== null) columns.split = split.map((_, i) => split[order[i]]);
  if (type !== null) columns.type = type.map((_, i) => type[order[i]]);
  if (width === 0) return;
  columns.features = new Float32Array(rows * width);
  for (let i = 0; i < rows; i++)
    columns.features.set(features.subarray(order[i] * width, (order[i] + 1) * width), i * width);
}
