/** All commands, in the order of the help. A command file only declares its options; its work is imported when it runs. */
import type { Command } from 'commander';
import { register as build } from './build.js';
import { register as compare } from './compare.js';
import { register as config } from './config.js';
import { register as demo } from './demo.js';
import { register as doctor } from './doctor.js';
import { register as evaluate } from './eval.js';
import { register as explain } from './explain.js';
import { register as exportTables } from './export.js';
import { register as info } from './info.js';
import { register as mcp } from './mcp.js';
import { register as newProject } from './new.js';
import { register as pack } from './pack.js';
import { register as partition } from './partition.js';
import { register as plot } from './plot.js';
import { register as predict } from './predict.js';
import { register as preprocess } from './preprocess.js';
import { register as query } from './query.js';
import { register as quickstart } from './quickstart.js';
import { register as recommend } from './recommend.js';
import { register as run } from './run.js';
import { register as search } from './search.js';
import { register as serve } from './serve.js';
import { register as train } from './train.js';
import { register as ui } from './ui.js';

export const commands: readonly ((program: Command) => void)[] = [
  demo,
  quickstart,
  newProject,
  preprocess,
  partition,
  config,
  train,
  search,
  evaluate,
  predict,
  query,
  explain,
  recommend,
  ui,
  compare,
  plot,
  exportTables,
  pack,
  serve,
  mcp,
  run,
  info,
  doctor,
  build,
];
