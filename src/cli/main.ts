#!/usr/bin/env node
/** The `skein` command. Its program is in program.ts, each command in a file of commands/. */
import { main } from './program.js';

await main(process.argv.slice(2));
