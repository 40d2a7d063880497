// Formats numbers, times and durations.

const COUNT = new Intl.NumberFormat("en");
const DATE_TIME = new Intl.DateTimeFormat("en-GB", {
  year: "numeric",
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const TIME = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

const TIME_MS = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
});

export function formatCount(count: number): string {
  return COUNT.format(count);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function formatDateTime(iso: string): string {
  return DATE_TIME.format(new Date(iso));
}

export function formatClock(ms: number): string {
  return TIME.format(ms);
}

/** The time of day with milliseconds. */
export function formatExactClock(iso: string): string {
  return TIME_MS.format(new Date(iso));
}

/** At most two units: "1.2 s", "3 min 4 s", "2 d 5 h". */
export function formatDuration(ms: number): string {
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < 1) return ms === 0 ? "0 ms" : "<1 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${trimmed(ms / 1_000)} s`;
  const units: [string, number][] = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["min", 60_000],
    ["s", 1_000],
  ];
  // Rounds to the smaller unit first, to avoid "1 min 60 s".
  const first = units.findIndex(([, size]) => ms >= size);
  const [bigName, bigSize] = units[first] ?? ["s", 1_000];
  const [smallName, smallSize] = units[first + 1] ?? ["s", 1_000];
  const small = Math.round(ms / smallSize);
  const ratio = bigSize / smallSize;
  const whole = Math.floor(small / ratio);
  const rest = small % ratio;
  if (first > 0 && whole >= (units[first - 1]?.[1] ?? Infinity) / bigSize) {
    return formatDuration(units[first - 1]?.[1] ?? ms);
  }
  return rest === 0 ? `${whole} ${bigName}` : `${whole} ${bigName} ${rest} ${smallName}`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_048_576) return `${trimmed(bytes / 1_024)} KiB`;
  return `${trimmed(bytes / 1_048_576)} MiB`;
}

/** A rate per second. */
export function formatRate(rate: number): string {
  if (rate === 0) return "0/s";
  if (rate < 0.1) return "<0.1/s";
  return rate < 100 ? `${trimmed(rate)}/s` : `${formatCount(Math.round(rate))}/s`;
}

function trimmed(value: number): string {
  return value >= 100
    ? String(Math.round(value))
    : String(Number(value.toFixed(value < 10 ? 2 : 1)));
}

/** Shortens the version of a flow, which ends with a hash of 64 digits. */
export function shortVersion(version: string | undefined): string {
  return (version ?? "").replace(/\+([0-9a-f]{8})[0-9a-f]{56}$/, "+$1");
}
