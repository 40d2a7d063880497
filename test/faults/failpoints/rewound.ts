// An order and its child that fail after they have charged and read events, and are rewound. The audit of a run shows
// calls that got a second key, events that are lost or doubled, and repairs that happened twice.

import {
  activity,
  isPerdureError,
  orchestration,
  type ErrorCode,
  type Handle,
} from "../../../src/index.ts";
import type { TestEnvironment } from "../../../src/testing/index.ts";

/** The idempotency keys of each activity, and whether the carrier answers. One run at a time uses them. */
const keys = new Map<string, Set<string>>();
let isDown = true;

function note(name: string, key: string): void {
  keys.set(name, (keys.get(name) ?? new Set()).add(key));
}

const retry = { maxAttempts: 20, backoff: { kind: "fixed", base: "1s" } } as const;
const charge = activity("charge", async (cents: number, { idempotencyKey }) => {
  note("charge", idempotencyKey);
  return cents;
});
/** Fails for good while the carrier is down. A crash of its process is another attempt. */
const ship = activity("ship", async (parcel: string, { idempotencyKey }) => {
  note("ship", idempotencyKey);
  return isDown ? "down" : `${parcel} shipped`;
});

const parcel = orchestration("parcel", async (ctx, name: string) => {
  const word = await ctx.waitFor<string>("word");
  const shipped = await ctx.step("address", () => `${name} to ${word}`);
  const state = await ctx.run(ship, shipped, { retry });
  if (state === "down") throw new Error("no carrier");
  return state;
});
const purchase = orchestration("purchase", async (ctx) => {
  const paid = await ctx.run(charge, 5, { retry });
  ctx.compensate(() => ctx.step("note", () => "compensated"));
  const results = await Promise.allSettled([
    ctx.call(parcel, "book", { id: "parcel" }),
    ctx.run(charge, 1, { retry }),
    ctx.waitFor<string>("word"),
  ]);
  for (const each of results) if (each.status === "rejected") throw each.reason;
  const values = results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  return [paid, ...values, await ctx.waitFor<string>("word")];
});

export const rewound = [purchase, parcel, charge, ship];

/** The audit of every run, whichever call of the store fails. */
export async function auditRewound(t: TestEnvironment): Promise<unknown> {
  keys.clear();
  isDown = true;
  const { client } = t;
  const handle = await t.start(purchase, undefined, { id: "purchase" });
  for (const [id, word] of [
    ...[["parcel", "ada"]],
    ...["one", "two"].map((each) => ["purchase", each]),
  ]) {
    await client.raise(id ?? "", "word", word, { requestId: `word-${word}`, ifMissing: "keep" });
  }
  await handle.result().catch(() => undefined);
  isDown = false;
  const child = client.get("parcel");
  // The child and its parent go on before the failed call, and the parcel is shipped.
  await repair(t, child);
  const result = await handle.result();
  await repair(t, child); // a repetition
  return {
    result,
    keys: [...keys].map(([name, set]) => [name, set.size]),
    purchase: await factsOf(handle),
    parcel: await factsOf(child),
  };
}

/** A worker carries out the call. If it crashes, an operator repeats the call with the same request id. */
async function repair(t: TestEnvironment, handle: Handle): Promise<void> {
  for (;;) {
    const call = handle.rewind({
      ...{ before: { activity: "ship" }, tree: true, requestId: "repair", by: "ada" },
    });
    const outcome = call.then(
      () => "done",
      (error: unknown) => error,
    );
    let settled: unknown;
    void outcome.then((value) => (settled = value));
    for (await t.settle(); settled === undefined;) await t.advance("1s");
    if (settled === "done") return;
    const isLater = ["NOT_REGISTERED", "TIMEOUT"].some((code) =>
      isPerdureError(settled, code as ErrorCode),
    );
    if (!isLater) throw settled;
    await t.advance("10s");
  }
}

async function factsOf(handle: Handle): Promise<unknown> {
  const { execution, status, repairs = [] } = await handle.describe();
  const events = await handle.history();
  const received = events.flatMap((each) => (each.kind === "EventReceived" ? [each.data] : []));
  const { items } = await handle.unread();
  return { execution, status, repairs: repairs.length, received, unread: items.length };
}
