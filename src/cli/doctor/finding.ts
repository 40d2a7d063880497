// A finding of `perdure doctor` or `perdure backup`: one line, with a hint if something is wrong.

import { defined } from "../../core/values/defined.ts";

export type Level = "ok" | "warning" | "problem";

export interface Finding {
  /** The name of the check. Scripts rely on it: it does not change. */
  readonly check: string;
  readonly level: Level;
  readonly message: string;
  readonly hint?: string;
  /** The ids or lines that the finding concerns. */
  readonly details?: readonly string[];
}

export function ok(check: string, message: string): Finding {
  return { check, level: "ok", message };
}
export function warning(check: string, message: string, hint?: string): Finding {
  return { check, level: "warning", message, ...defined({ hint }) };
}
export function problem(
  check: string,
  message: string,
  rest: Pick<Finding, "hint" | "details"> = {},
): Finding {
  return { check, level: "problem", message, ...rest };
}
