import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { looseIndexScan, nextDistinctRow } from "../../../src/sqlite/sql/loose-index-scan.ts";

test("every distinct row that matches the condition is visited once, in the order of the columns", () => {
  using database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE t (open INTEGER, a INTEGER, b TEXT, c REAL)");
  const insert = database.prepare("INSERT INTO t VALUES (?, ?, ?, ?)");
  for (let i = 0; i < 500; i += 1) {
    insert.run(i % 7 === 0 ? 0 : 1, i % 2, ["x", "y@1", "ä"][i % 3] ?? "", 1 + (i % 5) / 2);
  }
  const distinct = "SELECT DISTINCT a, b, c FROM t WHERE open = 1 ORDER BY a, b, c";
  const next = database.prepare(nextDistinctRow("t", "open = 1", ["a", "b", "c"]));
  const visited = [];
  let at = next.get(-1, "", 0);
  while (at !== undefined) {
    visited.push(at);
    at = next.get(at["a"] ?? null, at["b"] ?? null, at["c"] ?? null);
  }
  expect(visited).toEqual(database.prepare(distinct).all());
  expect(visited).toHaveLength(30);
  const walk = `WITH RECURSIVE ${looseIndexScan("cuts", "t", "open = 1", ["a", "b", "c"])}`;
  expect(database.prepare(`${walk} SELECT * FROM cuts ORDER BY a, b, c`).all()).toEqual(visited);
  database.exec("DELETE FROM t");
  expect(database.prepare(`${walk} SELECT * FROM cuts`).all()).toEqual([]);
});
