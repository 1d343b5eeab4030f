/** The rules by which a stream decides about events. They are part of its log: a change holds for later events only. */
import { checkPath } from '../../util/check-path.js';
import { checkInteger, checkNumber, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { guessClock, unitsPerSecond } from '../event-times.js';
import type { StreamOptions } from './types.js';

export interface StreamRules {
  readonly lateness: number;
  readonly late: 'drop' | 'side' | 'apply';
  /** Units of the stream's time in a second; 0: the wall clock means nothing. */
  readonly perSecond: number;
  readonly maxFuture: number;
  /** Null: unlimited. */
  readonly maxJump: number | null;
  /** New names in all; null: unlimited. */
  readonly maxNewNodes: number | null;
  readonly idleSeconds: number;
  readonly idWindow: number;
  readonly maxIds: number;
  readonly maxQuarantined: number;
}

const where = 'openStream';

/** Returns the rules of options; `last` is the last time of the training stream. */
export function rulesOf(options: StreamOptions, last: number, canGrow: boolean): StreamRules {
  const clock = options.clock ?? guessClock(last);
  const perSecond = unitsPerSecond[clock];
  const unit = perSecond === 0 ? 1 : perSecond;
  const { newNodes = canGrow ? 'allow' : 'refuse', maxJump } = options;
  if (newNodes !== 'refuse' && !canGrow)
    throw new ValueError(
      expected(where, "'refuse'", 'newNodes', newNodes, 'This model has no room for new nodes.'),
    );
  return {
    lateness: options.lateness ?? 0,
    late: options.late ?? 'drop',
    perSecond,
    maxFuture: options.maxFuture ?? 3600 * unit,
    maxJump: maxJump ?? (perSecond === 0 ? 30 * 86_400 : null),
    maxNewNodes: newNodes === 'allow' ? null : newNodes === 'refuse' ? 0 : newNodes.limit,
    idleSeconds: options.idleSeconds ?? 60,
    idWindow: options.idWindow ?? 86_400 * unit,
    maxIds: options.maxIds ?? 10_000_000,
    maxQuarantined: options.maxQuarantined ?? 100_000,
  };
}

export function checkStreamOptions(options: StreamOptions): void {
  checkOptionNames(where, options, {
    ...({ state: true, lateness: true, late: true, clock: true, maxFuture: true, maxJump: true } as const),
    ...({ newNodes: true, idleSeconds: true, idWindow: true, maxIds: true, maxWaiting: true } as const),
    ...({ maxLag: true, maxQuarantined: true, batchSize: true, snapshotEvery: true } as const),
    ...({ keepLog: true, groupCommit: true, quality: true, onNotice: true } as const),
  });
  const advice = 'It keeps the log and the snapshots of the stream.';
  checkPath(where, 'the path of a folder', 'state', options?.state, advice);
  for (const name of ['lateness', 'maxFuture', 'maxJump', 'idleSeconds', 'idWindow'] as const)
    if (options[name] !== undefined) checkNumber(where, name, options[name], 0);
  for (const name of ['maxIds', 'maxWaiting', 'maxLag', 'maxQuarantined', 'batchSize'] as const)
    if (options[name] !== undefined) checkInteger(where, name, options[name], 1, 2 ** 30);
  checkChoice('late', options.late, ['drop', 'side', 'apply']);
  checkChoice('clock', options.clock, ['seconds', 'milliseconds', 'stream']);
  const { newNodes, snapshotEvery = {}, groupCommit = {}, quality } = options;
  if (typeof newNodes === 'object' && newNodes !== null) {
    checkOptionNames(`${where}.newNodes`, newNodes, { limit: true });
    checkInteger(where, 'newNodes.limit', newNodes.limit, 0, 2 ** 30);
  } else checkChoice('newNodes', newNodes, ['allow', 'refuse']);
  checkOptionNames(`${where}.snapshotEvery`, snapshotEvery, { events: true, minutes: true });
  if (snapshotEvery.events !== undefined)
    checkInteger(where, 'snapshotEvery.events', snapshotEvery.events, 1);
  if (snapshotEvery.minutes !== undefined)
    checkNumber(where, 'snapshotEvery.minutes', snapshotEvery.minutes, 0);
  checkOptionNames(`${where}.groupCommit`, groupCommit, { milliseconds: true, events: true });
  if (groupCommit.milliseconds !== undefined)
    checkNumber(where, 'groupCommit.milliseconds', groupCommit.milliseconds, 0);
  if (groupCommit.events !== undefined) checkInteger(where, 'groupCommit.events', groupCommit.events, 1);
  const { keepLog, onNotice } = options;
  if (keepLog !== undefined && typeof keepLog !== 'boolean')
    throw new ValueError(expected(where, 'true or false', 'keepLog', keepLog));
  if (onNotice !== undefined && typeof onNotice !== 'function')
    throw new ValueError(expected(where, 'a function', 'onNotice', onNotice));
  if (quality === undefined || quality === false) return;
  checkOptionNames(`${where}.quality`, quality, { every: true, candidates: true });
  if (quality.every !== undefined) checkInteger(where, 'quality.every', quality.every, 1);
  if (quality.candidates !== undefined)
    checkInteger(where, 'quality.candidates', quality.candidates, 1, 10_000);
}

function checkChoice(name: string, value: unknown, choices: readonly string[]): void {
  if (value !== undefined && !choices.includes(value as string))
    throw new ValueError(expected(where, choices.map((choice) => `'${choice}'`).join(' or '), name, value));
}
