/** ISO 8601 dates and times as seconds since 1970; UTC if they have no zone. */

const form =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)([.,]\d+)?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/** Returns the seconds since 1970; NaN for other text. */
export function isoSeconds(text: string): number {
  const match = form.exec(text);
  if (match === null) return Number.NaN;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const date = new Date(Date.UTC(year, month - 1, day));
  // Date.UTC carries a day that the month does not have over to the next month.
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!exists || hour > 24 || minute > 59 || second > 60) return Number.NaN;
  const fraction = match[7] === undefined ? 0 : Number(`0.${match[7].slice(1)}`);
  return date.getTime() / 1000 + hour * 3600 + minute * 60 + second + fraction - zoneSeconds(match[8]);
}

function zoneSeconds(zone: string | undefined): number {
  if (zone === undefined || /^z$/i.test(zone)) return 0;
  const seconds = Number(zone.slice(1, 3)) * 3600 + Number(zone.slice(3).replace(':', '')) * 60;
  return zone.startsWith('-') ? -seconds : seconds;
}
