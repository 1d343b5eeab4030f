/**
 * Constraints between the keys of a model file, and values that follow from others: an identity architecture has the
 * width of the memory, a model that samples nothing has no fan-outs.
 */
import type { ConfigProblem } from '../../util/schema/problem.js';
import type { GnnSection, MemorySection, SamplingSection, TemporalConfig } from './keys.js';

/** Completes the configuration; contradictions are added to `problems`. */
export function checkCombinations(given: TemporalConfig, problems: ConfigProblem[]): TemporalConfig {
  const refuse = (key: string, message: string): void => {
    problems.push({ key, message: `${key}: ${message}.` });
  };
  const sampling = completeSampling(given.sampling, given.gnn, refuse);
  checkMemory(given.memory, sampling, refuse);
  const gnn = completeGnn(given.gnn, given.memory, refuse);
  checkEmbeddings(gnn, given.memory, sampling, refuse);
  const { batch_size, reorder } = given.train;
  if (batch_size % reorder !== 0)
    refuse('train.reorder', `expected a divisor of batch_size ${batch_size}, got ${reorder}`);
  return { ...given, sampling, gnn };
}

type Refuse = (key: string, message: string) => void;

function completeSampling(sampling: SamplingSection, gnn: GnnSection, refuse: Refuse): SamplingSection {
  const { strategy, layer, neighbor, history, duration } = sampling;
  if (history > 1 && duration === 0)
    refuse('sampling.duration', `expected the length of a window for history ${history}, got 0`);
  if (strategy === 'identity' || (gnn.arch === 'identity' && neighbor.length === 0)) {
    if (gnn.arch !== 'identity')
      refuse('sampling.strategy', `expected recent or uniform for arch ${gnn.arch}, got identity`);
    return { ...sampling, strategy: 'identity', layer: 0, neighbor: [] };
  }
  if (neighbor.length !== layer)
    refuse('sampling.neighbor', `expected ${layer} fan-outs (sampling.layer), got ${neighbor.length}`);
  if (gnn.arch !== 'identity' && gnn.layer !== layer)
    refuse('gnn.layer', `expected ${layer} as in sampling.layer, got ${gnn.layer}`);
  return sampling;
}

function checkMemory(memory: MemorySection, sampling: SamplingSection, refuse: Refuse): void {
  if (memory.type === 'none') return;
  const { dim_out, dim_time, memory_update, attention_head, mailbox_size, mail_combine } = memory;
  if (dim_out === 0) refuse('memory.dim_out', 'expected a width of at least 1 for memory type node, got 0');
  if (dim_time === 0 && memory_update !== 'identity')
    refuse('memory.dim_time', `expected a width of at least 1 for memory_update ${memory_update}, got 0`);
  if (memory_update === 'transformer' && dim_out % attention_head !== 0)
    refuse('memory.attention_head', `expected a divisor of dim_out ${dim_out}, got ${attention_head}`);
  if (mailbox_size > 1 && memory_update !== 'transformer')
    refuse('memory.mailbox_size', `expected 1 for memory_update ${memory_update}, got ${mailbox_size}`);
  if (mail_combine === 'mean' && mailbox_size > 1)
    refuse('memory.mail_combine', `expected last for mailbox_size ${mailbox_size}, got mean`);
  if (memory.deliver_to === 'neighbors' && sampling.layer === 0)
    refuse('memory.deliver_to', 'expected self where no neighbours are sampled, got neighbors');
}

function completeGnn(gnn: GnnSection, memory: MemorySection, refuse: Refuse): GnnSection {
  if (gnn.arch === 'transformer_attention') {
    if (gnn.dim_out === 0) refuse('gnn.dim_out', 'expected a width of at least 1, got 0');
    if (gnn.dim_out % gnn.att_head !== 0)
      refuse('gnn.att_head', `expected a divisor of dim_out ${gnn.dim_out}, got ${gnn.att_head}`);
    if (gnn.time_transform !== 'none')
      refuse('gnn.time_transform', 'expected none for arch transformer_attention; JODIE needs identity');
    return gnn;
  }
  if (memory.type === 'none')
    refuse('gnn.arch', 'expected transformer_attention without memory, got identity');
  if (gnn.dim_out !== 0 && gnn.dim_out !== memory.dim_out)
    refuse('gnn.dim_out', `expected memory.dim_out ${memory.dim_out} for arch identity, got ${gnn.dim_out}`);
  return { ...gnn, layer: 1, dim_out: memory.dim_out };
}

function checkEmbeddings(
  gnn: GnnSection,
  memory: MemorySection,
  sampling: SamplingSection,
  refuse: Refuse,
): void {
  if (sampling.history > 1 && gnn.arch === 'identity')
    refuse('sampling.history', `expected 1 for arch identity, got ${sampling.history}`);
  else if (sampling.history > 1 && gnn.combine === 'none')
    refuse('gnn.combine', `expected rnn for history ${sampling.history}, got none`);
  if (sampling.history === 1 && gnn.combine !== 'none')
    refuse('sampling.history', `expected more than 1 window for gnn.combine ${gnn.combine}, got 1`);
  const keys = (['use_src_emb', 'use_dst_emb', 'dyrep'] as const).filter((key) => gnn[key]);
  for (const key of keys) {
    if (memory.type === 'none') refuse(`gnn.${key}`, 'expected false without memory, got true');
    else if (key !== 'dyrep' && gnn.dim_out !== memory.dim_out)
      refuse(`gnn.${key}`, `expected gnn.dim_out ${gnn.dim_out} = memory.dim_out ${memory.dim_out} for it`);
  }
}
