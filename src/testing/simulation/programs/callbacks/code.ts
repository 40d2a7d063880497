// The code of callbacks: orchestrations that wait for a call, and activities that complete later.
//   - Only activities hand tokens out. They run after the turn that created the callback is committed (I13).

import { activity } from "../../../../core/define/definitions.ts";
import type { OrchestrationContext } from "../../../../core/context/types.ts";
import type { Definition } from "../../../../core/define/registrable.ts";
import type { SimulatedProcess } from "../../world/machine.ts";
import { failureAsValue } from "../failures.ts";
import type { CallbackNode, LaterNode } from "../program.ts";
import type { Outside } from "./outside.ts";

const PUBLISH = "publish";
/** The name of the activity that completes later. */
export const LATER = "later";
/** The result of a callback that lost its race. */
export const OUTRUN = "outrun";

interface Published {
  readonly key: string;
  readonly token: string;
}

export function callbackActivities(
  process: SimulatedProcess,
  outside: Outside,
): readonly Definition[] {
  const publish = activity(PUBLISH, async ({ key, token }: Published) => {
    outside.give({ key, token, target: token });
    await process.sleep(1);
  });
  const later = activity(LATER, async (node: LaterNode, context): Promise<unknown> => {
    const { key, ms, fails } = node;
    const { attempt, idempotencyKey: target } = context;
    outside.give({ key, token: context.completeLater().token, target });
    await process.sleep(ms);
    if (attempt <= fails) throw new Error(`scripted: attempt ${attempt}`);
    return "not the result";
  });
  return [publish, later];
}

export async function waitForCallback(
  ctx: OrchestrationContext,
  { key, how, ms, timeoutMs }: CallbackNode,
): Promise<unknown> {
  const called = ctx.callback(key, timeoutMs === null ? {} : { timeout: timeoutMs });
  const { token } = called;
  // Without its token nothing completes it.
  const failed = await failureAsValue(ctx.run(PUBLISH, { key, token }));
  if (failed !== undefined) return failed;
  if (how === "late") await ctx.sleep(ms);
  if (how !== "race") return called;
  const first = await ctx.race({ called, timer: ctx.sleep(ms) });
  return first.key === "timer" ? OUTRUN : first.value;
}

export function runLater(ctx: OrchestrationContext, node: LaterNode): Promise<unknown> {
  const { attempts, timeoutMs, heartbeatMs } = node;
  return failureAsValue(
    ctx.run(LATER, node, {
      retry: { maxAttempts: attempts, backoff: { kind: "fixed", base: 100 } },
      ...(timeoutMs === null ? {} : { timeout: timeoutMs }),
      ...(heartbeatMs === null ? {} : { heartbeatTimeout: heartbeatMs }),
    }),
  );
}
