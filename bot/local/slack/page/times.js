// Times as people read them: the zone is that of the person who looks, "now" is their watch (which a demo may speed up).

const watch = { now: Date.now() / 1000, at: performance.now(), speed: 1, zone: undefined };

export function setWatch({ now, speed, zone }) {
  if (now !== undefined) { watch.now = now; watch.at = performance.now(); }
  if (speed !== undefined) watch.speed = speed;
  if (zone !== undefined) watch.zone = zone;
}

/** Unix seconds on the watch. */
export const now = () => watch.now + ((performance.now() - watch.at) / 1000) * watch.speed;
export const zone = () => watch.zone;
export const speed = () => watch.speed;

function part(unix, options) {
  return new Intl.DateTimeFormat("en-GB", { timeZone: watch.zone, ...options }).format(new Date(unix * 1000));
}

export const clockTime = (unix) => part(unix, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
export const fullTime = (unix) => part(unix, { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short" });
/** The day as YYYY-MM-DD. */
export const day = (unix) => new Intl.DateTimeFormat("sv-SE", { timeZone: watch.zone }).format(new Date(unix * 1000));

function pretty(unix, plain) {
  const today = Date.parse(day(now()));
  const apart = Math.round((Date.parse(day(unix)) - today) / 86400000);
  return { "-1": "yesterday", 0: "today", 1: "tomorrow" }[apart] ?? plain;
}

export const dayName = (unix) => pretty(unix, part(unix, { weekday: "long", day: "numeric", month: "long" })).replace(/^./, (char) => char.toUpperCase());

const FORMATS = {
  date_num: day,
  date_slash: (unix) => day(unix).replaceAll("-", "/"),
  date: (unix) => part(unix, { day: "numeric", month: "long", year: "numeric" }),
  date_long: (unix) => part(unix, { weekday: "long", day: "numeric", month: "long", year: "numeric" }),
  date_long_full: (unix) => part(unix, { weekday: "long", day: "numeric", month: "long", year: "numeric" }),
  date_short: (unix) => part(unix, { day: "numeric", month: "short", year: "numeric" }),
  time: clockTime,
  time_secs: (unix) => part(unix, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }),
  ago: (unix) => `${Math.max(0, Math.round((now() - unix) / 60))} minutes ago`,
};
for (const name of ["date", "date_long", "date_short"]) FORMATS[`${name}_pretty`] = (unix) => pretty(unix, FORMATS[name](unix));
FORMATS.day_divider_pretty = FORMATS.date_long_pretty;

/** The format of a <!date^…> token written out. */
export function dated(unix, format) {
  return format.replace(/\{(\w+)\}/g, (whole, name) => (FORMATS[name] ? FORMATS[name](unix) : whole));
}

/** Unix seconds of a wall time "YYYY-MM-DDTHH:MM" in the watch's zone. */
export function unixOf(wall) {
  const asUtc = Date.parse(`${wall}:00Z`) / 1000;
  const shown = (unix) => Date.parse(`${day(unix)}T${clockTime(unix)}:00Z`) / 1000;
  const first = asUtc - (shown(asUtc) - asUtc);
  return first - (shown(first) - asUtc);
}
export const wallOf = (unix) => `${day(unix)}T${clockTime(unix)}`;
