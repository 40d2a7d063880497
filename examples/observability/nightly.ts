// Work worth watching: it logs, reports its progress, and sets a status.

import { setImmediate as nextLoop } from "node:timers/promises";
import { activity, orchestration } from "../../src/index.ts";

export const importRows = activity("importRows", async (rows: number, { log, progress }) => {
  log.info("importing", { rows });
  for (let row = 1; row <= rows; row++) {
    await nextLoop();
    progress({ row, rows });
  }
  return rows;
});

export const nightly = orchestration("nightly", async (ctx, tables: readonly string[]) => {
  let rows = 0;
  for (const [index, table] of tables.entries()) {
    ctx.setStatus({ table, done: index, of: tables.length });
    ctx.log.info("next table", { table }); // written when its turn is committed, never during a replay
    rows += await ctx.run(importRows, 10);
  }
  ctx.setStatus({ done: tables.length, of: tables.length });
  return rows;
});
