// The interpreter's code for nodes that wait for time or for a signal.

import type { Until } from "../../core/context/node-calls.ts";
import type { DelayNode, WaitNode } from "../data/definition.ts";
import { nodeError } from "./flow-errors.ts";
import type { DelayFrame, WaitFrame } from "./frames.ts";
import type { RunningNode } from "./interpreter.ts";

export async function runDelay(
  { delayMs }: DelayNode,
  { run, frame, path }: RunningNode,
): Promise<unknown> {
  const until: Until = (frame.inner as DelayFrame | undefined) ?? { delayMs };
  frame.inner ??= { due: run.calls.at + delayMs };
  await run.threads.wait(run.calls.sleep(path, until));
  return frame.value;
}

export async function runWait(
  { signal, timeoutMs, onTimeout }: WaitNode,
  { run, frame, path }: RunningNode,
): Promise<unknown> {
  const known = frame.inner as WaitFrame | undefined;
  const due = timeoutMs === undefined ? {} : { due: run.calls.at + timeoutMs };
  const own: WaitFrame = known ?? { order: run.waits.begin(), ...due };
  frame.inner = own;
  if (known !== undefined) await run.waits.turn(own.order);
  const { task, isOpen } = run.calls.wait(path, signal, untilOf(known, timeoutMs));
  run.waits.subscribed(own.order);
  try {
    // If a message was already there, only this thread holds it. The thread must count as running, so that no
    // compaction happens before the message is in the frame.
    const waited = await (isOpen ? run.threads.wait(task) : task);
    if (waited.kind === "event") return waited.value;
  } finally {
    run.waits.end(own.order);
  }
  if (onTimeout === "continue") return null;
  throw nodeError("TIMEOUT", `The wait for signal "${signal}" at "${path}" timed out.`, path);
}

/** The timeout counted from now, or from when the wait began in a previous execution. */
function untilOf(known: WaitFrame | undefined, timeoutMs: number | undefined): Until | null {
  if (timeoutMs === undefined) return null;
  return known?.due === undefined ? { delayMs: timeoutMs } : { due: known.due };
}
