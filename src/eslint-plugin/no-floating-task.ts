// Rule no-floating-task: code must await, store or return a task of the context, or mark it with `void`.
//   - A call is recorded when it is made. The end of the orchestration cancels a task that was not awaited.

import type { Rule } from "eslint";
import { type OrchestrationCode, orchestrationRule } from "./orchestration-code.ts";
import {
  functionAround,
  isFunction,
  memberName,
  unwrap,
  type Syntax,
  type SyntaxOf,
} from "./syntax.ts";

/** Members of the context that return a task or a promise. */
const TASKS: ReadonlySet<string> = new Set([
  "all",
  "allSettled",
  "any",
  "ask",
  "call",
  "continueAsNew",
  "waitFor",
  "kv.of.get",
  "race",
  "run",
  "scope",
  "shield",
  "sleep",
  "step",
  "tx",
]);
const CHAINING: ReadonlySet<string> = new Set(["catch", "finally", "map", "then"]);

export const noFloatingTask = orchestrationRule(
  {
    description:
      "Require tasks of the context to be awaited, stored, returned or marked with void.",
    hasSuggestions: true,
    messages: {
      floating:
        "{{name}} is not awaited: if the orchestration ends first, the task is cancelled. Await it, or store the task.",
      continues:
        "The code continues after ctx.continueAsNew, which ends the execution only if its result is returned. Return the result.",
      forEach:
        "forEach does not await its callbacks. Use a for loop, or await ctx.all(list.map(…)) to run them concurrently.",
      addAwait: "Await the task.",
      addReturn: "Return the result.",
      addVoid: "Mark the task with void to show that it is not awaited on purpose.",
    },
  },
  (context, code) => {
    return {
      ExpressionStatement(node) {
        if (!code.isInOrchestration(node)) return;
        for (const expression of resultsOf(node.expression)) report(context, code, expression);
      },
      CallExpression(node) {
        if (code.isInOrchestration(node) && isForEachOfTasks(code, node)) {
          context.report({ node, messageId: "forEach" });
        }
      },
    };
  },
);

/** The subexpressions whose value can be the value of the whole expression. */
function resultsOf(expression: Syntax): readonly Syntax[] {
  const node = unwrap(expression);
  if (node.type === "LogicalExpression") return resultsOf(node.right);
  if (node.type === "SequenceExpression") return node.expressions.flatMap(resultsOf);
  if (node.type === "ConditionalExpression") {
    return [...resultsOf(node.consequent), ...resultsOf(node.alternate)];
  }
  return [node];
}

function report(context: Rule.RuleContext, code: OrchestrationCode, node: Syntax): void {
  const name = taskOf(code, node);
  if (name === null) return;
  const put = (text: string) => (fixer: Rule.RuleFixer) => fixer.insertTextBefore(node, text);
  const addVoid = { messageId: "addVoid", fix: put("void ") };
  const addAwait = { messageId: "addAwait", fix: put("await ") };
  if (name === "ctx.continueAsNew") {
    const suggest = [{ messageId: "addReturn", fix: put("return ") }];
    context.report({ node, messageId: "continues", suggest });
    return;
  }
  const suggest = functionAround(node)?.async === true ? [addAwait, addVoid] : [addVoid];
  context.report({ node, messageId: "floating", data: { name }, suggest });
}

/** The name of a call that returns a task whose failure is not handled. Null: no such task. */
function taskOf(code: OrchestrationCode, expression: Syntax): string | null {
  const node = unwrap(expression);
  if (node.type !== "CallExpression") return null;
  const callee = unwrap(node.callee);
  const path = code.contextPath(callee)?.join(".");
  if (path !== undefined) return TASKS.has(path) ? `ctx.${path}` : null;
  const helper = code.names.functionOf(callee);
  if (helper !== null && helper.async === true && code.isOrchestration(helper)) {
    return callee.type === "Identifier" ? callee.name : "the function";
  }
  if (callee.type !== "MemberExpression" || !CHAINING.has(memberName(callee) ?? "")) return null;
  return isHandled(node, memberName(callee)) ? null : taskOf(code, callee.object);
}

/** Whether a chained call handles a failure: `.catch(f)` or `.then(f, g)`. Such a task is not reported. */
function isHandled(call: SyntaxOf<"CallExpression">, method: string | null): boolean {
  return call.arguments.length >= (method === "catch" ? 1 : method === "then" ? 2 : Infinity);
}

/** `list.forEach(async …)`, or with a function that returns a task. */
function isForEachOfTasks(code: OrchestrationCode, node: SyntaxOf<"CallExpression">): boolean {
  const callee = unwrap(node.callee);
  if (callee.type !== "MemberExpression" || memberName(callee) !== "forEach") return false;
  const [argument] = node.arguments;
  const fn = argument === undefined ? null : unwrap(argument);
  if (!isFunction(fn)) return false;
  return fn.async === true || taskOf(code, fn.body) !== null;
}
