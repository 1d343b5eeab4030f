/**
 * Keys of a file that have no effect because of other keys: heads of an updater without heads, a mailbox without memory. Default
 * values are not reported.
 */
import type { Settings } from '../../util/settings.js';
import { modelSections, type SectionName, type TemporalConfig } from './keys.js';

/** One sentence per key without effect. @param read the sections as they were read, before completion. */
export function idleKeys(read: TemporalConfig): string[] {
  const { sampling, memory, gnn } = read;
  const warnings: string[] = [];
  const idle = (section: SectionName, keys: readonly string[], reason: string): void => {
    const known: Settings = modelSections[section];
    const values = read[section] as unknown as Readonly<Record<string, unknown>>;
    for (const key of keys) {
      const fallback = known[key].standard;
      const same = Array.isArray(fallback)
        ? String(values[key]) === String(fallback)
        : values[key] === fallback;
      if (!same) warnings.push(`${section}.${key}: has no effect, ${reason}.`);
    }
  };
  const identity = gnn.arch === 'identity';
  const remembers = memory.type === 'node';
  const attendsToMail = remembers && memory.memory_update === 'transformer';
  if (!remembers)
    idle(
      'memory',
      Object.keys(modelSections.memory).filter((key) => key !== 'type'),
      'memory.type is set to none',
    );
  else if (!attendsToMail)
    idle('memory', ['attention_head'], `a ${memory.memory_update} updater has no heads`);
  if (remembers && memory.memory_update === 'identity') idle('memory', ['dim_time'], 'memory is not updated');
  if (identity) {
    idle('gnn', ['att_head', 'dim_time', 'layer'], 'arch identity has no attention');
    if (memory.deliver_to === 'self' && sampling.strategy !== 'identity')
      idle('sampling', ['neighbor', 'prop_time'], 'neighbours are not used');
    if (!attendsToMail) idle('train', ['dropout', 'att_dropout'], 'nothing in this model is dropped');
  }
  if (sampling.strategy === 'identity')
    idle('sampling', ['neighbor', 'prop_time', 'duration'], 'nothing is sampled');
  return warnings;
}
