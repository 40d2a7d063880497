// From the arguments of a builder's call to what it collects.

import { stranger, type Members } from "../core/known-members.ts";
import { LEVELS_MAX, TOO_DEEP } from "./paths.ts";
import type { ChildOptions, ForkOptions, LoopOptions, WaitOptions } from "./builder-types.ts";
import {
  isActivity,
  type Plan,
  type PlannedBranch,
  type PlannedNode,
  type PlannedWork,
} from "./plan.ts";

export const FORK_OPTIONS: Members<ForkOptions> = { onError: true };
export const LOOP_OPTIONS: Members<LoopOptions> = { maxIterations: true, onMax: true };
export const WAIT_OPTIONS: Members<WaitOptions> = { timeout: true, onTimeout: true };
export const CHILD_OPTIONS: Members<ChildOptions> = {
  onParentClose: true,
  version: true,
  priority: true,
};

/** Mistakes: options that such a node does not know. */
export function strangersIn(given: unknown, members: object, what: string): readonly PlannedNode[] {
  if (given === undefined) return [];
  if (typeof given !== "object" || given === null) {
    return [mistake(`the options of ${what} are an object`)];
  }
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(members, name));
  return unknown.map((name) => mistake(stranger(name, members, what)));
}

/** Where an id may be left out it is the first argument if that is text. */
export function idAndRest(
  given: readonly unknown[],
  idOf: (first: unknown) => string,
): { readonly id: string; readonly rest: readonly unknown[] } {
  const [first, ...rest] = given;
  // A name alone is a target, not an id: child("audit") is no call that types allow.
  if (typeof first === "string" && rest.length > 0) return { id: first, rest };
  return { id: idOf(first), rest: given };
}

/** The name of a definition: what a node is called by that was given no id. */
export function nameOf(definition: unknown): string {
  if (typeof definition !== "object" || definition === null || !("name" in definition)) return "";
  return typeof definition.name === "string" ? definition.name : "";
}

/** An activity's name, a function's, or its place. */
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
  return { run, options: { ...(options as PlannedWork["options"]) } }; // judged by `build()`
}

/** Branches that are being built within each other. Building is synchronous. */
let depth = 0;

export function branchPlan(branch: unknown, start: object, what: string): Plan {
  if (typeof branch !== "function") return [mistake(`${what} is a function of a builder`)];
  if (depth > LEVELS_MAX) return [mistake(TOO_DEEP)];
  depth += 1;
  let built: unknown;
  try {
    built = (branch as (f: object) => unknown)(start);
  } finally {
    depth -= 1;
  }
  if (typeof built === "object" && built !== null && "~plan" in built)
    return built["~plan"] as Plan; // a builder's own
  return [mistake(`${what} must give back the builder: (f) => f.then(…)`)];
}

export function branchPlans(branches: unknown, start: object): readonly PlannedBranch[] {
  if (typeof branches !== "object" || branches === null) {
    return [{ key: "?", plan: [mistake("branches are given as an object of functions")] }];
  }
  return Object.entries(branches).map(([key, branch]) => ({
    key,
    plan: branchPlan(branch, start, `branch "${key}"`),
  }));
}

export function childNode(id: string, target: unknown, options: ChildOptions): PlannedNode {
  const { version, onParentClose, priority } = options;
  return { kind: "child", id, target, version, onParentClose, priority };
}

function mistake(message: string): PlannedNode {
  return { kind: "mistake", id: "", message };
}
