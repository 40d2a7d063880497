// T14: what an earlier version has recorded, the code of today replays (I5, I15), wherever it runs.
//   RT1. No recorded file was edited, removed or left out of the list.
//   RT2. Every kind of event, and every way to end, occurs in at least one of them.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { EVENT_KINDS, type HistoryEvent } from "../../src/core/history-events.ts";
import { decodeHistory } from "../../src/core/history-row.ts";
import { historiesInFile } from "../../src/testing/history-sources.ts";
import { replayAll, VERSIONS } from "./replay-all.ts";

const here = import.meta.dirname;
const found = VERSIONS.flatMap((folder) => historiesInFile(folder));
const events: readonly HistoryEvent[] = found.flatMap(({ recorded }) =>
  decodeHistory(recorded.rows),
);

test("every recorded history replays with the code of today", async () => {
  const { histories, broken } = await replayAll();
  expect(broken).toEqual([]);
  expect(histories).toBe(found.length);
  expect(histories).toBeGreaterThan(20);
});

test.each([
  { TZ: "Pacific/Apia", LANG: "tr_TR.UTF-8", locale: "tr-TR" },
  { TZ: "America/St_Johns", LANG: "ja_JP.UTF-8", locale: "ja-JP" },
])("they replay in $TZ in the language $locale", ({ locale, ...env }) => {
  const output = execFileSync(process.execPath, [join(here, "replay-all.ts")], {
    encoding: "utf8",
    env: { ...process.env, ...env, LC_ALL: env.LANG },
  });
  const said: unknown = JSON.parse(output);
  expect(said).toMatchObject({ histories: found.length, broken: [], locale });
  expect(said).not.toMatchObject({ zone: new Date(0).getTimezoneOffset() });
});

test("no recorded file was edited, removed or added past the list", () => {
  const listed = readFileSync(join(here, "sha256.txt"), "utf8").trimEnd().split("\n").sort();
  const files = [...new Set(found.flatMap(({ file = "" }) => [file]))];
  const sums = files.map((file) => {
    const sum = createHash("sha256").update(readFileSync(file)).digest("hex");
    return `${sum}  ${relative(here, file).replaceAll("\\", "/")}`;
  });
  expect(sums.sort()).toEqual(listed);
});

test("every kind of event and every way to end was recorded", () => {
  const kinds = new Set(events.map(({ kind }) => kind));
  expect(EVENT_KINDS.filter((kind) => !kinds.has(kind))).toEqual([]);
  const outcomes = events.flatMap((event) =>
    event.kind === "OrchestrationFailed" ? [event.outcome] : [],
  );
  expect([...new Set(outcomes)].sort()).toEqual(["cancelled", "failed", "terminated"]);
});

test("two of them have more than two thousand events", () => {
  const long = found.filter(({ recorded }) => (recorded.rows.at(-1)?.last ?? 0) >= 2_000);
  expect(long.length).toBeGreaterThanOrEqual(2);
});
