// The two messages that callers send to a limiter.
//   - Stores hold these messages, so their event names and members must not change.

import { event } from "../core/define/definitions.ts";
import { isStoredRule, type StoredRule } from "./rule.ts";

/** A request for a slot: the execution that asks, and a token that identifies this one call of `limiter.run`. */
export interface Ticket {
  readonly token: string;
  readonly id: string;
  readonly runId: string;
  readonly execution: number;
  /** When the caller first asked, by its own clock. */
  readonly askedAt: number;
}

/** The rule of the sender's code, and when it was sent. The limiter applies the rule that was sent last. */
export interface Ruled {
  readonly rule: StoredRule;
  readonly sentAt: number;
}
/**
 * A caller asks for a slot. `run` is the run id of the limiter instance that the caller saw; that instance may have
 * ended and been started again since.
 */
export interface Ask extends Ruled {
  readonly ticket: Ticket;
  readonly run: string;
}
/** A caller releases its slot, or withdraws its request. */
export interface Leave extends Ruled {
  readonly token: string;
  /** The caller's instance. */
  readonly id: string;
}
export const ASK = event<Ask>("ask");
export const LEAVE = event<Leave>("leave");

/** Any client can raise an event, so the limiter checks each message before it uses it. */
export interface MessageChecks {
  isAsk(value: unknown): value is Ask;
  isLeave(value: unknown): value is Leave;
}

/** Checks every member of a message. */
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

/** The checks of executions that started before STRICT existed. They must replay with the same checks. */
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
  return isStoredRule(value["rule"]) && Number.isFinite(value["sentAt"]);
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
