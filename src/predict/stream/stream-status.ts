/** Counters and gauges of a stream. */
import type { StreamEngine } from './stream-engine.js';
import type { StreamStatus } from './types.js';

export function statusOf(engine: StreamEngine, busy: number): StreamStatus {
  const { intake, model, log } = engine;
  const { scorer, nodes, quality } = model.parts;
  const { watermark, rules, counts } = intake;
  const now = Date.now();
  const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
  const lag = watermark.latest - watermark.value;
  return {
    version: model.released,
    applied: model.applied,
    ...counts,
    newNodes: nodes.numAdded,
    nodes: nodes.size,
    events: scorer.graph.numEvents,
    waiting: intake.waiting.count,
    lag: model.released - model.applied,
    unwritten: log.unwritten,
    inQuarantine: intake.quarantine.count,
    busy,
    watermark: finite(watermark.value),
    watermarkLag: Number.isFinite(lag) ? Math.max(0, lag) : 0,
    sources: [...watermark.sources].map(([source, state]) => ({
      ...{ source, latest: finite(state.latest), position: state.position },
      idle: watermark.isIdle(state, now, rules),
    })),
    logSequence: engine.processed,
    logBytes: log.bytes,
    fsync: log.fsyncLatency(),
    snapshot: engine.lastSnapshot,
    replayed: engine.replayed,
    applyRate: model.rate,
    score: scorer.latency(),
    quality: quality?.metrics() ?? null,
    notices: [...engine.notices],
    failure: engine.failure?.message ?? null,
  };
}
