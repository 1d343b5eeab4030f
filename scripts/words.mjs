/**
 * Words that check-words.mjs looks for, each with the words to use instead. Keep to one word per thing, the field's own.
 *
 * An entry has `find`, a regular expression (a space in it also matches a line break inside a comment or a string);
 * `use`, the replacement that the message suggests; and optionally:
 * - `advice: true` for words that are wrong in most sentences but not in all. They are only reported with `--advice`.
 * - `except`, occurrences that stay: `file` (a path, or a folder ending in `/`), `text` (a regular expression that the
 *   line must match; without it the whole file is excepted) and `reason`. Exceptions that match nothing are reported.
 */

/** Phrases in prose, messages and documentation. Case-insensitive. */
export const phrases = [
  { find: /\bgo(es|ing)? on\b(?! to\b)|\bwent on\b/, use: 'resume, continue' },
  {
    find: /\bjudg(e[sd]?|ing|e?ments?)\b/,
    use: 'evaluate, score, rank',
    except: [
      {
        file: 'src/train/run/run-record.ts',
        text: /\bjudged\b/,
        reason: 'a key of checkpoints of version 1',
      },
    ],
  },
  { find: /\bgraphics( |-)processors?\b/, use: 'GPU' },
  { find: /\banew\b/, use: 'again' },
  { find: /\bonce more\b|\bover again\b/, use: 'again' },
  { find: /\bwish(es|ed)?\b/, use: 'request' },
  { find: /\bnobody\b/, use: 'passive voice, unused, no caller' },
  { find: /\bsomebody\b|\bsomeone\b/, use: 'the caller, the user, another worker' },
  { find: /\bwhoever\b|\bwhomever\b/, use: 'the caller, the user, any worker' },
  { find: /\brefused by name\b/, use: 'rejected with an error that names it' },
  { find: /\bmend(s|ed|ing)?\b/, use: 'fix' },
  { find: /\bha(s|ve) no say\b/, use: 'has no effect, is ignored' },
  { find: /\bliving stream\b/, use: 'live stream' },
  { find: /\bunder way\b/, use: 'in flight, running, pending' },
  { find: /\bshar(e[sd]?|ing) out\b|\bshared( |-)out\b/, use: 'partition, distribute' },
  { find: /\bhand(s|ed|ing)?( |-)(over|on)\b|\bhandovers?\b/, use: 'pass, return, transfer' },
  { find: /\bbeside\b/, use: 'next to, alongside, with, as well as' },
  {
    find: /\blies? (in|on|at|beside|with|there|here|where|anywhere|under|behind|before|after|one|by)\b/,
    use: 'is (stored) in',
  },
  { find: /\bwhere(ver)? (it|they|these|those|\w+s?) lies?\b/, use: 'where it is (stored)' },
  {
    find: /(?<!\b(there|here|where|which) )\b(is|are) no (?!(longer|more|less|fewer|other|different|better|worse|smaller|larger|slower|faster)\b)\w+/,
    use: 'is not a …',
  },
  { find: /(?<!\b(there|here|where|which|if) )\b(is|are) none\b/, use: 'is not one, there is none' },
  { find: /\bthe like\b/, use: 'similar' },
  { find: /\bdo(es)? not count\b/, use: 'is ignored' },
  { find: /\b(is|are|was|were|be|been) told\b/, use: 'is given, is configured, is reported' },
  { find: /\bnews\b/, use: 'delta, updates' },
  { find: /\bway (back|on)\b/, use: 'path, inverse, hint' },
  { find: /\bkind to\b/, use: 'rephrase' },
  { find: /\bof one's own\b/, use: 'custom' },
  { find: /\bin vain\b/, use: 'without effect' },
  { find: /\blet(s|ting)? go\b/, use: 'release, free' },
  { find: /\bstrange\b/, use: 'unknown' },
  { find: /\bso to speak\b|\bas it were\b/, use: 'rephrase' },
  { find: /\bby and by\b/, use: 'gradually' },
  { find: /\bone another's\b/, use: "each other's" },

  { find: /\bpieces?\b/, use: 'chunk, slice, shard, segment', advice: true },
  { find: /\bcuts?\b|\bcutting\b/, use: 'partition, split, truncate (an edge cut is fine)', advice: true },
  { find: /\brefus(e[sd]?|al|ing)\b/, use: 'reject, throw', advice: true },
  { find: /\bat once\b/, use: 'immediately, concurrently, in one call', advice: true },
  {
    find: /\b(says|said|told|tells?|asks?|asked|asking|knows?)\b/,
    use: 'states, reports, is given, requests, has',
    advice: true,
  },
  { find: /\bstands?\b/, use: 'is, is at, is in', advice: true },
  { find: /\blies?\b/, use: 'is, is stored', advice: true },
  { find: /\bof (its|their|his|your) own\b/, use: 'custom, separate, private', advice: true },
  { find: /\banywhere\b/, use: 'at any position, in any folder', advice: true },
  { find: /\busual(ly)?\b/, use: 'default, ordinary', advice: true },
  { find: /\bsuch an?\b/, use: 'rephrase', advice: true },
  {
    find: /\b(a|one|two|three|four) \w+ an? (line|file|run|worker|node|row|step|command|event|edge)\b/,
    use: 'per …',
    advice: true,
  },
  { find: /\bplaces?\b/, use: 'rank, position, index, row, location', advice: true },
  { find: /\bparts?\b/, use: 'split, partition, share, component, section', advice: true },
  { find: /\bby hand\b/, use: 'explicitly, manually', advice: true },
  { find: /\bwords?\b/, use: 'name, type name (of a configuration)', advice: true },
];

/** Openings of doc comments: fragments without a subject. Matched after the comment's opening. Case-sensitive. */
export const openings = [
  { find: /Of\b/, use: 'a noun phrase or a verb' },
  { find: /The same\b/, use: 'the subject in full' },
  { find: /What\b/, use: 'a noun phrase or a verb' },
  { find: /(Without|None)[,:]/, use: 'a full sentence' },
  { find: /(And|But|Or|Nor)\b/, use: 'a full sentence' },
];

/** Identifiers and file names, whole or in part. Case-sensitive. */
export const identifiers = [
  {
    find: /[Jj]udg(e|ing)/,
    use: 'evaluate…',
    except: [
      {
        file: 'src/train/run/run-record.ts',
        text: /\bjudged\b/,
        reason: 'a key of checkpoints of version 1',
      },
    ],
  },
  { find: /\b(wish|wishes)\b|Wish(es|ed|Of)?\b|\bwishOf\b/, use: '…Request' },
  { find: /News\b|\bnews[A-Z]\w*/, use: '…Delta, …Updates' },
  { find: /UnderWay\b|\bunderWay\b/, use: 'inFlight, pending' },
  { find: /\w[a-z]Together\b/, use: '…Collectively, or what it does' },
  { find: /\blastWords\b/, use: 'onError' },
  { find: /[wW]ithWayOn\b|\bwayOn\b/, use: 'withResumeHint' },
  { find: /[Hh]andOver|hand-over\b/, use: 'transfer…, export…' },
  { find: /\bunlisted\b/, use: 'unwrap…' },
  { find: /[Bb]eside[A-Z]|Beside\b/, use: 'With…, Alongside' },
  { find: /\b(takeUsual|isUsual|usualPlaces?|usualNames|usualId)\b/, use: 'default…, conventional…' },
  { find: /\bnobody[A-Z]\w*|Nobody\b|Somebody\b|Whoever\b/, use: 'what it means' },
  { find: /graphics-processor|[gG]raphicsProcessor/, use: 'gpu' },
];
