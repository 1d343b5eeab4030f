#!/usr/bin/env node
/** `marius_eval`: see ../marius.ts. */
import { runAlias } from '../marius.js';

await runAlias('marius_eval');
