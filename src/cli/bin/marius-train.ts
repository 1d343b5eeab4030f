#!/usr/bin/env node
/** `marius_train`: see ../marius.ts. */
import { runAlias } from '../marius.js';

await runAlias('marius_train');
