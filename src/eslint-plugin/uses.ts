// The globals and imports that orchestration code uses, each under one canonical name.
//   - The name does not depend on the import: `setTimeout` of `node:timers` is `setTimeout`, `env` of
//        `node:process` is `process.env`, `webcrypto` of `node:crypto` is `crypto`.

import type { Origin } from "./names.ts";
import type { OrchestrationCode } from "./orchestration-code.ts";
import { callOf, chainFrom, type Call, type Syntax } from "./syntax.ts";

export interface Use {
  readonly node: Syntax;
  readonly name: string;
  /** The module that the value comes from. Null: a global. */
  readonly module: string | null;
  /** The call or `new` expression. Null: the value is only read. */
  readonly call: Call | null;
}

/** Every use in orchestration code. `a.b.c` is a use of `a`, of `a.b` and of `a.b.c`. */
export function* usesIn(code: OrchestrationCode): Iterable<Use> {
  for (const [identifier] of code.names.references) {
    if (!code.isInOrchestration(identifier)) continue;
    for (const node of chainFrom(identifier)) {
      const origin = code.names.originOf(node);
      if (origin === null) break;
      const { module } = origin;
      yield { node, name: nameOf(origin), module, call: callOf(node) };
    }
  }
}

/** Modules whose exports are also globals. */
const GLOBAL_MODULES: ReadonlySet<string> = new Set(["perf_hooks", "timers"]);

function nameOf({ module, path }: Origin): string {
  if (module === null || GLOBAL_MODULES.has(module)) return path.join(".");
  if (module === "crypto" && path[0] === "webcrypto") return ["crypto", ...path.slice(1)].join(".");
  return [module, ...path].join(".");
}
