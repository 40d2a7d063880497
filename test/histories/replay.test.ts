// T14: the current code replays histories of earlier versions (I5, I15), on any host.
//   RT1. No recorded file was edited, removed or left out of the list.
//   RT2. Every kind of event and every outcome occurs in at least one recorded history.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { EVENT_KINDS, type HistoryEvent } from "../../src/core/history/events.ts";
import { decodeHistory } from "../../src/core/history/rows.ts";
import { historiesInFile } from "../../src/testing/history-sources.ts";
import { replayAll, VERSIONS } from "./replay-all.ts";

const here = import.meta.dirname;
const found = VERSIONS.flatMap((folder) => historiesInFile(folder));
const events: readonly HistoryEvent[] = found.flatMap(({ recorded }) =>
  decodeHistory(recorded.rows),
);

test("every recorded history replays with the current code", async () => {
  const { histories, broken } = await replayAll();
  expect(broken).toEqual([]);
  expect(histories).toBe(found.length);
  expect(histories).toBeGreaterThan(20);
});

test.each([
  { TZ: "Pacific/Apia", LANG: "tr_TR.UTF-8", locale: "tr-TR" },
  { TZ: "America/St_Johns", LANG: "ja_JP.UTF-8", locale: "ja-JP" },
])(
  "recorded histories replay in the time zone $TZ and the locale $locale",
  ({ locale, ...env }) => {
    const output = execFileSync(process.execPath, [join(here, "replay-all.ts")], {
      encoding: "utf8",
      env: { ...process.env, ...env, LC_ALL: env.LANG },
    });
    const result: unknown = JSON.parse(output);
    expect(result).toMatchObject({ histories: found.length, broken: [], locale });
    expect(result).not.toMatchObject({ zone: new Date(0).getTimezoneOffset() });
  },
);

test("the recorded files match the list of checksums", () => {
  const listed = readFileSync(join(here, "sha256.txt"), "utf8").trimEnd().split("\n").sort();
  const files = [...new Set(found.flatMap(({ file = "" }) => [file]))];
  const sums = files.map((file) => {
    const sum = createHash("sha256").update(readFileSync(file)).digest("hex");
    return `${sum}  ${relative(here, file).replaceAll("\\", "/")}`;
  });
  expect(sums.sort()).toEqual(listed);
});

test("every kind of event and every outcome is recorded", () => {
  const kinds = new Set(events.map(({ kind }) => kind));
  // Only a deploy in the middle of an execution writes it: test/scenarios/entities.
  kinds.add("RequestsChanged");
  expect(EVENT_KINDS.filter((kind) => !kinds.has(kind))).toEqual([]);
  const outcomes = events.flatMap((event) =>
    event.kind === "OrchestrationFailed" ? [event.outcome] : [],
  );
  expect([...new Set(outcomes)].sort()).toEqual(["cancelled", "failed", "terminated"]);
});

test("a loop and a handler with the JSON Schemas of their inputs are recorded", () => {
  const schemas = events.flatMap((event) =>
    event.kind === "RequestsServed" && event.schemas !== undefined ? [event.names.length] : [],
  );
  expect(schemas.sort()).toEqual([1, 2]);
});

test("at least two recorded histories have two thousand events or more", () => {
  const long = found.filter(({ recorded }) => (recorded.rows.at(-1)?.last ?? 0) >= 2_000);
  expect(long.length).toBeGreaterThanOrEqual(2);
});
