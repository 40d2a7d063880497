// Import: 100,000 lines of a file into a table, in chunks that are written once. docs/cookbook/import-rows.md shows
// this file.

import { open } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { activity, orchestration } from "../../src/index.ts";

interface Import {
  readonly file: string;
  readonly database: string;
}
interface Chunk {
  readonly start: number; // bytes
  readonly end: number;
}

/** Where each chunk of 1,000 lines begins and ends. */
export const split = activity("split", async ({ file }: Import, { heartbeat }) => {
  const chunks: Chunk[] = [];
  let [start, at, lines] = [0, 0, 0];
  await using input = await open(file);
  for await (const bytes of input.createReadStream({ autoClose: false })) {
    for (const byte of bytes as Buffer) {
      at += 1;
      if (byte !== 10 || ++lines % 1_000 !== 0) continue;
      chunks.push({ start, end: at });
      start = at;
    }
    heartbeat();
  }
  return at > start ? [...chunks, { start, end: at }] : chunks;
});

/** One transaction per chunk. A repeated chunk writes the same rows again. */
export const load = activity("load", async ({ file, database, start, end }: Import & Chunk) => {
  await using input = await open(file);
  const { buffer } = await input.read(Buffer.alloc(end - start), 0, end - start, start);
  const lines = buffer.toString().trimEnd().split("\n");
  using customers = new DatabaseSync(database);
  const upsert = customers.prepare("INSERT OR REPLACE INTO customers (id, name) VALUES (?, ?)");
  customers.exec("BEGIN");
  for (const line of lines) upsert.run(...line.split(","));
  customers.exec("COMMIT");
  return lines.length;
});

export const importRows = orchestration("importRows", async (ctx, input: Import) => {
  const chunks = await ctx.run(split, input, { heartbeatTimeout: "1m", attempts: 3 });
  const left = [...chunks];
  let rows = 0;
  const lane = async () => {
    for (let chunk = left.shift(); chunk !== undefined; chunk = left.shift()) {
      const loaded = await ctx.run(load, { ...input, ...chunk }, { attempts: 5, timeout: "1m" });
      rows += loaded; // not `rows += await …`, which reads rows before the wait
      ctx.setStatus({ rows, chunksLeft: left.length });
    }
  };
  await ctx.all([lane, lane, lane, lane]); // four chunks at a time
  return rows;
});
