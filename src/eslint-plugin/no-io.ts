// Rule: no input or output in orchestration code.
//   It would happen again at every replay, and its answer is not in the history. Activities and steps do it.

import type { Rule } from "eslint";
import { OrchestrationCode } from "./orchestration-code.ts";
import { usesIn, type Use } from "./uses.ts";

const MODULES = [
  "child_process",
  "cluster",
  "dgram",
  "dns",
  "dns/promises",
  "fs",
  "fs/promises",
  "http",
  "http2",
  "https",
  "net",
  "readline",
  "readline/promises",
  "sqlite",
  "tls",
  "worker_threads",
];
const GLOBALS: ReadonlySet<string> = new Set([
  "EventSource",
  "WebSocket",
  "XMLHttpRequest",
  "fetch",
  "process.kill",
  "process.send",
]);

interface Options {
  readonly modules?: readonly string[];
}

export const noIo: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: { description: "Disallow input and output in orchestration code.", recommended: true },
    schema: [
      {
        type: "object",
        properties: {
          modules: { type: "array", items: { type: "string" }, uniqueItems: true },
        },
        additionalProperties: false,
      },
    ],
    messages: {
      io: "{{name}} would be called again at every replay. Call it in an activity (ctx.run) or a step (ctx.step).",
    },
  },
  create(context) {
    const code = OrchestrationCode.of(context);
    if (code.isEmpty) return {};
    const { modules = [] } = (context.options[0] ?? {}) as Options;
    const refused = new Set([...MODULES, ...modules.map((name) => name.replace(/^node:/, ""))]);
    const isIo = ({ name, module, call }: Use): boolean =>
      call !== null && (GLOBALS.has(name) || (module !== null && refused.has(module)));
    return {
      Program() {
        for (const use of usesIn(code)) {
          if (!isIo(use)) continue;
          const { node, name } = use;
          context.report({ node, messageId: "io", data: { name } });
        }
      },
    };
  },
};
