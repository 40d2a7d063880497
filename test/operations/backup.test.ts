// The statements about backups in docs/operations.md: a backup works while a runtime runs, and its instances continue.

import { expect, onTestFinished, test } from "vitest";
import { activity, event, orchestration, Perdure, type Provider } from "../../src/index.ts";
import { newPlace, type Place } from "../support/test-store.ts";

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
    await ctx.waitFor(go);
    return first + (await ctx.run(charge, 2));
  });
  return { keys, pay, register: [pay, charge] };
}

test("an instance continues from a backup of a live store with the same idempotency keys", async () => {
  const source = newPlace("file");
  onTestFinished(() => source.remove());

  const first = definitions();
  const original = await Perdure.open(await opened(source), {
    register: first.register,
    runtime: { beatMs: 50, staleMs: 200 },
  });
  const handle = await original.client.start(first.pay, undefined, { id: "pay-1" });
  for await (const { customStatus } of handle.watch()) if (customStatus === "waiting") break;
  const copy = await source.backUp();
  onTestFinished(() => copy.remove());
  await handle.raise(go);
  expect(await handle.result()).toBe(3);
  await original.close();

  const second = definitions();
  await using restored = await Perdure.open(await opened(copy), {
    register: second.register,
    // The copy lists the first runtime as alive. The new runtime waits at most staleMs for it.
    runtime: { beatMs: 50, staleMs: 200, pollIntervalMs: 100, log: () => undefined },
  });
  const again = restored.client.get(second.pay, "pay-1");
  expect((await again.describe()).status).toBe("running"); // the event was raised after the backup
  await again.raise(go);
  expect(await again.result()).toBe(3);
  expect(second.keys).toEqual(first.keys.filter((key) => key.startsWith("2 ")));
});

async function opened(place: Place): Promise<Provider> {
  const provider = await place.open();
  onTestFinished(() => provider.close());
  return provider;
}
