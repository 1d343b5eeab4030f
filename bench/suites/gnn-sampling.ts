import type { Case } from '../suite.js';

export const samplingCases: readonly Case[] = [];
