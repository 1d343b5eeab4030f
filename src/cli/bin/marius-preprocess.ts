#!/usr/bin/env node
/** `marius_preprocess`: see ../marius.ts. */
import { runAlias } from '../marius.js';

await runAlias('marius_preprocess');
