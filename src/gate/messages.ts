// Messages: what a gate is told by those who pass.

import { event } from "../core/definitions.ts";
import type { GateRule } from "./rule.ts";

/** Whoever wants to enter: an execution of an instance, and a word of its own for this one passage. */
export interface Ticket {
  readonly token: string;
  readonly id: string;
  readonly runId: string;
  readonly execution: number;
  /** When it first asked, by its own clock. */
  readonly askedAt: number;
}

/** The rule of the sender's code, and when he sent it: of several the latest counts. */
export interface Ruled {
  readonly rule: GateRule;
  readonly sentAt: number;
}
/** Somebody wants to enter. `run`: of which life of the gate; it may have ended and begun again meanwhile. */
export interface Ask extends Ruled {
  readonly ticket: Ticket;
  readonly run: string;
}
/** Somebody leaves, or no longer wants to enter. */
export interface Leave extends Ruled {
  readonly token: string;
  /** The instance. */
  readonly id: string;
}
export const ASK = event<Ask>("ask");
export const LEAVE = event<Leave>("leave");

/** Whether a message is what its sender should send: anybody may raise an event. */
export function isAsk(value: unknown): value is Ask {
  return isRecord(value) && isRecord(value["ticket"]) && isRecord(value["rule"]);
}
export function isLeave(value: unknown): value is Leave {
  return isRecord(value) && isRecord(value["rule"]);
}
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
