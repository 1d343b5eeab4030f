/** A TGN with memory over a stream of events. */
import { TemporalGraph } from 'skein/graph';
import { Adam } from 'skein/nn';
import { TemporalNeighborSampler } from 'skein/sample';
import {
  GeneralModel,
  SharedMailBox,
  TemporalLoader,
  TemporalNegatives,
  TemporalRuntime,
} from 'skein/temporal';
import { manualSeed } from 'skein/tensor';
import { leave } from './fit.js';

manualSeed(7);
const [users, items, count] = [10, 10, 200];
const src = Int32Array.from({ length: count }, (_, i) => (i * 7) % users);
const dst = src.map((user) => users + user);
const time = Float64Array.from({ length: count }, (_, i) => i);
const graph = new TemporalGraph({ src, dst, time }, { numNodes: users + items });
const model = GeneralModel.fromYaml(
  `sampling: [{ layer: 1, neighbor: [4], strategy: recent }]
memory: [{ type: node, dim_out: 8, dim_time: 6, memory_update: gru, mailbox_size: 1 }]
gnn: [{ arch: transformer_attention, layer: 1, att_head: 2, dim_time: 6, dim_out: 8, variant: tgn, pair_depth: 8 }]
train: [{ epoch: 2, batch_size: 20, lr: 0.01 }]`,
  { dimEdge: 0 },
);
const { memory, sampling, gnn } = model.config;
const mailbox = new SharedMailBox({ numNodes: users + items, memoryParam: memory, dimEdgeFeat: 0 });
const runtime = new TemporalRuntime({
  ...{ model, mailbox, optimizer: new Adam(model.parameters(), { lr: 0.01 }) },
  ...{ useSrcEmb: gnn.use_src_emb, useDstEmb: gnn.use_dst_emb },
});
const pool = Int32Array.from({ length: items }, (_, i) => users + i);
const negatives = new TemporalNegatives(graph, { pool, seed: 3, amount: 1 });
const loader = new TemporalLoader(graph, {
  sampler: new TemporalNeighborSampler(graph, {
    fanouts: sampling.neighbor,
    strategy: sampling.strategy,
    propTime: sampling.prop_time,
    seed: 1,
  }),
  negatives: { amount: 1, draw: (rows, { epoch }) => negatives.drawFor(rows, { epoch }) },
  mailbox,
  batchSize: 20,
  pairDepth: gnn.pair_depth,
});
const losses = [];
for (let epoch = 0; epoch < 6; epoch++) {
  mailbox.reset();
  for await (const batch of loader.epoch(epoch)) losses.push(runtime.train(batch).loss);
}
leave(losses);
