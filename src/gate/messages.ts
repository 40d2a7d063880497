// Messages: what a gate is told by those who pass.

import { event } from "../core/definitions.ts";
import { isGateRule, type GateRule } from "./rule.ts";

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

/** The two checks of a message. Any client can raise an event, so each message is checked before it is used. */
export interface MessageChecks {
  isAsk(value: unknown): value is Ask;
  isLeave(value: unknown): value is Leave;
}

/** The form of a message, in full. */
export const STRICT: MessageChecks = {
  isAsk: (value): value is Ask =>
    isRecord(value) &&
    isTicket(value["ticket"]) &&
    typeof value["run"] === "string" &&
    isRuled(value),
  isLeave: (value): value is Leave =>
    isRecord(value) &&
    typeof value["token"] === "string" &&
    typeof value["id"] === "string" &&
    isRuled(value),
};

/** As executions that began before STRICT existed checked them; they replay with this. */
export const LENIENT: MessageChecks = {
  isAsk: (value): value is Ask =>
    isRecord(value) && isRecord(value["ticket"]) && isRecord(value["rule"]),
  isLeave: (value): value is Leave => isRecord(value) && isRecord(value["rule"]),
};

export function isTicket(value: unknown): value is Ticket {
  return (
    isRecord(value) &&
    ["token", "id", "runId"].every((name) => typeof value[name] === "string") &&
    ["execution", "askedAt"].every((name) => Number.isFinite(value[name]))
  );
}

function isRuled(value: Readonly<Record<string, unknown>>): boolean {
  return isGateRule(value["rule"]) && Number.isFinite(value["sentAt"]);
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
