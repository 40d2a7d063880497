// What docs/operations.md says of backups: they are made while a runtime works, and what they hold goes on.

import { mkdtempSync, rmSync } from "node:fs";
import { backup, DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { activity, event, orchestration, Perdure } from "../../src/index.ts";

const go = event("go");

function definitions() {
  const keys: string[] = [];
  const charge = activity("charge", async (cents: number, { idempotencyKey }) => {
    keys.push(`${cents} ${idempotencyKey}`);
    return cents;
  });
  const pay = orchestration("pay", async (ctx) => {
    const first = await ctx.run(charge, 1);
    ctx.setStatus("waiting");
    await ctx.event(go);
    return first + (await ctx.run(charge, 2));
  });
  return { keys, pay, register: [pay, charge] };
}

test("a backup of a live store goes on where it was, under the same idempotency keys", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-backup-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [file, copy] = [join(folder, "orders.db"), join(folder, "backup.db")];

  const first = definitions();
  const original = await Perdure.open(`sqlite:${file}`, {
    register: first.register,
    runtime: { beatMs: 50, staleMs: 200 },
  });
  const handle = await original.client.start(first.pay, undefined, { id: "pay-1" });
  for await (const { customStatus } of handle.watch()) if (customStatus === "waiting") break;
  const source = new DatabaseSync(file, { readOnly: true });
  await backup(source, copy);
  source.close();
  await handle.raise(go);
  expect(await handle.result()).toBe(3);
  await original.close();

  const second = definitions();
  await using restored = await Perdure.open(`sqlite:${copy}`, {
    register: second.register,
    // The copy holds the first runtime as alive: it is waited for, and no longer than this.
    runtime: { beatMs: 50, staleMs: 200, pollIntervalMs: 100, log: () => undefined },
  });
  const again = restored.client.get(second.pay, "pay-1");
  expect((await again.describe()).status).toBe("running"); // the event was raised after the backup
  await again.raise(go);
  expect(await again.result()).toBe(3);
  expect(second.keys).toEqual(first.keys.filter((key) => key.startsWith("2 ")));
});
