// Rule no-outer-mutation: code must not change variables that replay does not rebuild.
//   - Orchestration code runs again at every replay, so it would change an outer variable again.
//   - A step does not run again at replay, so a change of the orchestration's variable would be lost.
//   - no-outer-mutation.1: Every visible assignment is reported. A method call is reported only if the
//        variable is known to be an array, a map or a set, because `add` and `set` may mean something else
//        on other objects.

import type { Scope } from "eslint";
import { initialValue } from "./names.ts";
import { type OrchestrationCode, orchestrationRule } from "./orchestration-code.ts";
import {
  callOf,
  chainFrom,
  isWithin,
  memberName,
  parentOf,
  unwrap,
  wrapped,
  type Syntax,
} from "./syntax.ts";

const LIST_METHODS = [
  "copyWithin",
  "fill",
  "pop",
  "push",
  "reverse",
  "shift",
  "sort",
  "splice",
  "unshift",
];
const MAP_METHODS = ["add", "clear", "delete", "set"];
const METHODS: Readonly<Record<string, readonly string[]>> = {
  Array: LIST_METHODS,
  Map: MAP_METHODS,
  Set: MAP_METHODS,
  WeakMap: MAP_METHODS,
  WeakSet: MAP_METHODS,
};
const CHANGERS: ReadonlySet<string> = new Set(["Object.assign", "Object.defineProperty"]);

export const noOuterMutation = orchestrationRule(
  {
    description: "Disallow changing variables that replay does not rebuild.",
    messages: {
      outer:
        "{{name}} is declared outside the orchestration; every replay would change it again. Declare it inside, or use ctx.kv or ctx.setStatus.",
      step: "{{name}} belongs to the orchestration. A replay does not run this function, so the change of {{name}} would be lost. Return the value instead.",
    },
  },
  (context, code) => {
    return {
      Program() {
        for (const [identifier, reference] of code.names.references) {
          if (reference.init === true || identifier.type !== "Identifier") continue;
          const region = code.regionOf(identifier);
          if (region === null || region.outermost === null) continue;
          const variable = code.names.variableOf(identifier);
          if (!reference.isWrite() && !isChanged(code, identifier, variable)) continue;
          const isIn = (outer: Syntax): boolean =>
            variable !== null && variable.identifiers.some((declared) => isWithin(declared, outer));
          const data = { name: identifier.name };
          if (region.kind === "orchestration") {
            if (!isIn(region.outermost))
              context.report({ node: identifier, messageId: "outer", data });
          } else if (isIn(region.outermost) && !isIn(region.work)) {
            context.report({ node: identifier, messageId: "step", data });
          }
        }
      },
    };
  },
);

/** Whether a member of the variable's value is assigned, deleted, or changed by a method. */
function isChanged(
  code: OrchestrationCode,
  identifier: Syntax,
  variable: Scope.Variable | null,
): boolean {
  const chain = chainFrom(identifier);
  const whole = chain.at(-1) ?? identifier;
  if (chain.length > 1 && isTarget(wrapped(whole))) return true;
  const parent = parentOf(wrapped(whole));
  if (parent?.type === "CallExpression" && parent.arguments[0] === wrapped(whole)) {
    const origin = code.names.originOf(parent.callee);
    return origin?.module === null && CHANGERS.has(origin.path.join("."));
  }
  return variable !== null && callOf(whole) !== null && isChangedByCall(variable, chain);
}

/** `x.y = …`, `x.y++`, `delete x.y`, `[x.y] = …` */
function isTarget(node: Syntax): boolean {
  const parent = parentOf(node);
  if (parent?.type === "AssignmentExpression") return parent.left === node;
  if (parent?.type === "UpdateExpression") return true;
  if (parent?.type === "UnaryExpression") return parent.operator === "delete";
  if (parent?.type === "ForOfStatement" || parent?.type === "ForInStatement") {
    return parent.left === node;
  }
  if (parent?.type === "ArrayPattern" || parent?.type === "RestElement") return true;
  if (parent?.type === "AssignmentPattern") return parent.left === node;
  return (
    parent?.type === "Property" &&
    parent.value === node &&
    parentOf(parent)?.type === "ObjectPattern"
  );
}

/** Whether a method call changes an array, map or set (no-outer-mutation.1). */
function isChangedByCall(variable: Scope.Variable, chain: readonly Syntax[]): boolean {
  const names = chain.flatMap((node) =>
    node.type === "MemberExpression" ? [memberName(node)] : [],
  );
  const method = names.pop();
  let value = initialValue(variable);
  for (const name of names) value = value === null ? null : propertyOf(value, name);
  const kind = value === null ? null : kindOf(value);
  return typeof method === "string" && kind !== null && METHODS[kind]?.includes(method) === true;
}

function propertyOf(value: Syntax, name: string | null): Syntax | null {
  if (value.type !== "ObjectExpression" || name === null) return null;
  for (const property of value.properties) {
    if (property.type === "Property" && memberName(property) === name)
      return unwrap(property.value);
  }
  return null;
}

/** The class of a value. Null: not known from the text. */
function kindOf(value: Syntax): string | null {
  if (value.type === "ArrayExpression") return "Array";
  if (value.type === "NewExpression" && value.callee.type === "Identifier") {
    return value.callee.name in METHODS ? value.callee.name : null;
  }
  return null;
}
