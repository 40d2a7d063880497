// Helpers of the builder: turn the arguments of a builder method into planned nodes.

import { unknownMember, type Members } from "../../core/checks.ts";
import { isActivity } from "../../core/define/definitions.ts";
import { LEVELS_MAX, TOO_DEEP } from "../data/paths.ts";
import type { ChildOptions, ForkOptions, LoopOptions, WaitOptions } from "./builder-types.ts";
import type { Plan, PlannedBranch, PlannedNode, PlannedWork } from "./plan.ts";

export const FORK_OPTIONS: Members<ForkOptions> = { onError: true };
export const LOOP_OPTIONS: Members<LoopOptions> = { maxIterations: true, onMax: true };
export const WAIT_OPTIONS: Members<WaitOptions> = { timeout: true, onTimeout: true };
export const CHILD_OPTIONS: Members<ChildOptions> = {
  onParentClose: true,
  version: true,
  priority: true,
};

/** One mistake per unknown option of a node. */
export function unknownOptions(
  given: unknown,
  members: object,
  what: string,
): readonly PlannedNode[] {
  if (given === undefined) return [];
  if (typeof given !== "object" || given === null) {
    return [mistake(`the options of ${what} must be an object`)];
  }
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(members, name));
  return unknown.map((name) => mistake(unknownMember(name, members, what)));
}

/** For methods whose id is optional: a string as first argument is the id. */
export function idAndRest(
  given: readonly unknown[],
  idOf: (first: unknown) => string,
): { readonly id: string; readonly rest: readonly unknown[] } {
  const [first, ...rest] = given;
  // A string alone is a target, not an id. The types do not allow child("audit").
  if (typeof first === "string" && rest.length > 0) return { id: first, rest };
  return { id: idOf(first), rest: given };
}

/** The name of a definition, which is the default id of its node. */
export function nameOf(definition: unknown): string {
  if (typeof definition !== "object" || definition === null || !("name" in definition)) return "";
  return typeof definition.name === "string" ? definition.name : "";
}

/** The default id of a task: the name of the activity or function, or its position on the level. */
export function idOfFunction(run: unknown, index: number): string {
  if (isActivity(run)) return run.name;
  const name = typeof run === "function" ? run.name : "";
  return name === "" ? `step-${index + 1}` : name;
}

export function workOf(run: unknown, options: unknown): PlannedWork {
  if (options === undefined) return { run, options: {} };
  if (typeof options !== "object" || options === null) {
    return { run, options: {}, hasNoOptions: true };
  }
  return { run, options: { ...(options as PlannedWork["options"]) } }; // `build()` checks them.
}

/** The number of nested branch functions that are running now. Building is synchronous. */
let depth = 0;

export function branchPlan(branch: unknown, start: object, what: string): Plan {
  if (typeof branch !== "function")
    return [mistake(`${what} must be a function: (f) => f.then(…)`)];
  if (depth > LEVELS_MAX) return [mistake(TOO_DEEP)];
  depth += 1;
  let built: unknown;
  try {
    built = (branch as (f: object) => unknown)(start);
  } finally {
    depth -= 1;
  }
  if (typeof built === "object" && built !== null && "~plan" in built)
    return built["~plan"] as Plan; // Only builders have this member.
  return [mistake(`${what} must return the builder: (f) => f.then(…)`)];
}

export function branchPlans(branches: unknown, start: object): readonly PlannedBranch[] {
  if (typeof branches !== "object" || branches === null) {
    return [{ key: "?", plan: [mistake("branches must be an object of functions")] }];
  }
  return Object.entries(branches).map(([key, branch]) => ({
    key,
    plan: branchPlan(branch, start, `branch "${key}"`),
  }));
}

export function mistake(message: string): PlannedNode {
  return { kind: "mistake", id: "", message };
}
