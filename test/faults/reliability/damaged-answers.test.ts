// A stored answer whose checksum does not match is reported, not returned.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { orchestration, Perdure, request } from "../../../src/index.ts";

const count = request<undefined, number>("count");
const counter = orchestration("counter", async (ctx) => {
  let answers = 0;
  for await (const call of ctx.requests(count)) call.answer(++answers);
});

test("asking again for a damaged answer raises HISTORY_CORRUPT, and the instance continues", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-answers-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "store.db");
  const options = { register: [counter], runtime: { log: () => undefined } };
  const before = await Perdure.open(`sqlite:${file}`, options);
  const handle = await before.client.start(counter, undefined, { id: "c" });
  expect(await handle.ask(count, undefined, { requestId: "r" })).toBe(1);
  await before.close();
  {
    using database = new DatabaseSync(file);
    database.exec(`UPDATE requests SET answer = '{"output":"8"}' WHERE id = 'r'`);
  }
  const after = await Perdure.open(`sqlite:${file}`, options);
  onTestFinished(() => after.close({ graceMs: 0 }));
  const again = after.client.get("c");
  await expect(again.ask(count, undefined, { requestId: "r" })).rejects.toMatchObject({
    code: "HISTORY_CORRUPT",
    message:
      'The stored answer to request "r" of instance "c" is corrupt: its checksum does not match.',
  });
  expect(await again.ask(count)).toBe(2);
});
