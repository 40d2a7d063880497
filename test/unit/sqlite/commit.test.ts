import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemEnvironment } from "../../../src/core/time/system-environment.ts";
import { startItem } from "../../../src/testing/conformance/fixture.ts";
import { settle } from "../../../src/sql/write/outcome-recovery.ts";
import { integer } from "../../../src/sql/columns.ts";
import { Connection } from "../../../src/sqlite/connection/connection.ts";
import { assemble, type SqliteParts } from "../../../src/sqlite/assemble.ts";

let folder: string;
let connection: Connection;
let parts: SqliteParts;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "perdure-commit-"));
  connection = await Connection.open(join(folder, "store.db"), {
    environment: systemEnvironment,
    durability: "full",
    busyMs: 1_000,
  });
  parts = assemble(connection);
});
afterEach(() => {
  connection.close();
  rmSync(folder, { recursive: true });
});

const starts = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, i) => startItem({ id: `${prefix}-${i}` }));
const count = (table: string) =>
  integer(connection.prepare(`SELECT count(*) AS n FROM ${table}`).get() ?? {}, "n");

describe("an item that the database refuses", () => {
  // NaN is stored as NULL, which the column forbids.
  const invalid = startItem({ id: "invalid", priority: NaN });

  test("fails alone, and the other items of its group are written", async () => {
    const items = [...starts(5, "before"), invalid, ...starts(4, "after")];
    const results = await parts.groupCommit.commit(items);
    expect(results.map((result) => result.kind)).toEqual(
      items.map((item) => (item === invalid ? "error" : "started")),
    );
    expect(results[5]).toMatchObject({ error: { code: "STORE_INVALID" } });
    expect(count("instances")).toBe(9);
    expect(count("inbox")).toBe(9);
  });

  test("gets the same result in a group of one", async () => {
    const results = await parts.groupCommit.commit([invalid]);
    expect(results).toMatchObject([{ kind: "error", error: { code: "STORE_INVALID" } }]);
    expect(count("instances")).toBe(0);
  });

  test("causes no notifications about rolled-back writes", async () => {
    const notified: string[] = [];
    parts.notifier.subscribe(({ due }) => void notified.push(...due));
    await parts.groupCommit.commit([...starts(3, "good"), invalid]);
    expect(notified.toSorted()).toEqual(["good-0", "good-1", "good-2"]);
    parts.notifier.close();
  });
});

describe("a full disk", () => {
  const setPagesMax = (pages: number) =>
    connection.prepare(`PRAGMA max_page_count = ${pages}`).get();
  const big = (id: string) => startItem({ id, started: JSON.stringify("x".repeat(500_000)) });

  test("fails the whole group with STORE_UNAVAILABLE, writes nothing, and a retry succeeds once there is space", async () => {
    const pages = connection.prepare("PRAGMA page_count").get();
    setPagesMax(integer(pages ?? {}, "page_count") + 20);
    const items = [...starts(3, "small"), big("big")];
    await expect(parts.groupCommit.commit(items)).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
    });
    expect(count("instances")).toBe(0);
    const settled = parts.scripts.read(() => settle(items[3] ?? big("none"), parts.parts));
    expect(await settled).toBeNull();
    expect(await parts.groupCommit.commit(starts(1, "fits"))).toMatchObject([{ kind: "started" }]);
    setPagesMax(1_000_000);
    const results = await parts.groupCommit.commit(items);
    expect(results.map((result) => result.kind)).toEqual(Array(4).fill("started"));
  });
});
