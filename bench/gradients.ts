/**
 * Gradients summed over workers, after backward and during it: `skein run -n 2 -- npx tsx bench/gradients.ts`. One JSON
 * line per mode on rank 0: the best and the median of a step's backward, and the time of the all-reduce during it.
 */
import { distributedBackward, gatherGrads, MpiCommunicator, setCommunicator, syncParams } from 'skein/dist';
import { MLP } from 'skein/nn';
import { randn, scope, type Tensor } from 'skein/tensor';

const comm = new MpiCommunicator();
setCommunicator(comm);
const width = 768;
const model = new MLP([width, width, width, width, width, width, width]);
syncParams(model);
const x = randn([256, width]);

const ways: Readonly<Record<string, (loss: Tensor) => void>> = {
  'backward alone': (loss) => loss.backward(),
  'backward, then gatherGrads': (loss) => {
    loss.backward();
    gatherGrads(model);
  },
  distributedBackward: (loss) => distributedBackward(loss, model),
};

const times = new Map(
  Object.keys(ways).map((name) => [name, [] as { readonly wall: number; readonly processor: number }[]]),
);
for (let round = 0; round < 25; round++) {
  for (const [name, run] of Object.entries(ways)) {
    scope(() => {
      model.zeroGrad();
      const loss = model.forward(x).square().mean();
      comm.barrier();
      const start = performance.now();
      const before = process.cpuUsage();
      run(loss);
      const { user, system } = process.cpuUsage(before);
      // The first rounds warm up and fill the pool.
      if (round >= 3)
        times.get(name)?.push({ wall: performance.now() - start, processor: (user + system) / 1000 });
    });
  }
}

if (comm.rank === 0) {
  const megabytes = Number(((model.parameterCount() * 4) / 1e6).toFixed(1));
  const middle = (values: number[]) => Number(values.sort((a, b) => a - b)[values.length >> 1].toFixed(2));
  for (const [name, list] of times) {
    const best = Number(Math.min(...list.map(({ wall }) => wall)).toFixed(2));
    const median = middle(list.map(({ wall }) => wall));
    const processor = middle(list.map((step) => step.processor));
    process.stdout.write(
      `${JSON.stringify({ case: name, ranks: comm.size, megabytes, best, median, processor })}\n`,
    );
  }
}
comm.close();
