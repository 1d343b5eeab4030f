#!/usr/bin/env node
/** `marius_postprocess`: see ../marius.ts. */
import { runAlias } from '../marius.js';

await runAlias('marius_postprocess');
