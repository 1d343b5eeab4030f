#!/usr/bin/env node
/** `marius_predict`: see ../marius.ts. */
import { runAlias } from '../marius.js';

await runAlias('marius_predict');
