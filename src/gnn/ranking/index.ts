/** Ranks of true nodes among all others. */
