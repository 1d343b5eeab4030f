/** The model and the update step of the programs in starrygl-mailbox.test.ts, the same in every process. */
import { GeneralModel, type SharedMailBox, type TemporalBatch } from 'skein/temporal';
import { manualSeed, noGrad, zeros } from 'skein/tensor';
import type { StateDelta } from '#internal/temporal/mailbox/rows.js';
import { tgnFile, width } from '../temporal/stream.js';

export const batchSize = 15;

export function newModel(): GeneralModel {
  manualSeed(7);
  return GeneralModel.fromYaml(tgnFile, { dimEdge: width });
}

/** Calls `get_update_memory` and `get_update_mail` with the model's output for a batch. */
export function updates(model: GeneralModel, mailbox: SharedMailBox, batch: TemporalBatch) {
  const { src, dst, times, eventRows, srcRoots, dstRoots } = batch;
  const ends = Int32Array.from([...srcRoots, ...dstRoots]);
  const output = noGrad(() => model.forward(batch));
  const memory = output.stateOf(ends);
  return {
    memory: mailbox.getUpdateMemory(
      Int32Array.from([...src, ...dst]),
      memory,
      output.timeOf(ends),
      Int32Array.from([...eventRows, ...eventRows]),
    ),
    mail: mailbox.getUpdateMail({ src, dst, times, eventRows, memory }),
  };
}

/** The delta of a worker without events in a batch: it commits with the others. */
export function emptyDelta({ shape }: SharedMailBox): StateDelta {
  const none = new Int32Array(0);
  return {
    ...{ nodes: none, memory: zeros([0, shape.width]) },
    ...{ memoryTime: new Float64Array(0), memoryEvents: none },
    ...{ mailNodes: none, mail: zeros([0, 2 * shape.width]) },
    ...{ mailTime: new Float64Array(0), mailEvents: none },
  };
}
