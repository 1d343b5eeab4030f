/**
 * The plain TypeScript twin of every kernel, assembled by family. Typed as the whole contract: a kernel without a
 * twin does not compile.
 */
import type { Kernels } from '../kernels.js';
import * as argScatter from './arg-scatter.js';
import * as cells from './cells.js';
import * as crc from './crc32.js';
import * as dropout from './dropout.js';
import * as edgeSoftmax from './edge-softmax-loss.js';
import * as elementwise from './elementwise.js';
import * as gemm from './gemm.js';
import * as graphAttention from './graph-attention.js';
import * as graphGatv2 from './graph-gatv2.js';
import * as graphOrder from './graph-order.js';
import * as graphSoftmax from './graph-softmax.js';
import * as graphSpmm from './graph-spmm.js';
import * as layout from './layout.js';
import * as loss from './loss.js';
import * as norm from './norm.js';
import * as optim from './optim.js';
import * as random from './random.js';
import * as reduce from './reduce.js';
import * as rows from './rows.js';
import * as sampleNeighbors from './sample-neighbors.js';
import * as sampleTemporal from './sample-temporal.js';
import * as sampleWalk from './sample-walk.js';
import * as scores from './scores.js';
import * as segment from './segment.js';
import * as softmax from './softmax.js';
import * as temporalAttention from './temporal-attention.js';

export const reference: Kernels = {
  ...gemm,
  ...elementwise,
  ...layout,
  ...reduce,
  ...argScatter,
  ...softmax,
  ...loss,
  ...dropout,
  ...norm,
  ...rows,
  ...segment,
  ...crc,
  ...graphOrder,
  ...graphSpmm,
  ...graphSoftmax,
  ...graphAttention,
  ...graphGatv2,
  ...cells,
  ...optim,
  ...random,
  ...sampleNeighbors,
  ...sampleTemporal,
  ...sampleWalk,
  ...scores,
  ...temporalAttention,
  ...edgeSoftmax,
};
