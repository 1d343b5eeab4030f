/**
 * The plain TypeScript twin of every kernel, assembled by family. A kernel without a twin does not compile. Each family is
 * an object checked against the contract, which gives its methods their parameter types.
 */
import type { Kernels } from '../kernels.js';
import { cellTwins } from './cells.js';
import { checksumTwins } from './crc32.js';
import { dropoutTwins } from './dropout.js';
import { elementwiseTwins } from './elementwise.js';
import { gemmTwins } from './gemm.js';
import { attentionTwins } from './graph-attention.js';
import { gatv2Twins } from './graph-gatv2.js';
import { orderTwins } from './graph-order.js';
import { edgeSoftmaxTwins } from './graph-softmax.js';
import { spmmTwins } from './graph-spmm.js';
import { layoutTwins } from './layout.js';
import { linkLossTwins } from './link-losses.js';
import { lossTwins } from './loss.js';
import { mergeTwins } from './merge-parts.js';
import { normTwins } from './norm.js';
import { optimTwins } from './optim.js';
import { randomTwins } from './random.js';
import { reduceTwins } from './reduce.js';
import { rowTwins } from './rows.js';
import { neighborTwins } from './sample-neighbors.js';
import { walkTwins } from './sample-walk.js';
import { scoreTwins } from './scores.js';
import { segmentTwins } from './segment.js';
import { softmaxTwins } from './softmax.js';
import { streamTwins } from './streams.js';
import { temporalAttentionTwins } from './temporal-attention.js';

export const reference: Kernels = {
  ...gemmTwins,
  ...elementwiseTwins,
  ...layoutTwins,
  ...reduceTwins,
  ...softmaxTwins,
  ...lossTwins,
  ...dropoutTwins,
  ...normTwins,
  ...rowTwins,
  ...segmentTwins,
  ...checksumTwins,
  ...orderTwins,
  ...spmmTwins,
  ...edgeSoftmaxTwins,
  ...attentionTwins,
  ...mergeTwins,
  ...gatv2Twins,
  ...cellTwins,
  ...optimTwins,
  ...randomTwins,
  ...neighborTwins,
  ...streamTwins,
  ...walkTwins,
  ...scoreTwins,
  ...temporalAttentionTwins,
  ...linkLossTwins,
};
