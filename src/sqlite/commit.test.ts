import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemEnvironment } from "../core/system-environment.ts";
import { startItem } from "../testing/conformance/fixture.ts";
import { integer } from "./columns.ts";
import { Connection } from "./connection.ts";
import { assemble, type Parts } from "./parts.ts";

let folder: string;
let connection: Connection;
let parts: Parts;
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

describe("an item that the database cannot take", () => {
  // NaN is stored as NULL, which the column forbids.
  const culprit = startItem({ id: "culprit", priority: NaN });

  test("fails alone, and its neighbours are written", async () => {
    const items = [...starts(5, "before"), culprit, ...starts(4, "after")];
    const results = await parts.groups.commit(items);
    expect(results.map((result) => result.kind)).toEqual(
      items.map((item) => (item === culprit ? "error" : "started")),
    );
    expect(results[5]).toMatchObject({ error: { code: "STORE_INVALID" } });
    expect(count("instances")).toBe(9);
    expect(count("inbox")).toBe(9);
  });

  test("is answered in the same way when it comes alone", async () => {
    const results = await parts.groups.commit([culprit]);
    expect(results).toMatchObject([{ kind: "error", error: { code: "STORE_INVALID" } }]);
    expect(count("instances")).toBe(0);
  });

  test("tells nobody of what was rolled back", async () => {
    const told: string[] = [];
    parts.notifier.subscribe(({ due }) => void told.push(...due));
    await parts.groups.commit([...starts(3, "good"), culprit]);
    expect(told.toSorted()).toEqual(["good-0", "good-1", "good-2"]);
    parts.notifier.close();
  });
});

describe("a full disk", () => {
  const setPagesMax = (pages: number) =>
    connection.prepare(`PRAGMA max_page_count = ${pages}`).get();
  const big = (id: string) => startItem({ id, started: JSON.stringify("x".repeat(500_000)) });

  test("fails the whole group as unavailable, certain and repeatable once there is room", async () => {
    const pages = connection.prepare("PRAGMA page_count").get();
    setPagesMax(integer(pages ?? {}, "page_count") + 20);
    const items = [...starts(3, "small"), big("big")];
    await expect(parts.groups.commit(items)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(count("instances")).toBe(0);
    expect(await parts.settlement.settle(items[3] ?? big("none"))).toBeNull();
    expect(await parts.groups.commit(starts(1, "fits"))).toMatchObject([{ kind: "started" }]);
    setPagesMax(1_000_000);
    const results = await parts.groups.commit(items);
    expect(results.map((result) => result.kind)).toEqual(Array(4).fill("started"));
  });
});
