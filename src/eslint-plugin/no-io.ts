// Rule no-io: no input or output in orchestration code.
//   - Every replay would repeat it, and the history does not contain its result. Activities and steps must
//        do it.

import { orchestrationRule } from "./orchestration-code.ts";
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

export const noIo = orchestrationRule(
  {
    description: "Disallow input and output in orchestration code.",
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
      io: "Every replay would call {{name}} again. Call it in an activity (ctx.run) or a step (ctx.step).",
    },
  },
  (context, code) => {
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
);
