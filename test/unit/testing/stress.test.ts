// The stress program on SQLite: several runtimes on one file.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { stressProvider } from "../../../src/testing/index.ts";

const INSTANCES = process.env["PERDURE_FULL"] === "1" ? 1_000 : 40;

test("with several runtimes on one file every instance gets its result, and no activity runs twice", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-stress-"));
  try {
    const open = () => SqliteProvider.open(join(folder, "store.db"));
    const report = await stressProvider({ open, dispatchers: 2, instances: INSTANCES });
    expect(report).toMatchObject({ instances: INSTANCES, extraRuns: 0, problems: [] });
    expect(report.activities).toBe(INSTANCES * 10);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
