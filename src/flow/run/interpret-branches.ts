// The interpreter's code for nodes with concurrent branches: forks and maps.

import { showValue } from "../../core/ids/ids.ts";
import type { ForkNode, MapNode } from "../data/definition.ts";
import { failureData, isCancel, nodeError } from "./flow-errors.ts";
import { newFrame, type BranchFrame, type ForkFrame, type MapFrame } from "./frames.ts";
import type { FlowRun, RunningNode } from "./interpreter.ts";
import { branchPrefix, itemsPath, roundPrefix } from "../data/paths.ts";
import type { Prepared } from "./prepared.ts";

export async function runFork(
  node: ForkNode,
  { run, step, frame, path }: RunningNode,
): Promise<unknown> {
  frame.inner ??= { branches: node.branches.map(() => newFrame(frame.value)) };
  const { branches } = frame.inner as ForkFrame;
  const bodies = node.branches.map(({ key }, index) => () => {
    const prefix = branchPrefix(path, key);
    const level = branches[index] ?? newFrame(frame.value);
    const nodes = step.levels[index] ?? [];
    if (node.onError === "settle") {
      return settled(run, nodes, level, prefix, (failed) => (branches[index] = failed));
    }
    if ("failed" in level) throw new Error(`Branch "${prefix}" has already failed.`);
    return run.level(nodes, level, prefix);
  });
  const values = await run.threads.fork(bodies, () => run.waits.releaseAll());
  return Object.fromEntries(node.branches.map(({ key }, index) => [key, values[index]]));
}

export async function runMap(
  node: MapNode,
  { run, step, frame, path }: RunningNode,
): Promise<unknown> {
  if (frame.inner === undefined) {
    const items = await run.run(itemsPath(path), step.work, frame.value);
    if (!Array.isArray(items)) {
      const message = `The items of map "${path}" must be an array; got ${showValue(items)}.`;
      throw nodeError("INVALID_ARGUMENT", message, path);
    }
    frame.inner = { items, next: 0, open: {}, ended: {} };
  }
  const own = frame.inner as MapFrame;
  // Items that the previous execution had begun come first.
  const begun = Object.keys(own.open).map(Number);
  const take = (): number | undefined =>
    begun.shift() ?? (own.next < own.items.length ? own.next++ : undefined);
  const nodes = step.levels[0] ?? [];
  const lane = async (): Promise<void> => {
    for (let index = take(); index !== undefined; index = take()) {
      const level = (own.open[index] ??= newFrame(own.items[index]));
      const prefix = roundPrefix(path, index);
      const value =
        node.onError === "settle"
          ? await settled(run, nodes, level, prefix, () => undefined)
          : await run.level(nodes, level, prefix);
      own.ended[index] = value;
      Reflect.deleteProperty(own.open, index);
    }
  };
  const left = begun.length + own.items.length - own.next;
  const lanes = Array.from({ length: Math.min(node.concurrency, left) }, () => lane);
  await run.threads.fork(lanes, () => run.waits.releaseAll());
  return own.items.map((_, index) => own.ended[index]);
}

/**
 * Runs a branch or an item with `onError: "settle"`. On a failure its compensations run, and the failure is
 * its value.
 */
async function settled(
  run: FlowRun,
  nodes: readonly Prepared[],
  frame: BranchFrame,
  prefix: string,
  keep: (failed: BranchFrame) => void,
): Promise<unknown> {
  if ("failed" in frame) return { ok: false, ...frame.failed };
  try {
    return { ok: true, value: await run.level(nodes, frame, prefix) };
  } catch (error) {
    if (isCancel(error)) throw error;
    await run.compensations.undo(prefix);
    const failed = failureData(error, prefix.slice(0, -1));
    keep({ failed });
    return { ok: false, ...failed };
  }
}
