/**
 * Kernels that take a record: the order in which the fields of the record are passed to C++, where all parameters are
 * positions. `scripts/check-kernels.mjs` compares the lists with the contract, with C++ and with `native/binding/kernels.def`.
 */
import type { Kernels } from './kernels.js';

type Call = (...args: unknown[]) => unknown;
type RecordCall = (record: Readonly<Record<string, unknown>>) => unknown;

/** Kernels as the addon has them: positions only, synchronous or asynchronous. */
export type PositionalKernels = Readonly<Record<keyof Kernels, Call>>;

/** Names of the kernels that take a record. */
type RecordKernel = {
  [K in keyof Kernels]: Parameters<Kernels[K]>['length'] extends 1 ? K : never;
}[keyof Kernels];

const recordOrder: Readonly<Record<RecordKernel, string>> = {
  gemm: 'a b bias c m n k transA transB accumulate',
  gemmBatched: 'a b c batch m n k transA transB accumulate',
  gemmPair: 'a1 b1 k1 a2 b2 k2 bias c m n relu',
  gemmPairBackward: 'g y a1 gb1 k1 a2 gb2 k2 gbias m n',
  dropoutEntries: 'x offsets columns ids y rows width p key',
  spmm: 'op x w xScale yScale offsets indices positions y arg rows xRows width wCols hasSelf self accumulate',
  spmmArgBackward: 'gy w arg offsets indices positions gx rows width wCols',
  sddmm: 'x y xScale yScale arg offsets indices out rows width heads',
  gatAttention: 'z el er ee offsets indices ids key drop y lse rows heads width slope',
  gatAttentionBackward:
    'z el er ee y lse gy offsets indices ids key drop attention gscore rows heads width slope',
  gatv2Scores: 'xl xr a ee offsets indices out rows heads width slope',
  gatv2ScoresBackward: 'xl xr a ee gout offsets indices gxr ga gee rows heads width slope',
  gatv2ScoresBackwardSource: 'xl xr a ee gout offsets indices positions gxl rows heads width slope',
  timeEncodeBackward: 't w b gy gt gw gb n d',
  sgdStep: 'p g buffer n lr momentum dampening weightDecay nesterov first',
  adamStep: 'p g m v n lr beta1 beta2 eps weightDecay decoupled c1 c2',
  sgdStepRows: 'p ids g buffer n width lr momentum weightDecay',
  adagradStepRows: 'p ids g sum n width lr eps weightDecay',
  rowAdagradStepRows: 'p ids g sum n width lr eps weightDecay',
  adamStepRows: 'p ids g m v n width lr beta1 beta2 eps weightDecay decoupled c1 c2',
  layerNorm: 'x gamma beta y mean rstd rows cols eps',
  layerNormBackward: 'x gy gamma mean rstd gx ggamma gbeta rows cols',
  batchNormBackward: 'x gy mean rstd gamma gx ggamma gbeta rows cols',
  sampleNeighbors:
    'offsets indices weights seeds numSeeds fanouts drops hops replace key step tag map seedRows nodeIds ' +
    'trees localOffsets localIndices positions perHop capacity',
  sampleHop:
    'offsets indices weights frontier count fanout drop replace key step tag map nodeIds numNodes ' +
    'localOffsets localIndices positions capacity',
  drawNeighbors:
    'offsets weights nodes count firstNode fanout drop replace key step tag localOffsets positions capacity',
  sampleTemporalHop:
    'starts neighbors rows time limit weights nodes times cutoffs numDst strategy fanout from to ' +
    'propTime unique key step tag indptr sources eventRows spans capacity',
  eventStatistics:
    'nodeInts nodeTimes nodeValues pairInts pairTimes pairValues pairSlots relatedIds relatedCounts totals slots ' +
    'numNodes pairRoom slotCount relatedRoom clock src dst times numEvents querySrc queryTimes queryBefore offsets ' +
    'candidates numQueries shift scale out width',
  pairFeatures: 'starts neighbors rows time limit src times cutoffs numQueries dst numDst perQuery depth out',
  randomWalk: 'offsets indices sorted starts count walks length restart back near far key step out',
  sampleNegatives:
    'offsets sorted population populationSize nodes count perNode byDegree numNodes key step tag out',
  metisPartitionWeighted: 'offsets indices edgeWeights nodeWeights constraints n parts seed out',
  rowPenalty: 'x ids weights loss grad count width power complex',
  pairScoresBackward: 'op gy y a b ga gb pairs width',
  chunkedScores: 'op query rows negatives out edges width chunks n',
  chunkedScoresBackward: 'op gy y query rows negatives gQuery gRows edges width rowCount chunks n',
  chunkedSoftmaxLoss:
    'query target rows negatives maskOffsets maskPositions loss gQuery gTarget gRows edges width ' +
    'rowCount chunks n scale',
  edgeSoftmaxLoss:
    'op rows sources targets table relations negatives maskOffsets maskPositions loss gRead gRelations ' +
    'edges width chunks n scale',
  queryLoss:
    'kind query table bias answerOffsets answers knownOffsets known omega tau sigma offset drop key loss ' +
    'gQuery gTable gBias queries count width',
  rankTile:
    'op query positive positiveIds tile first filterOffsets filterIds greater equal queries width count',
  temporalAttention:
    'query h neighbors features eventRows spans w b offsets key drop raw alpha encoded y numDst heads ' +
    'dimNode dimEdge dimTime scale slope',
  temporalAttentionBackward:
    'gy query h neighbors features eventRows spans w b offsets key drop raw alpha encoded gQuery ' +
    'gNeighbors gw gb numDst heads dimNode dimEdge dimTime scale slope',
  momentAttention:
    'fixed mapped mappedRows eventRows eventTimes offsets query own w b merge cutoffs times y numNodes numTimes fanout ' +
    'heads dimTime hidden scale slope',
};

/** The names of a kernel's parameters in the order of C++, or null for a kernel that takes positions. */
export function recordParameters(name: string): readonly string[] | null {
  return Object.hasOwn(recordOrder, name) ? recordOrder[name as RecordKernel].split(' ') : null;
}

/** The addon's kernels with the signatures of the contract. */
export function takeRecords(kernels: PositionalKernels): Readonly<Record<keyof Kernels, Call>> {
  const wrapped = Object.entries(kernels).map(([name, kernel]) => {
    const order = recordParameters(name);
    return [name, order === null ? kernel : positionCaller(kernel, order)];
  });
  return Object.fromEntries(wrapped) as PositionalKernels;
}

/**
 * Returns `(r) => kernel(r.a, r.b, …)`, compiled from the names: it costs nothing measurable per call, where a loop over the names
 * costs 0.5 to 1 µs, as much as the call itself. Where Node.js forbids compiling text, the loop runs.
 */
function positionCaller(kernel: Call, order: readonly string[]): RecordCall {
  const fields = order.map((name) => `r.${name}`);
  try {
    return new Function('kernel', `return (r) => kernel(${fields});`)(kernel) as RecordCall;
  } catch {
    return (record) => kernel(...order.map((name) => record[name]));
  }
}
