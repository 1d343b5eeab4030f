/** The kind `general`: TGN, TGAT, JODIE, APAN, DyRep and DySAT, described by TGL's sections sampling, memory and gnn. */
import type { TemporalGraph } from '../../graph/index.js';
import { InternalError } from '../../util/errors.js';
import type { MemorySection } from '../config/keys.js';
import { SharedMailBox } from '../mailbox/index.js';
import { MailboxState } from '../mailbox/mailbox-state.js';
import type { StoreFactory } from '../mailbox/state-store.js';
import { candidateScorer } from './candidate-scorer.js';
import { GeneralModel } from './general-model.js';
import { temporalModelKind } from './model-kind.js';

export const generalKind = temporalModelKind({
  kind: 'general',
  doc: 'memory, mail and attention over sampled events (TGN, TGAT, JODIE, APAN, DyRep, DySAT), by the sections sampling, memory and gnn',
  settings: {},
  workers: true,
  labels: true,
  make({ sections, graph, store }) {
    if (sections === null) throw new InternalError('a general model without its sections');
    const { gnn, memory, sampling } = sections;
    const model = new GeneralModel(sections, {
      dimNode: graph.nodeFeatures?.shape[1] ?? 0,
      dimEdge: graph.featureWidth,
    });
    const mailbox = mailboxOf(memory, graph, store);
    const mail = { useSrcEmb: gnn.use_src_emb, useDstEmb: gnn.use_dst_emb };
    const { neighbor: fanouts, strategy, prop_time: propTime, history, duration } = sampling;
    return {
      model,
      state: mailbox === null ? null : new MailboxState(mailbox, mail),
      candidates: store === undefined ? candidateScorer(model, graph, mailbox) : null,
      needs: {
        mailbox,
        neighbors: { fanouts, strategy, propTime, ...(history > 1 ? { history, duration } : {}) },
        pairDepth: gnn.pair_depth,
      },
    };
  },
});

function mailboxOf(
  memory: MemorySection,
  graph: TemporalGraph,
  store: StoreFactory | undefined,
): SharedMailBox | null {
  if (memory.type === 'none') return null;
  return new SharedMailBox({
    numNodes: graph.numNodes,
    memoryParam: memory,
    dimEdgeFeat: graph.featureWidth,
    edgeFeatures: () => graph.features,
    startTime: Math.min(0, graph.numEvents > 0 ? graph.time[0] : 0),
    ...(store === undefined ? {} : { store }),
  });
}
