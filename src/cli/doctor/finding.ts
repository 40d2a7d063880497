// What a check-up found: one line each, with the way out where something is wrong.

export type Level = "ok" | "warning" | "problem";

export interface Finding {
  /** The check, by a name that stays. */
  readonly check: string;
  readonly level: Level;
  readonly message: string;
  readonly hint?: string;
  /** Ids or lines that it is about. */
  readonly details?: readonly string[];
}

export function ok(check: string, message: string): Finding {
  return { check, level: "ok", message };
}
export function warning(check: string, message: string, hint?: string): Finding {
  return { check, level: "warning", message, ...(hint === undefined ? {} : { hint }) };
}
export function problem(
  check: string,
  message: string,
  rest: Pick<Finding, "hint" | "details"> = {},
): Finding {
  return { check, level: "problem", message, ...rest };
}
