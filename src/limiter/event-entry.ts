// How a caller passes a limiter with events and activities. Executions that began before there were requests do this
// (entry.ts has the present way).
//   - Stores hold such executions, so this file must stay as it is.

import { event } from "../core/define/definitions.ts";
import { admissionOf, RETRY } from "./calls.ts";
import { timedOut, type EntryCall, type EntryContext } from "./entry.ts";
import { isAdmission, type Admission } from "./messages.ts";

/** How often a waiting caller checks that the limiter instance it asked still runs. The interval doubles each time. */
const LOOK_MS = 30_000;
const LOOK_MS_MAX = 600_000;

/** Waits for the admission, runs the work, and releases the slot. */
export async function passByEvents<T>(
  ctx: EntryContext,
  call: EntryCall,
  work: () => T | Promise<T>,
): Promise<T> {
  const token = ctx.uuid();
  const { gate } = call;
  const { leave } = call.limiter.calls;
  let mustLeave = true; // until the limiter says otherwise: a request may be on its way to it
  try {
    const { holds } = await admission(ctx, call, token);
    mustLeave = holds;
    return await work();
  } finally {
    if (mustLeave) await ctx.shield(() => ctx.run(leave, { gate, token }, { retry: RETRY }));
  }
}

async function admission(ctx: EntryContext, call: EntryCall, token: string): Promise<Admission> {
  const { gate, timeoutMs } = call;
  const { ask } = call.limiter.calls;
  const askedAt = ctx.now().getTime();
  const until = askedAt + timeoutMs;
  const admitted = event<Admission>(admissionOf(token));
  let run: string | null = null;
  for (let lookMs = LOOK_MS; ; lookMs = Math.min(lookMs * 2, LOOK_MS_MAX)) {
    run = await ctx.run(ask, { gate, token, askedAt, run }, { retry: RETRY });
    const leftMs = Math.max(until - ctx.now().getTime(), 0);
    const first = await ctx.race({
      admission: ctx.waitFor(admitted, { details: { limiter: gate }, internal: true }),
      look: ctx.sleep(Math.min(lookMs, leftMs)),
    });
    if (first.key === "admission" && isAdmission(first.value)) return first.value;
    if (ctx.now().getTime() >= until) throw timedOut(call);
  }
}
