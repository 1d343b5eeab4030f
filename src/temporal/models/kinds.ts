/** The built-in kinds of temporal models; add a new one here. */
import { edgeBankKind } from '../baselines/edge-bank.js';
import { localGlobalKind } from '../baselines/local-global.js';
import { logisticRecencyKind, recencyPopularityKind } from '../baselines/recency-popularity.js';
import { evolveGcnKind } from '../snapshots/evolve-gcn.js';
import { gconvGruKind, gconvLstmKind } from '../snapshots/gcrn.js';
import { tgcnKind } from '../snapshots/tgcn.js';
import { pairStatisticsKind } from '../statistics/pair-statistics-kind.js';
import { generalKind } from './general-kind.js';
import { graphMixerKind } from './graph-mixer/kind.js';
import type { TemporalModelKind } from './model-kind.js';

export const builtInKinds: readonly TemporalModelKind[] = [
  generalKind,
  evolveGcnKind,
  gconvGruKind,
  gconvLstmKind,
  tgcnKind,
  graphMixerKind,
  edgeBankKind,
  recencyPopularityKind,
  logisticRecencyKind,
  localGlobalKind,
  pairStatisticsKind,
];
