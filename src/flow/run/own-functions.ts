// The inline functions of a flow: the activities that run them, and their lookup for a definition read from
// JSON.

import { activity, type Activity, type Orchestration } from "../../core/define/definitions.ts";
import { defined } from "../../core/values/defined.ts";
import type { FlowCode, OwnFunction } from "../build/compile.ts";
import type { FlowDefinition } from "../data/definition.ts";
import { hashOf, ownActivityName } from "../data/hash.ts";
import { walk, nodeWorkOf } from "../data/paths.ts";

type Given = Activity<never, unknown> | Orchestration<never, unknown> | OwnFunction["fn"];
/** A list of activities and orchestrations, or an object of these by name and of functions by path. */
export type Functions =
  | readonly (Activity<never, unknown> | Orchestration<never, unknown>)[]
  | Readonly<Record<string, Given>>;

export function ownActivity(
  flow: { readonly name: string; readonly hash: string },
  path: string,
  own: OwnFunction,
): Activity<never, unknown> {
  const { fn, ...schemas } = own;
  const made = activity(ownActivityName(flow.name, flow.hash, path), fn);
  return Object.freeze({ ...made, defaults: schemas });
}

/**
 * Finds the functions, activities and orchestrations of a definition. Adds a problem for each missing
 * function.
 */
export function findOwn(
  definition: FlowDefinition,
  given: Functions,
  problems: string[],
): FlowCode {
  const byName = new Map<string, Given>(
    isList(given) ? given.map((each) => [each.name, each]) : Object.entries(given),
  );
  const hash = hashOf(definition);
  const functions = new Map<string, OwnFunction>();
  const activities = new Map<string, Activity<never, unknown>>();
  const targets = new Map<string, Orchestration<never, unknown>>();
  for (const { node, path: nodePath } of walk(definition.nodes)) {
    if (node.kind === "child") {
      const target = byName.get(node.orchestration);
      if (isKind(target, "orchestration")) targets.set(target.name, target);
    }
    for (const { path, definition: work } of nodeWorkOf(node, nodePath)) {
      if (work.activity !== undefined) {
        const known = byName.get(work.activity);
        if (isKind(known, "activity")) activities.set(known.name, known);
        continue;
      }
      const own = byName.get(path) ?? byName.get(ownActivityName(definition.name, hash, path));
      if (typeof own === "function") functions.set(path, { fn: own });
      else if (isKind(own, "activity")) functions.set(path, fromActivity(own));
      else problems.push(`no function given for "${path}"`);
    }
  }
  return { functions, activities: [...activities.values()], targets };
}

function fromActivity({ handler, defaults }: Activity<never, unknown>): OwnFunction {
  const { input, output } = defaults;
  return { fn: handler, ...defined({ input, output }) };
}

function isList(given: Functions): given is Extract<Functions, readonly unknown[]> {
  return Array.isArray(given);
}

function isKind<K extends "activity" | "orchestration">(
  value: Given | undefined,
  kind: K,
): value is Extract<Given, { readonly kind: K }> {
  return typeof value === "object" && value.kind === kind;
}
