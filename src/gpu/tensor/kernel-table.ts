/**
 * The GPU kernels under the names of the CPU kernels. A missing kernel throws when it is called.
 */
import { type Kernels, referenceKernels } from '../../native/index.js';
import { DeviceError } from '../../util/errors.js';
import type { Compute } from './compute.js';
import { cellKernels } from './kernels/cells.js';
import { coalesceKernels } from './kernels/coalesce-rows.js';
import { dropoutKernels } from './kernels/dropout.js';
import { elementwiseKernels } from './kernels/elementwise.js';
import { gemmKernels } from './kernels/gemm.js';
import { graphAttentionKernels } from './kernels/graph-attention.js';
import { graphGatv2Kernels } from './kernels/graph-gatv2.js';
import { graphSoftmaxKernels } from './kernels/graph-softmax.js';
import { graphSpmmKernels } from './kernels/graph-spmm.js';
import { layoutKernels } from './kernels/layout.js';
import { lossKernels } from './kernels/loss.js';
import { normKernels } from './kernels/norm.js';
import { optimKernels } from './kernels/optim.js';
import { reduceKernels } from './kernels/reduce.js';
import { rowKernels } from './kernels/rows.js';
import { scoreKernels } from './kernels/scores.js';
import { segmentKernels } from './kernels/segment.js';
import { softmaxKernels } from './kernels/softmax.js';
import { softmaxLossKernels } from './kernels/softmax-loss.js';

export function kernelTable(compute: Compute): Kernels {
  const table: Partial<Kernels> = {
    ...elementwiseKernels(compute),
    ...layoutKernels(compute),
    ...gemmKernels(compute),
    ...reduceKernels(compute),
    ...rowKernels(compute),
    ...segmentKernels(compute),
    ...optimKernels(compute),
    ...coalesceKernels(compute),
    ...scoreKernels(compute),
    ...softmaxLossKernels(compute),
    ...graphSpmmKernels(compute),
    ...graphSoftmaxKernels(compute),
    ...graphAttentionKernels(compute),
    ...graphGatv2Kernels(compute),
    ...softmaxKernels(compute),
    ...lossKernels(compute),
    ...normKernels(compute),
    ...dropoutKernels(compute),
    ...cellKernels(compute),
  };
  const absent = Object.keys(referenceKernels).filter((name) => !Object.hasOwn(table, name));
  const refusals = absent.map((name) => [
    name,
    () => {
      throw new DeviceError(
        `webgpu: there is no GPU kernel ${name} yet. Compute this step on the CPU (await t.cpu()).`,
        { reason: 'no-kernel', kernel: name },
      );
    },
  ]);
  return { ...Object.fromEntries(refusals), ...table } as Kernels;
}
