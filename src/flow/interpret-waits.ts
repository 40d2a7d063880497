// Nodes that wait for time or for a signal.

import type { Until } from "../core/node-calls.ts";
import type { DelayNode, WaitNode } from "./definition.ts";
import { nodeError } from "./flow-errors.ts";
import type { DelayFrame, WaitFrame } from "./frames.ts";
import type { FlowRun, Place } from "./interpreter.ts";

export async function runDelay(
  run: FlowRun,
  { delayMs }: DelayNode,
  { frame, path }: Place,
): Promise<unknown> {
  const until: Until = (frame.inner as DelayFrame | undefined) ?? { delayMs };
  frame.inner ??= { due: run.calls.at + delayMs };
  await run.threads.stand(run.calls.sleep(path, until));
  return frame.value;
}

export async function runWait(
  run: FlowRun,
  { signal, timeoutMs, onTimeout }: WaitNode,
  { frame, path }: Place,
): Promise<unknown> {
  const known = frame.inner as WaitFrame | undefined;
  const due = timeoutMs === undefined ? {} : { due: run.calls.at + timeoutMs };
  const own: WaitFrame = known ?? { order: run.waits.begin(), ...due };
  frame.inner = own;
  if (known !== undefined) await run.waits.turn(own.order);
  const { task, isOpen } = run.calls.wait(path, signal, untilOf(known, timeoutMs));
  run.waits.asked(own.order);
  try {
    // A message that was taken is nowhere but here: until it is passed on, this thread runs.
    const waited = await (isOpen ? run.threads.stand(task) : task);
    if (waited.kind === "event") return waited.value;
  } finally {
    run.waits.end(own.order);
  }
  if (onTimeout === "continue") return null;
  throw nodeError("TIMEOUT", `Signal "${signal}" did not come in time at "${path}".`, path);
}

/** From now, or from when the wait began in an execution before. */
function untilOf(known: WaitFrame | undefined, timeoutMs: number | undefined): Until | null {
  if (timeoutMs === undefined) return null;
  return known?.due === undefined ? { delayMs: timeoutMs } : { due: known.due };
}
