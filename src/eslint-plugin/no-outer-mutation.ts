// Rule: what replay does not rebuild is not changed.
//   An orchestration's code runs again at every replay, so a variable outside of it would be changed again; a
//   step's does not run again, so a variable of the orchestration would stay as it was.
//   OM1. An assignment is reported wherever it can be seen; a method call only where the variable is evidently a
//        list, a map or a set: `add` and `set` mean other things elsewhere.

import type { Rule, Scope } from "eslint";
import { initialValue } from "./names.ts";
import { OrchestrationCode } from "./orchestration-code.ts";
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

export const noOuterMutation: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: {
      description: "Disallow changing variables that replay does not rebuild.",
      recommended: true,
    },
    schema: [],
    messages: {
      outer:
        "{{name}} lives outside of the orchestration and would be changed again at every replay. Keep it inside, or use ctx.kv or ctx.setStatus.",
      step: "{{name}} belongs to the orchestration; when it is replayed this function is not run, and {{name}} not changed. Return the value instead.",
    },
  },
  create(context) {
    const code = OrchestrationCode.of(context);
    if (code.isEmpty) return {};
    return {
      Program() {
        for (const [identifier, reference] of code.names.references) {
          if (reference.init === true || identifier.type !== "Identifier") continue;
          const place = code.placeOf(identifier);
          if (place === null || place.outermost === null) continue;
          const variable = code.names.variableOf(identifier);
          if (!reference.isWrite() && !isChanged(code, identifier, variable)) continue;
          const isIn = (outer: Syntax): boolean =>
            variable !== null && variable.identifiers.some((declared) => isWithin(declared, outer));
          const data = { name: identifier.name };
          if (place.kind === "orchestration") {
            if (!isIn(place.outermost))
              context.report({ node: identifier, messageId: "outer", data });
          } else if (isIn(place.outermost) && !isIn(place.work)) {
            context.report({ node: identifier, messageId: "step", data });
          }
        }
      },
    };
  },
};

/** Whether something of the variable's value is assigned, deleted, or changed by a method. */
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

/** OM1 */
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

/** What a value evidently is. */
function kindOf(value: Syntax): string | null {
  if (value.type === "ArrayExpression") return "Array";
  if (value.type === "NewExpression" && value.callee.type === "Identifier") {
    return value.callee.name in METHODS ? value.callee.name : null;
  }
  return null;
}
