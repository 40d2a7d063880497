// The interpreter's code for nodes that run one level at a time: calls, routes, loops and catches; and for
// children.

import { defined } from "../../core/values/defined.ts";
import type { ChildNode, LoopNode, RouteNode } from "../data/definition.ts";
import { failureData, isCancel, nodeError, withNode } from "./flow-errors.ts";
import {
  newFrame,
  type CallFrame,
  type CatchFrame,
  type LoopFrame,
  type RouteFrame,
} from "./frames.ts";
import type { RunningNode } from "./interpreter.ts";
import { parseLoopResult, type LoopResult } from "./loop-result.ts";
import { branchPrefix, keyPath, OTHERWISE, roundPrefix } from "../data/paths.ts";

export async function runChild(
  node: ChildNode,
  { run, step, frame, path }: RunningNode,
): Promise<unknown> {
  if (run.compaction.isDue) await run.compaction.beforeWork(path);
  const { orchestration, version, onParentClose, priority } = node;
  const options = defined({ version, onParentClose, priority });
  try {
    const child = run.calls.child(path, step.target ?? orchestration, frame.value, options);
    return await run.threads.work(child);
  } catch (error) {
    throw withNode(error, path);
  }
}

export async function runCall({ run, step, frame, path }: RunningNode): Promise<unknown> {
  const own = (frame.inner ??= { level: newFrame(frame.value) }) as CallFrame;
  return run.level(step.levels[0] ?? [], own.level, `${path}/`);
}

export async function runRoute(
  node: RouteNode,
  { run, step, frame, path }: RunningNode,
): Promise<unknown> {
  if (frame.inner === undefined) {
    const key = String(await run.run(keyPath(path), step.work, frame.value));
    frame.inner = { key, level: newFrame(frame.value) };
  }
  const own = frame.inner as RouteFrame;
  const index = node.cases.findIndex(({ key }) => key === own.key);
  if (index < 0 && node.otherwise === undefined) {
    const known = node.cases.map(({ key }) => `"${key}"`).join(", ");
    const message = `Route "${path}" has no case for the key "${own.key}"; it has ${known}.`;
    throw nodeError("INVALID_ARGUMENT", message, path);
  }
  const nodes = step.levels.at(index) ?? []; // `otherwise` is the last level, index -1.
  const prefix = branchPrefix(path, index < 0 ? OTHERWISE : own.key);
  const result = await run.level(nodes, own.level, prefix);
  return node.envelope === true ? { branch: own.key, result } : result;
}

export async function runLoop(
  node: LoopNode,
  { run, step, frame, path }: RunningNode,
): Promise<unknown> {
  const own = (frame.inner ??= { iteration: 0, level: newFrame(frame.value) }) as LoopFrame;
  const nodes = step.levels[0] ?? [];
  for (;;) {
    if (run.compaction.isDue) await run.compaction.beforeWork(path);
    const ended = await run.level(nodes, own.level, roundPrefix(path, own.iteration));
    const { loop, value } = resultOf(ended, path);
    if (loop === "done") return value;
    if (own.iteration + 1 >= node.maxIterations) {
      if (node.onMax === "exitWithLast") return value;
      const message = `Loop "${path}" did not return done(…) within ${node.maxIterations} rounds (maxIterations).`;
      throw nodeError("LIMIT_EXCEEDED", message, path);
    }
    own.iteration++;
    own.level = newFrame(value);
  }
}

function resultOf(ended: unknown, path: string): LoopResult {
  try {
    return parseLoopResult(ended, path);
  } catch (error) {
    throw withNode(error, path);
  }
}

export async function runCatch({ run, step, frame, path, prefix }: RunningNode): Promise<unknown> {
  const own = (frame.inner ??= { phase: "watched", level: newFrame(frame.value) }) as CatchFrame;
  if (own.phase === "watched") {
    try {
      return await run.level(step.levels[0] ?? [], own.level, prefix);
    } catch (error) {
      if (isCancel(error)) throw error;
      const failures = await run.compensations.undo(prefix);
      const listed = failures.length === 0 ? {} : { compensationFailures: failures };
      own.level = newFrame({ ...failureData(error, path), input: frame.value, ...listed });
      own.phase = "handler";
    }
  }
  return run.level(step.levels[1] ?? [], own.level, `${path}/`);
}
