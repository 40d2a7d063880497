// Streams, callbacks and an activity that completes later. The audit of a run shows values that are lost or doubled.
//   - The activity `pay` completes a callback in the process that has the fault. The others are completed from outside.

import { activity, orchestration, type Handle } from "../../../src/index.ts";
import { stream } from "../../../src/stream/index.ts";
import type { TestEnvironment } from "../../../src/testing/index.ts";

const words = stream<string>("words");
const retry = { maxAttempts: 20, backoff: { kind: "fixed", base: "1s" } } as const;

/** The first attempt fails after values that readers may have seen. No attempt waits for its last values. */
const think = activity("think", async (topic: string, { attempt, stream: open }) => {
  const out = open(words);
  await out.write(`${topic} 1`);
  await out.flush();
  await out.write(`${topic} 2`);
  if (attempt < 2) throw new Error(`attempt ${attempt} fails`);
  await out.write(`${topic} 3`);
  return attempt > 1;
});
/** The repeated call has another value and must change nothing. */
const pay = activity("pay", async (token: string, { client }) => {
  await client.complete(token, "paid");
  await client.complete(token, "paid again");
});

/** The first tokens that the activities of the current run hand out. */
const tokens = new Map<"approval" | "film", string>();
const publish = activity("publish", async (token: string) => void tokens.set("approval", token));
const film = activity("film", async (_: string, { completeLater }): Promise<unknown> => {
  const { token } = completeLater();
  if (!tokens.has("film")) tokens.set("film", token); // it stays valid if another attempt follows
  return "ignored";
});

export const studio = orchestration(
  "studio",
  async (ctx, take: number): Promise<readonly unknown[]> => {
    const out = ctx.stream(words);
    out.write(`take ${take}`);
    const hasRetried = await ctx.run(think, `take ${take}`, { retry });
    if (take === 1) return ctx.continueAsNew(2);
    const payment = ctx.callback<string>("payment");
    const approval = ctx.callback<string>("approval", { timeout: "9d" });
    await ctx.all([ctx.run(pay, payment.token, { retry }), ctx.run(publish, approval.token)]);
    out.write(`payment ${await payment}`);
    out.write(`approval ${await approval}`);
    const filmed = await ctx.run(film, "film", { retry });
    out.write("over");
    out.close();
    await ctx.sleep("1m");
    return [hasRetried, filmed];
  },
);
export const streamed = [studio, think, pay, publish, film];

function thoughts(take: number): readonly string[] {
  return [1, 2, 3].map((number) => `take ${take} ${number}`);
}
/** The audit of every run, whichever call of the store fails. */
export const STREAMED = {
  result: [true, "filmed"],
  shown: [
    ...["take 1", ...thoughts(1), "take 2", ...thoughts(2)],
    ...["payment paid", "approval yes", "over"],
  ],
  isDense: true,
  isClosed: true,
  delivered: 2,
  unread: [],
};

const ANSWERS = { approval: ["yes", "no"], film: ["filmed", "filmed again"] } as const;

/** Completes the callback and the activity from outside, twice each. It looks for their tokens every ten minutes. */
export function answer(t: TestEnvironment): void {
  tokens.clear();
  const left = new Set<keyof typeof ANSWERS>(["approval", "film"]);
  const look = (): void =>
    t.at("10m", async (client) => {
      for (const name of left) {
        const token = tokens.get(name);
        if (token === undefined) continue;
        for (const value of ANSWERS[name]) await client.complete(token, value);
        left.delete(name);
      }
      if (left.size > 0) look();
    });
  look();
}

/** The result, the stream after its resets, and how often a callback has delivered a value. */
export async function auditOf(handle: Handle): Promise<unknown> {
  const result = await handle.result();
  const offsets: number[] = [];
  let kept: { readonly call: number; readonly offset: number; readonly value: string }[] = [];
  for await (const entry of handle.stream(words)) {
    if (entry.kind !== "end") offsets.push(entry.offset);
    if (entry.kind === "item") kept.push(entry);
    if (entry.kind === "reset")
      kept = kept.filter(({ call, offset }) => call !== entry.call || offset < entry.from);
  }
  const shown = kept.map(({ value }) => value);
  const settled: string[] = [];
  for await (const entry of handle.stream(words, { settled: true }))
    if (entry.kind === "item") settled.push(entry.value);
  if (settled.join() !== shown.join())
    throw new Error(`The settled values are ${settled.join()} instead of ${shown.join()}.`);
  const [record] = await handle.streams();
  const events = await handle.history();
  return {
    result,
    shown,
    isDense: offsets.every((offset, index) => offset === index),
    isClosed: record?.isClosed,
    delivered: events.filter(
      (event) => event.kind === "EventReceived" && event.name.startsWith("perdure.callback:"),
    ).length,
    unread: (await handle.unread()).items,
  };
}
