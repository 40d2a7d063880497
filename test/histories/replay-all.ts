// Replays every recorded history with the current code and prints the failures. It can run with any language and time zone.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { replayHistories } from "../../src/testing/index.ts";
import { PROGRAMS } from "./programs.ts";

/** The folders of recorded versions. */
export const VERSIONS: readonly string[] = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => join(import.meta.dirname, name));

/** The number of recorded histories, and those that no longer replay, as text. */
export async function replayAll(): Promise<{ histories: number; broken: readonly string[] }> {
  const register = [...new Set(PROGRAMS.flatMap((program) => program.register))];
  const report = await replayHistories(VERSIONS, register);
  const broken = report.broken.map(({ file, id, diff }) => [`${file} ${id}`, ...diff].join("\n"));
  const strays = report.unregistered.map(({ file, id, name }) => `${file} ${id}: no ${name}`);
  return { histories: report.checked, broken: [...broken, ...strays] };
}

if (import.meta.main) {
  const host = {
    zone: new Date(0).getTimezoneOffset(),
    locale: Intl.DateTimeFormat().resolvedOptions().locale,
  };
  console.log(JSON.stringify({ ...(await replayAll()), ...host }));
}
