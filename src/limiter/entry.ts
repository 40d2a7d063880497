// How a caller passes a limiter: a request, which the limiter answers when it admits the caller, and the event "leave"
// if the caller holds a slot. The commit of the caller's turn writes both.
//   - limiter.entry.1: The input of the request must not depend on the options of the limiter, because replay compares
//        it. The input of the start has the rule, for a limiter that does not run: replay does not compare it.
//   - limiter.entry.2: A caller that leaves without an admission withdraws its request. If the limiter has received it, an
//        admission may be on its way. So the caller sends "leave", too, in the same commit.
//   - limiter.entry.3: A limiter that ends, by itself or by an operator, rejects the requests that it has not answered.
//        Their callers ask again, which starts the next run. So no caller is admitted by two runs.
//   - limiter.entry.4: The store refuses a request whose start names another orchestration than that of the instance. Then
//        an activity reads the name of the instance, for the error. The instance is left alone.
//   - limiter.entry.5: A limiter that began before there were requests does not receive them until it continues as new
//        (limiter.calls.4). So a caller that has waited for CHECK_MS checks the instance. Once a limiter has answered,
//        it receives requests for good: this execution of the caller needs no timer for it again.
//   - limiter.entry.6: The caller does not use the task of "leave", so a delivered "leave" costs it no turn. If the
//        limiter has ended, it has no slots to release, and the engine logs that the event was not delivered.
//   - Histories in stores hold these calls on `ctx`, so a change to them goes behind `ctx.patched`.

import type { OrchestrationContext, Task } from "../core/context/types.ts";
import { isPerdureError, PerdureError } from "../core/errors/errors.ts";
import { RETRY, type CallerCalls } from "./calls.ts";
import { ENTER, LEAVE, type Admission } from "./messages.ts";
import type { StoredRule } from "./rule.ts";
import { EMPTY, type LimiterState } from "./state.ts";

/** What a caller uses of its context. */
export type EntryContext = Pick<
  OrchestrationContext,
  | "ask"
  | "info"
  | "now"
  | "patched"
  | "race"
  | "raise"
  | "run"
  | "scope"
  | "shield"
  | "sleep"
  | "uuid"
  | "waitFor"
>;
/** What a caller uses of its limiter. */
export interface EntryLimiter {
  readonly name: string;
  readonly rule: StoredRule;
  readonly calls: CallerCalls;
}
/** A call of `limiter.run`. */
export interface EntryCall {
  readonly limiter: EntryLimiter;
  /** The limiter's instance id. */
  readonly gate: string;
  /** Infinity: no timeout. */
  readonly timeoutMs: number;
}

/** The check is repeated until the limiter serves requests. The interval doubles each time. */
const CHECK_MS = 10_000;
const CHECK_MS_MAX = 600_000;
/** How long a caller waits after a limiter has ended several times in a row. It doubles each time. */
const AGAIN_MS = 250;
const AGAIN_MS_MAX = 60_000;

/** Waits for the admission, runs the work, and releases the slot. */
export async function passByRequest<T>(
  ctx: EntryContext,
  call: EntryCall,
  work: () => T | Promise<T>,
): Promise<T> {
  const departure = { token: ctx.uuid(), id: ctx.info.instanceId };
  let mustLeave = true; // until the limiter says otherwise (limiter.entry.2)
  try {
    const { holds } = await admission(ctx, call, departure.token);
    mustLeave = holds;
    return await work();
  } catch (error) {
    if (error instanceof Misdirected) mustLeave = false;
    throw error instanceof Misdirected ? error.cause : error;
  } finally {
    if (mustLeave) {
      await ctx.shield(() => {
        void ctx.raise(call.gate, LEAVE, departure); // limiter.entry.6
      });
    }
  }
}

/** The error of a call whose timeout has passed. */
export function timedOut({ gate, timeoutMs }: EntryCall): PerdureError {
  return new PerdureError(
    "TIMEOUT",
    `limiter "${gate}": no slot became free within ${timeoutMs} ms.`,
  );
}

/** Carries the error of the check: the instance is not a limiter, so it must not get a "leave". */
class Misdirected extends Error {}

/** The limiters that have answered an execution (limiter.entry.5), by the context of the execution. */
const answered = new WeakMap<EntryContext, Set<string>>();

async function admission(ctx: EntryContext, call: EntryCall, token: string): Promise<Admission> {
  const until = ctx.now().getTime() + call.timeoutMs;
  const known = answered.get(ctx) ?? new Set();
  answered.set(ctx, known);
  for (let endings = 0; ; endings++) {
    try {
      const isServed = known.has(call.gate);
      const asked = ask(ctx, call, token);
      const needsNoTimer = isServed && until === Infinity;
      const admitted = await (needsNoTimer
        ? asked
        : watched(ctx, call, asked, { until, isServed }));
      known.add(call.gate);
      return admitted;
    } catch (error) {
      if (isPerdureError(error, "INSTANCE_EXISTS")) await check(ctx, call);
      else if (!hasEnded(error)) throw error;
    }
    // limiter.entry.3
    const leftMs = until - ctx.now().getTime();
    if (leftMs <= 0) throw timedOut(call);
    if (endings > 1) await ctx.sleep(Math.min(AGAIN_MS * 2 ** endings, AGAIN_MS_MAX, leftMs));
  }
}

interface Watch {
  /** When the call times out. Infinity: never. */
  readonly until: number;
  /** Whether the limiter is known to receive requests. */
  readonly isServed: boolean;
}

async function watched(
  ctx: EntryContext,
  call: EntryCall,
  asked: Task<Admission>,
  from: Watch,
): Promise<Admission> {
  const watching = ctx.scope(() => watch(ctx, call, from));
  try {
    return (await Promise.race([asked, watching])) ?? (await asked);
  } finally {
    watching.cancel();
    asked.cancel();
  }
}

/** limiter.entry.1 */
function ask(ctx: EntryContext, { gate, limiter }: EntryCall, token: string): Task<Admission> {
  const ruledAt = ctx.now().getTime();
  const input: LimiterState = { ...EMPTY, rule: limiter.rule, ruledAt };
  const start = { orchestration: limiter.name, input, ifEnded: "restart" } as const;
  return ctx.ask(gate, ENTER, { token }, { start });
}

/** Rejects at the timeout, and if the instance is not a limiter. Resolves if there is nothing more to watch. */
async function watch(ctx: EntryContext, call: EntryCall, from: Watch): Promise<null> {
  const { until } = from;
  let { isServed } = from;
  for (
    let checkMs = CHECK_MS;
    !isServed || until < Infinity;
    checkMs = Math.min(checkMs * 2, CHECK_MS_MAX)
  ) {
    const leftMs = Math.max(until - ctx.now().getTime(), 0);
    await ctx.sleep(isServed ? leftMs : Math.min(checkMs, leftMs));
    if (ctx.now().getTime() >= until) throw timedOut(call);
    isServed = await check(ctx, call);
  }
  return null;
}

/** Whether the limiter receives requests (limiter.entry.5). Rejects if the instance is not a limiter (limiter.entry.4). */
async function check(ctx: EntryContext, { gate, limiter }: EntryCall): Promise<boolean> {
  try {
    return await ctx.run(limiter.calls.check, gate, { retry: RETRY });
  } catch (error) {
    if (isPerdureError(error, "CANCELLED")) throw error;
    throw new Misdirected("the instance is not a limiter", { cause: error });
  }
}

function hasEnded(error: unknown): boolean {
  return isPerdureError(error, "INSTANCE_FINISHED") || isPerdureError(error, "INSTANCE_NOT_FOUND");
}
