// Runs a call through its layers. The first layer is the outermost.
//   - layers.1: A layer gets the call, frozen, and `next`. It may call `next` once, with a copy of the call in which only
//       those members differ that the kind may change.
//   - layers.2: A layer of a start, a raise or an ask must call `next`, or throw: a call is never dropped silently. The
//       result is that of the call itself. An error of the call is not hidden by a layer that catches it.
//   - layers.3: A layer of an activity or a step decides the result. It need not call `next`.

import { checkMembers, invalidArgument } from "../checks.ts";
import { showValue } from "../ids/ids.ts";
import type { ActivityCall, AskCall, Layer, RaiseCall, StartCall, StepCall } from "./middleware.ts";

type Call = StartCall | RaiseCall | AskCall | ActivityCall | StepCall;
type Member = "input" | "options" | "context";
type Kind = Call["kind"];

const START_CHANGES: readonly Member[] = ["input", "options", "context"];
/** What the layers of a kind may change. */
const CHANGES: Readonly<Record<Kind, readonly Member[]>> = {
  start: START_CHANGES,
  enqueue: START_CHANGES,
  startMany: START_CHANGES,
  enqueueMany: START_CHANGES,
  raise: ["input", "options"],
  ask: START_CHANGES,
  activity: ["input"],
  step: [],
};
const MEMBERS = {
  kind: true,
  name: true,
  input: true,
  options: true,
  context: true,
  instanceId: true,
} as const;

/** A call of a client (layers.2). `last`: the call itself. */
export function passLayers<C extends StartCall | RaiseCall | AskCall, Result>(
  layers: readonly Layer<C, Result>[],
  call: C,
  last: (call: C) => Promise<Result>,
): Promise<Result> {
  const enter = async (index: number, current: C): Promise<Result> => {
    const layer = layers[index];
    if (layer === undefined) return last(current);
    let passed: Promise<Result> | undefined;
    const next = onlyOnce(current, (changed) => enter(index + 1, changed));
    const value = await layer(Object.freeze(current), (changed) => {
      const going = next(changed);
      going.catch(() => undefined); // reported below, also if the layer does not wait for it
      passed ??= going;
      return going;
    });
    if (passed === undefined) {
      throw broken(current, "must call next, or throw an error to refuse the call");
    }
    const result = await (passed as Promise<Result>); // the compiler does not see that `next` sets it
    if (current.kind !== "raise" && !Object.is(value, result)) {
      throw broken(current, `must return the result of next; got ${showValue(value)}`);
    }
    return result;
  };
  return enter(0, call);
}

/** An attempt (layers.3). `last`: the function of the activity or step. */
export function passAttempt<C extends ActivityCall | StepCall>(
  layers: readonly Layer<C, unknown>[],
  call: C,
  last: (call: C) => unknown,
): unknown {
  const enter = (index: number, current: C): unknown => {
    const layer = layers[index];
    if (layer === undefined) return last(current);
    return layer(
      Object.freeze(current),
      onlyOnce(current, async (changed) => enter(index + 1, changed)),
    );
  };
  return enter(0, call);
}

/** `next` of one layer (layers.1). */
function onlyOnce<C extends Call, Result>(
  call: C,
  go: (changed: C) => Promise<Result>,
): (changed?: C) => Promise<Result> {
  let isCalled = false;
  return async (changed = call) => {
    if (isCalled) throw broken(call, "must call next only once");
    isCalled = true;
    checkChanged(call, changed);
    return go(changed);
  };
}

function checkChanged(call: Call, changed: Call): void {
  if (changed === call) return;
  const given: unknown = changed;
  if (typeof given !== "object" || given === null || !("kind" in given)) {
    const copy = "next must be given nothing, or a copy of the call, such as { ...call, input }";
    throw invalidArgument(`${copy}; got ${showValue(given)}.`);
  }
  checkMembers(changed, MEMBERS as never, `the call of ${call.kind} "${call.name}"`);
  const changes: readonly string[] = CHANGES[call.kind];
  const before: Partial<Record<string, unknown>> = { ...call };
  const after: Partial<Record<string, unknown>> = { ...changed };
  for (const member of Object.keys(MEMBERS)) {
    if (changes.includes(member) || Object.is(before[member], after[member])) continue;
    throw broken(call, `must not change ${member} of the call`);
  }
}

function broken({ kind, name }: Call, rule: string): Error {
  const hook = kind.startsWith("enqueue") ? "start" : kind;
  return invalidArgument(`The middleware "${hook}" around the ${kind} of "${name}" ${rule}.`);
}
