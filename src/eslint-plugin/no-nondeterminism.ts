// Rule no-nondeterminism: orchestration code must not call functions whose result differs from run to run.
//   - The guards derive dates, `Math.random` and `crypto.randomUUID` from history, so these return the same
//        result at every replay. They are reported only with the option `derived: "report"`.

import type { Rule } from "eslint";
import { type OrchestrationCode, orchestrationRule } from "./orchestration-code.ts";
import { usesIn, type Use } from "./uses.ts";

const SLEEP = "ctx.sleep";
const TIMEOUT = "ctx.race with ctx.sleep";
const RANDOM = "ctx.random or ctx.uuid, or a step (ctx.step)";
const CLOCK = "ctx.now";
const STEP = "a step (ctx.step), or pass it as input";

/** The replacement of each call. A name that ends in `.` covers all its members. */
const CALLS: Readonly<Record<string, string>> = {
  setTimeout: SLEEP,
  setInterval: SLEEP,
  setImmediate: SLEEP,
  "timers/promises.": SLEEP,
  "AbortSignal.timeout": TIMEOUT,
  "crypto.getRandomValues": RANDOM,
  "crypto.randomBytes": RANDOM,
  "crypto.randomFill": RANDOM,
  "crypto.randomFillSync": RANDOM,
  "crypto.randomInt": RANDOM,
  "process.hrtime": CLOCK,
  "process.hrtime.bigint": CLOCK,
  "process.uptime": CLOCK,
  "Temporal.Now.": CLOCK,
  "process.cpuUsage": STEP,
  "process.cwd": STEP,
  "process.memoryUsage": STEP,
  "process.resourceUsage": STEP,
  "os.": STEP,
  WeakRef: "a strong reference: garbage collection is not replayed",
  FinalizationRegistry: "ctx.compensate or finally: garbage collection is not replayed",
};

/** Values that must not be read; the replacement of each. */
const READS: Readonly<Record<string, string>> = {
  "performance.timeOrigin": CLOCK,
  "process.argv": STEP,
  "process.env": STEP,
  "process.pid": STEP,
  "process.ppid": STEP,
};

/**
 * Calls that the guards derive from history, and their replacement: a method of the context and a call on
 * its result.
 */
const DERIVED: Readonly<Record<string, readonly [method: string, rest: string]>> = {
  Date: ["now", ""],
  "Date.now": ["now", ".getTime()"],
  "performance.now": ["now", ".getTime()"],
  "Math.random": ["random", ""],
  "crypto.randomUUID": ["uuid", ""],
};

interface Options {
  readonly derived?: "allow" | "report";
  readonly allow?: readonly string[];
}

export const noNondeterminism = orchestrationRule(
  {
    description: "Disallow calls whose result differs from run to run in orchestration code.",
    hasSuggestions: true,
    schema: [
      {
        type: "object",
        properties: {
          derived: { enum: ["allow", "report"] },
          allow: { type: "array", items: { type: "string" }, uniqueItems: true },
        },
        additionalProperties: false,
      },
    ],
    messages: {
      differs: "{{name}} cannot be replayed: its value differs from run to run. Use {{instead}}.",
      derived:
        "{{name}} is derived from history in orchestration code, and only there. Make that explicit: use {{instead}}.",
      replace: "Use {{instead}}.",
    },
  },
  (context, code) => {
    const { derived = "allow", allow = [] } = (context.options[0] ?? {}) as Options;
    return {
      Program() {
        for (const use of usesIn(code)) {
          const instead = insteadOf(use);
          const allowed = allow.some(
            (name) => use.name === name || use.name.startsWith(`${name}.`),
          );
          if (instead !== null && !allowed) {
            const { node, name } = use;
            context.report({ node, messageId: "differs", data: { name, instead } });
          } else if (derived === "report" && isDerived(use)) {
            reportDerived(context, code, use);
          }
        }
      },
    };
  },
);

function insteadOf({ name, call }: Use): string | null {
  if (call === null) return READS[name] ?? null;
  const family = Object.keys(CALLS).find((key) => key.endsWith(".") && name.startsWith(key));
  return CALLS[family ?? name] ?? null;
}

/** `new Date(x)` is deterministic. `Date(x)` ignores its argument and returns the current time. */
function isDerived({ name, call }: Use): boolean {
  if (call === null || DERIVED[name] === undefined) return false;
  return name !== "Date" || call.type === "CallExpression" || call.arguments.length === 0;
}

function reportDerived(context: Rule.RuleContext, code: OrchestrationCode, use: Use): void {
  const { name, call } = use;
  const [method, rest] = DERIVED[name] ?? [];
  if (call === null || method === undefined || rest === undefined) return;
  const isText = name === "Date" && call.type === "CallExpression";
  const ctx = code.contextNameAt(call);
  const expression = `${ctx ?? "ctx"}.${method}()${isText ? ".toString()" : rest}`;
  // performance.now() counts from the start of the process, ctx.now() from 1970: no automatic replacement.
  const isSame = name !== "performance.now";
  context.report({
    node: call,
    messageId: "derived",
    data: { name, instead: `ctx.${method}` },
    suggest:
      ctx === null || !isSame
        ? []
        : [
            {
              messageId: "replace",
              data: { instead: expression },
              fix: (fixer) => fixer.replaceText(call, expression),
            },
          ],
  });
}
