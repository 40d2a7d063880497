// The messages that callers send to a limiter.
//   - A caller sends the request ENTER and, if it holds a slot, the event "leave". Callers whose execution began before
//        there were requests send the event "ask" instead, and a "leave" with their rule.
//   - Stores hold these messages, so their names and members must not change.

import { event } from "../core/define/definitions.ts";
import { request } from "../core/define/request.ts";
import { LIMITER_REQUEST } from "../core/history/awaited-event.ts";
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

/** A caller asks for a slot. The limiter answers when it admits the caller. */
export interface Enter {
  /** Identifies this one call of `limiter.run` among all calls of the caller's instance. */
  readonly token: string;
}
/** The limiter's answer to an admitted caller. `holds`: the caller has a slot, and must send "leave" at its end. */
export interface Admission {
  readonly holds: boolean;
}
export const ENTER = request<Enter, Admission>(LIMITER_REQUEST);

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
/** A caller releases its slot, or no longer waits for one. */
export interface Departure {
  readonly token: string;
  /** The caller's instance. */
  readonly id: string;
}
/** The departure of a caller that asked with an event. */
export interface Leave extends Departure, Ruled {}
export const ASK = event<Ask>("ask");
export const LEAVE = event<Departure | Leave>("leave");
/** The token of a "leave" event that makes an event loop continue as new (event-loop.ts). No caller has it. */
export const MOVE = "limiter.move";

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
  isLeave: (value): value is Leave => isDeparture(value) && isRuled(value),
};

/** The checks of executions that started before STRICT existed. They must replay with the same checks. */
export const LENIENT: MessageChecks = {
  isAsk: (value): value is Ask =>
    isRecord(value) && isRecord(value["ticket"]) && isRecord(value["rule"]),
  isLeave: (value): value is Leave => isRecord(value) && isRecord(value["rule"]),
};

function isDeparture(value: unknown): value is Readonly<Record<string, unknown>> & Departure {
  return isRecord(value) && typeof value["token"] === "string" && typeof value["id"] === "string";
}

/** Whether the value is the "leave" of a caller that asked with a request. Its members are exactly those. */
export function isRequester(value: unknown): value is Departure {
  return isDeparture(value) && !("rule" in value);
}

/** Whether an answer or an event's value is an admission. Any client can raise an event. */
export function isAdmission(value: unknown): value is Admission {
  return isRecord(value) && typeof value["holds"] === "boolean";
}

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
