/** Sentences about what stands out in a stream of events. */
export interface NotedEvents {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  /** In order. */
  readonly time: Float64Array;
}

export interface NotedFacts {
  /** Share of events whose pair of nodes has met before. */
  readonly repeated: number;
  /** Nodes with the most events, the first one first. */
  readonly hubs: readonly { readonly id: number; readonly name: string }[];
}

const day = 86_400;

export function eventNotes(events: NotedEvents, { repeated, hubs }: NotedFacts): string[] {
  if (events.time.length === 0) return [];
  return [
    `${percent(repeated)} of the events repeat an earlier pair of nodes.`,
    ...longestGap(events.time),
    ...busiestDay(events.time),
    ...mostEvents(events, hubs),
  ];
}

/** Whether times are seconds between 1980 and 2100. */
const isUnixTime = (time: number): boolean => time > 315_532_800 && time < 4_102_444_800;

const areDates = (time: Float64Array): boolean => isUnixTime(time[0]) && isUnixTime(time[time.length - 1]);

function longestGap(time: Float64Array): string[] {
  const whole = time[time.length - 1] - time[0];
  if (!(whole > 0)) return [];
  let at = 1;
  for (let e = 2; e < time.length; e++) if (time[e] - time[e - 1] > time[at] - time[at - 1]) at = e;
  const gap = time[at] - time[at - 1];
  const [length, from] = areDates(time)
    ? [duration(gap), `${new Date(1000 * time[at - 1]).toISOString().slice(0, 16).replace('T', ' ')} UTC`]
    : [number(gap), number(time[at - 1])];
  return [
    `The longest time without an event is ${length}, from ${from}: ${percent(gap / whole)} of the whole.`,
  ];
}

/** The day, in UTC, with the most events; a stream of less than two days, or without dates, has none. */
function busiestDay(time: Float64Array): string[] {
  const dayOf = (e: number): number => Math.floor(time[e] / day);
  const days = dayOf(time.length - 1) - dayOf(0) + 1;
  if (!areDates(time) || days < 2) return [];
  let [best, most] = [0, 0];
  for (let first = 0, e = 1; e <= time.length; e++) {
    if (e < time.length && dayOf(e) === dayOf(first)) continue;
    if (e - first > most) [best, most] = [first, e - first];
    first = e;
  }
  const date = new Date(1000 * time[best]).toISOString().slice(0, 10);
  const times = most / (time.length / days);
  return [
    `The busiest day is ${date} with ${number(most)} events, ${number(times)} times the mean of a day.`,
  ];
}

function mostEvents({ src, dst }: NotedEvents, hubs: NotedFacts['hubs']): string[] {
  const [first] = hubs;
  if (first === undefined) return [];
  const some = new Set(hubs.map(({ id }) => id));
  let [own, ofAny] = [0, 0];
  for (let e = 0; e < src.length; e++) {
    if (src[e] === first.id || dst[e] === first.id) own++;
    if (some.has(src[e]) || some.has(dst[e])) ofAny++;
  }
  const sentence = `${first.name} takes part in ${number(own)} events (${percent(own / src.length)})`;
  if (some.size === 1) return [`${sentence}, the most of all nodes.`];
  return [
    `${sentence}, the most of all nodes; the ${some.size} nodes with the most events are in ${percent(ofAny / src.length)}.`,
  ];
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

const number = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 1 });

function duration(seconds: number): string {
  if (seconds >= 2 * day) return `${number(seconds / day)} days`;
  if (seconds >= 7200) return `${number(seconds / 3600)} hours`;
  return seconds >= 120 ? `${number(seconds / 60)} minutes` : `${number(seconds)} seconds`;
}
