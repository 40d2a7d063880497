import { expect, test } from "vitest";
import { nextTime, missedTimeToRun } from "../../../src/schedule/calendar.ts";
import { ruleOf, type RuleOptions } from "../../../src/schedule/rule.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The first times after a moment, to the minute. */
function times(options: RuleOptions, after: string, count: number): readonly string[] {
  const rule = ruleOf(options, "it");
  const found: string[] = [];
  let time = nextTime(rule, Date.parse(after));
  for (; time !== null && found.length < count; time = nextTime(rule, time)) {
    found.push(new Date(time).toISOString().slice(0, 16));
  }
  return found;
}

test("cron accepts five fields (minutes to weekdays), six fields (with seconds first), and names of days and months", () => {
  expect(times({ cron: "0 3 * * *" }, "2026-01-01T03:00:00Z", 2)).toEqual([
    "2026-01-02T03:00",
    "2026-01-03T03:00",
  ]);
  const rule = ruleOf({ cron: "*/10 * * * * *" }, "it");
  expect(nextTime(rule, Date.UTC(2026, 0, 1, 0, 0, 0, 500))).toBe(Date.UTC(2026, 0, 1, 0, 0, 10));
  const workdays = { cron: "0 9 * JAN MON-FRI", timezone: "America/New_York" };
  expect(times(workdays, "2026-01-02T20:00:00Z", 2)).toEqual([
    "2026-01-05T14:00",
    "2026-01-06T14:00",
  ]);
  expect(times({ cron: "0 12 L * *" }, "2026-01-31T12:00:00Z", 1)).toEqual(["2026-02-28T12:00"]);
  expect(times({ cron: "@weekly" }, "2026-01-01T00:00:00Z", 1)).toEqual(["2026-01-04T00:00"]);
});

test("when clocks go forward, a skipped time of day runs once, at the end of the gap", () => {
  const at = (timezone: string, cron: string, after: string) => times({ cron, timezone }, after, 3);
  expect(at("Europe/Berlin", "30 2 * * *", "2026-03-27T12:00Z")).toEqual([
    "2026-03-28T01:30",
    "2026-03-29T01:00",
    "2026-03-30T00:30",
  ]);
  expect(at("Antarctica/Troll", "30 1 * * *", "2026-03-27T12:00Z")).toEqual([
    "2026-03-28T01:30",
    "2026-03-29T01:00", // this zone skips two hours
    "2026-03-29T23:30",
  ]);
  expect(at("America/Santiago", "0 0 * * *", "2026-09-04T12:00Z")).toEqual([
    "2026-09-05T04:00",
    "2026-09-06T04:00", // this zone skips midnight
    "2026-09-07T03:00",
  ]);
});

test("when clocks go back, a time of day runs once, and an hourly rule runs in both hours", () => {
  const berlin = { timezone: "Europe/Berlin" };
  expect(times({ cron: "30 2 * * *", ...berlin }, "2026-10-24T12:00Z", 2)).toEqual([
    "2026-10-25T00:30",
    "2026-10-26T01:30",
  ]);
  expect(times({ cron: "30 * * * *", ...berlin }, "2026-10-25T00:00Z", 3)).toEqual([
    "2026-10-25T00:30",
    "2026-10-25T01:30",
    "2026-10-25T02:30",
  ]);
});

test("CA1: over two years, in zones that move their clocks, every time is later than the previous time", () => {
  const zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"];
  const rules = ["30 2 * * *", "0 0 * * *", "*/45 1-3 * * *", "0 */6 * * *", "15 0 1 * *"];
  for (const timezone of zones) {
    for (const cron of rules) {
      const rule = ruleOf({ cron, timezone }, "it");
      const end = Date.UTC(2028, 0, 1);
      let time = Date.UTC(2026, 0, 1);
      for (let next: number | null = time; next !== null && next < end;) {
        next = nextTime(rule, time);
        if (next === null) throw new Error(`"${cron}" in ${timezone} has no time after ${time}`);
        expect(next, `${cron} ${timezone} after ${new Date(time).toISOString()}`).toBeGreaterThan(
          time,
        );
        expect(next - time).toBeLessThan(32 * DAY);
        time = next;
      }
    }
  }
});

test("`every` counts from the beginning of 1970, or from `from`; no time is before `from` or after `until`", () => {
  expect(times({ every: "6h" }, "2026-01-01T07:30:00Z", 2)).toEqual([
    "2026-01-01T12:00",
    "2026-01-01T18:00",
  ]);
  const from = new Date("2026-01-01T07:30:00Z");
  const until = new Date("2026-01-01T19:30:00Z");
  expect(times({ every: "6h", from, until }, "2025-01-01T00:00:00Z", 9)).toEqual([
    "2026-01-01T07:30",
    "2026-01-01T13:30",
    "2026-01-01T19:30",
  ]);
  expect(times({ cron: "0 * * * *", from, until }, "2025-01-01T00:00:00Z", 2)).toEqual([
    "2026-01-01T08:00",
    "2026-01-01T09:00",
  ]);
  expect(times({ cron: "0 * * * *", until: from }, "2026-01-01T06:59:00Z", 9)).toEqual([
    "2026-01-01T07:00",
  ]);
});

test("catch-up runs the latest missed time, or every missed time in order, but none older than maxLateness", () => {
  const first = Date.UTC(2026, 0, 1, 3);
  const now = Date.UTC(2026, 0, 9, 12, 34, 56);
  const latest = ruleOf({ cron: "0 3 * * *" }, "it");
  expect(missedTimeToRun(latest, { first, now })).toBe(Date.UTC(2026, 0, 9, 3));
  expect(missedTimeToRun(latest, { first: now - 5, now })).toBe(now - 5);
  expect(missedTimeToRun({ ...latest, maxLatenessMs: 9 * HOUR }, { first, now })).toBeNull();
  expect(missedTimeToRun({ ...latest, maxLatenessMs: 10 * HOUR }, { first, now })).toBe(
    Date.UTC(2026, 0, 9, 3),
  );
  const all = { ...latest, missed: "all" } as const;
  expect(missedTimeToRun(all, { first, now })).toBe(first);
  expect(missedTimeToRun({ ...all, maxLatenessMs: 3 * DAY }, { first, now })).toBe(
    Date.UTC(2026, 0, 7, 3),
  );
  expect(missedTimeToRun({ ...all, maxLatenessMs: HOUR }, { first, now })).toBeNull();
});

test("the latest of a year of missed seconds is found without visiting each second", () => {
  const rule = ruleOf({ cron: "* * * * * *" }, "it");
  const now = Date.UTC(2027, 0, 1) + 250;
  expect(missedTimeToRun(rule, { first: Date.UTC(2026, 0, 1), now })).toBe(Date.UTC(2027, 0, 1));
  const minutes = ruleOf({ every: "1s" }, "it");
  expect(missedTimeToRun(minutes, { first: Date.UTC(2026, 0, 1), now })).toBe(Date.UTC(2027, 0, 1));
});

test("an invalid calendar is refused with the reason", () => {
  const refused = (options: object): string => {
    try {
      ruleOf(options as RuleOptions, 'schedule "s"');
    } catch (error) {
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
      return (error as Error).message;
    }
    return "not refused";
  };
  expect(refused({})).toBe('schedule "s" must have either cron or every.');
  expect(refused({ cron: "@daily", every: "1d" })).toBe(
    'schedule "s" must have either cron or every.',
  );
  expect(refused({ cron: "every day" })).toContain("five fields");
  expect(refused({ cron: "2026-01-01T00:00:00Z" })).toContain("five fields");
  expect(refused({ cron: "* * * * * * 2027" })).toContain("five fields");
  expect(refused({ cron: "61 * * * *" })).toContain(
    'cron of schedule "s": "61 * * * *" is not valid',
  );
  expect(refused({ cron: "0 0 31 2 *" })).toContain("no date matches it");
  expect(refused({ cron: 5 })).toContain("it must be a string");
  expect(refused({ cron: "@daily", timezone: "Berlin" })).toContain("IANA name");
  expect(refused({ every: "1h", timezone: "UTC" })).toContain("must be used with cron");
  expect(refused({ every: "100ms" })).toContain("at least one second");
  expect(refused({ every: "soon" })).toContain("must be a duration");
  expect(refused({ every: "1h", from: "today" })).toContain("must be a valid Date");
  expect(refused({ every: "1h", until: new Date(NaN) })).toContain("must be a valid Date");
  expect(refused({ every: "1h", from: new Date(2), until: new Date(1) })).toContain(
    "before its from",
  );
  expect(refused({ every: "1h", overlap: "wait" })).toContain("overlap");
  expect(refused({ every: "1h", missed: "none" })).toContain("missed");
  expect(refused({ every: "1h", jitter: -1 })).toContain("jitter");
  expect(refused({ every: "1h", maxLateness: "x" })).toContain("maxLateness");
});
