/** The memory plan of a run, and its partition buffer: a picture that moves while the run trains, and can be played afterwards. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { picture, scheduleCells, scheduleChart } from '../../src/plot/index.js';
import { count, size } from '../lib/format.js';
import type { BufferMemory, BufferRecord, EnteredState } from '../lib/types.js';
import { SaveButtons } from './save-buttons.js';

interface BufferPictureProps {
  readonly record: BufferRecord;
  readonly run: string;
  readonly isLive: boolean;
}

export function BufferPicture({ record: { memory, now }, run, isLive }: BufferPictureProps) {
  return (
    <section class="buffer">
      <h2>Memory</h2>
      <MemoryBar memory={memory} />
      {now === null || now.states.length < 2 ? null : <Schedule now={now} run={run} isLive={isLive} />}
    </section>
  );
}

/** The uses of memory, side by side, in the scale of the budget or of the whole table. */
function MemoryBar({ memory }: { readonly memory: BufferMemory }) {
  const { budget, table, buffer, transfers, edges, reserved, read, written } = memory;
  const uses = [
    { name: 'rows in memory', bytes: buffer, series: 0 },
    { name: 'transfers', bytes: transfers, series: 1 },
    { name: 'edges', bytes: edges, series: 2 },
    { name: 'rest of the process', bytes: reserved, series: 7 },
  ].filter(({ bytes }) => bytes > 0);
  const used = uses.reduce((sum, { bytes }) => sum + bytes, 0);
  const whole = Math.max(budget ?? 0, table, used, 1);
  const share = (bytes: number): string => `${(100 * bytes) / whole}%`;
  const label = uses.map(({ name, bytes }) => `${name} ${size(bytes)}`).join(', ');
  return (
    <div class="memory-bars">
      <div class="memory-bar" role="img" aria-label={`All rows: ${size(table)}`}>
        <span class="s7 table" style={{ width: share(table) }} />
      </div>
      <p class="legend">
        All rows: {size(table)}
        {buffer < table ? `, ${Math.round((100 * buffer) / table)} % of them in memory` : ', all in memory'}
      </p>
      <div class="memory-bar" role="img" aria-label={`Memory: ${label}`}>
        {uses.map(({ name, bytes, series }) => (
          <span
            key={name}
            class={`s${series}`}
            style={{ width: share(bytes) }}
            title={`${name}: ${size(bytes)}`}
          />
        ))}
        {budget === null ? null : <i class="budget" style={{ left: share(budget) }} />}
      </div>
      <ul class="legend">
        {uses.map(({ name, bytes, series }) => (
          <li key={name}>
            <span class={`dot s${series}`} /> {name} {size(bytes)}
          </li>
        ))}
        {budget === null ? null : <li>budget {size(budget)}</li>}
        {read === null || written === null || read + written === 0 ? null : (
          <li>
            an epoch reads {size(read)} and writes {size(written)}
          </li>
        )}
      </ul>
    </div>
  );
}

interface ScheduleProps {
  readonly now: EnteredState;
  readonly run: string;
  readonly isLive: boolean;
}

/** Milliseconds of a state while the schedule is played. */
const pace = 350;

function Schedule({ now, run, isLive }: ScheduleProps) {
  const [chosen, setChosen] = useState<number | null>(null);
  const [isPlaying, setPlaying] = useState(false);
  const last = now.states.length - 1;
  const state = Math.min(chosen ?? now.state, last);
  useEffect(() => {
    if (!isPlaying) return undefined;
    const timer = setInterval(
      () => setChosen((before) => ((before ?? 0) >= last ? 0 : (before ?? 0) + 1)),
      pace,
    );
    return () => clearInterval(timer);
  }, [isPlaying, last]);
  const isFollowing = chosen === null && isLive;
  const draw = (): string => {
    const title = `Partition buffer of ${run}, epoch ${now.epoch}`;
    return picture([scheduleChart({ title: `State ${state + 1} of ${last + 1}`, schedule: now, state })], {
      title,
      description: describe(now, state),
      columns: 1,
    });
  };
  return (
    <figure class="chart schedule">
      <figcaption>
        Partition buffer, epoch {now.epoch}
        <SaveButtons title={`Partition buffer of ${run}`} draw={draw} />
      </figcaption>
      <Cells now={now} state={state} />
      <div class="controls">
        <button
          type="button"
          aria-pressed={isPlaying}
          onClick={() => {
            setChosen(chosen ?? 0);
            setPlaying(!isPlaying);
          }}
        >
          {isPlaying ? 'Pause' : 'Play'}
        </button>
        <label class="grow">
          State{' '}
          <input
            type="range"
            min="0"
            max={last}
            value={state}
            aria-valuetext={`state ${state + 1} of ${last + 1}`}
            onInput={(event) => {
              setPlaying(false);
              setChosen(Number(event.currentTarget.value));
            }}
          />
        </label>
        {isLive && !isFollowing ? (
          <button
            type="button"
            onClick={() => {
              setPlaying(false);
              setChosen(null);
            }}
          >
            Follow training
          </button>
        ) : null}
        {isFollowing ? <span class="badge live">follows training</span> : null}
      </div>
      <p class="quiet">{describe(now, state)}</p>
    </figure>
  );
}

function Cells({ now, state }: { readonly now: EnteredState; readonly state: number }) {
  const cells = useMemo(() => scheduleCells(now, state), [now, state]);
  const { partitions } = now;
  const height = Math.max(90, Math.min(260, 22 * partitions));
  return (
    <div class="schedule-cells">
      <div>
        <svg
          viewBox={`0 0 ${cells.count} ${partitions}`}
          preserveAspectRatio="none"
          style={{ height: `${height}px`, maxWidth: `${28 * cells.count}px` }}
          role="img"
          aria-label={`Partitions in memory by buffer state. ${describe(now, state)}`}
        >
          <path class="s0 past" d={cells.past} />
          <path class="s0 later" d={cells.later} />
          <path class="s1 resident" d={cells.now} />
          <path class="s1" d={cells.admitted} />
        </svg>
        <small>partitions in memory, state by state →</small>
      </div>
      {cells.buckets === null ? null : (
        <div>
          <svg
            viewBox={`0 0 ${partitions} ${partitions}`}
            style={{ height: `${height}px`, width: `${height}px` }}
            role="img"
            aria-label="Buckets of edges by partition of source and destination: trained, being trained, to be trained"
          >
            <path class="s7 past" d={cells.buckets.later} />
            <path class="s2 resident" d={cells.buckets.done} />
            <path class="s1" d={cells.buckets.now} />
          </svg>
          <small>buckets of edges: done, now, later</small>
        </div>
      )}
    </div>
  );
}

function describe({ states, items, buckets }: EnteredState, state: number): string {
  const resident = [...states[state]].sort((a, b) => a - b);
  const after = states[state + 1];
  const reads = (after ?? []).filter((k) => !resident.includes(k));
  const evicts = after === undefined ? [] : resident.filter((k) => !after.includes(k));
  const unit = buckets === null ? 'edges or nodes' : 'edges';
  const next =
    reads.length === 0
      ? 'It is the last state of the epoch.'
      : `Next it evicts ${evicts.join(', ')} and reads ${reads.join(', ')}.`;
  return `State ${state + 1} of ${states.length} has partitions ${resident.join(', ')} in memory and trains ${count(items[state])} ${unit}. ${next}`;
}
