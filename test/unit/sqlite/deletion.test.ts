import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import {
  ALPHA,
  keepItem,
  newInstance,
  newTask,
  registration,
  sendItem,
  startItem,
  stateChange,
  turnItem,
} from "../../../src/testing/conformance/fixture.ts";
import { SqliteProvider } from "../../../src/sqlite/provider.ts";

/** The number of rows per table, read from the database file. */
function rowCounts(path: string): Record<string, number> {
  using database = new DatabaseSync(path, { readOnly: true });
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    .all();
  // A tally of a name stays, with a count of 0.
  const counted = tables.filter(({ name }) => name !== "tallies");
  return Object.fromEntries(
    counted.map(({ name }) => {
      const count = database.prepare(`SELECT count(*) AS rows FROM "${String(name)}"`).get();
      return [String(name), Number(count?.["rows"])];
    }),
  );
}

test("a deleted tree leaves no row in any table", async () => {
  const directory = mkdtempSync(join(tmpdir(), "perdure-deletion-"));
  const path = join(directory, "store.db");
  const provider = await SqliteProvider.open(path);
  try {
    await provider.registerRuntime(registration({ id: ALPHA }));
    const before = rowCounts(path);
    await provider.commit([keepItem({ id: "a" })]);
    const item = startItem({ id: "a", requestId: "r", lease: { owner: ALPHA, token: 7 } });
    const [started] = await provider.commit([item]);
    if (started?.kind !== "started") throw new Error("the start was refused");
    const { key } = started;
    const held = { id: "a", runId: item.runId, key, execution: 1, token: 7, lastEvent: 0 };
    const parent = { id: "a", runId: item.runId, execution: 1, sequence: 2 };
    await provider.commit([
      turnItem(held, {
        events: [item.started],
        tasks: [newTask({ sequence: 1 })],
        timers: [{ kind: "timer", sequence: 1, delayMs: 1_000 }],
        starts: [newInstance({ id: "child", parent })],
        state: stateChange({
          status: { value: "1" },
          attributes: { customer: "42", cents: 1 },
          keyValues: [{ key: "k", value: "1" }],
        }),
      }),
      sendItem({ id: "child" }),
    ]);
    const full = rowCounts(path);
    for (const table of [
      "instances",
      "attributes",
      "history",
      "inbox",
      "tasks",
      "kv",
      "requests",
    ]) {
      expect(full[table], table).toBeGreaterThan(0);
    }
    await provider.deleteInstance({ id: "a", force: true });
    expect(rowCounts(path)).toEqual(before);
  } finally {
    await provider.close();
    rmSync(directory, { recursive: true });
  }
});
