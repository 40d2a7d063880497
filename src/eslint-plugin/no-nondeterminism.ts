// Rule: no calls in orchestration code whose answer differs from run to run.
//   What the guards derive (dates, `Math.random`, `crypto.randomUUID`) gives the same answer at every replay and is
//   left alone, unless the option asks for the context's own calls.

import type { Rule } from "eslint";
import { OrchestrationCode } from "./orchestration-code.ts";
import { usesIn, type Use } from "./uses.ts";

const SLEEP = "ctx.sleep";
const TIMEOUT = "ctx.race with ctx.sleep";
const CHANCE = "ctx.random or ctx.uuid, or a step (ctx.step)";
const CLOCK = "ctx.now";
const STEP = "a step (ctx.step), or pass it as input";

/** What a call of each is replaced by. A name that ends in `.` stands for everything under it. */
const CALLS: Readonly<Record<string, string>> = {
  setTimeout: SLEEP,
  setInterval: SLEEP,
  setImmediate: SLEEP,
  "timers/promises.": SLEEP,
  "AbortSignal.timeout": TIMEOUT,
  "crypto.getRandomValues": CHANCE,
  "crypto.randomBytes": CHANCE,
  "crypto.randomFill": CHANCE,
  "crypto.randomFillSync": CHANCE,
  "crypto.randomInt": CHANCE,
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
  FinalizationRegistry: "ctx.defer or finally: garbage collection is not replayed",
};

/** What may not even be read. */
const READS: Readonly<Record<string, string>> = {
  "performance.timeOrigin": CLOCK,
  "process.argv": STEP,
  "process.env": STEP,
  "process.pid": STEP,
  "process.ppid": STEP,
};

/** What the guards derive, and what the context says directly: a method, and what is called on its result. */
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

export const noNondeterminism: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: {
      description: "Disallow what gives another answer at every run in orchestration code.",
      recommended: true,
    },
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
      differs: "{{name}} cannot be replayed: it is different at every run. Use {{instead}}.",
      derived: "{{name}} is derived from history here, and only here. Say so: use {{instead}}.",
      replace: "Use {{instead}}.",
    },
  },
  create(context) {
    const code = OrchestrationCode.of(context);
    if (code.isEmpty) return {};
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
};

function insteadOf({ name, call }: Use): string | null {
  if (call === null) return READS[name] ?? null;
  const family = Object.keys(CALLS).find((key) => key.endsWith(".") && name.startsWith(key));
  return CALLS[family ?? name] ?? null;
}

/** `new Date(x)` is the same everywhere; `Date(x)` is the time. */
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
  // Where it began differs: a performance time is no moment.
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
