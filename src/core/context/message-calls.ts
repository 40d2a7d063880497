// Message calls: `ctx.ask`, `ctx.raise`, `ctx.startDetached`, `ctx.serve` and typed values. They check and encode
// arguments before anything is recorded (core.calls.1).

import { fromStored, parseAttribute, type AttributeValue } from "../define/attributes.ts";
import { checkChoice, checkFlag, checkFunction, checkMembers, invalidArgument } from "../checks.ts";
import type { Members } from "../checks.ts";
import type { EventDef } from "../define/definitions.ts";
import { checkValue, requestName, type AnyRequest, type ValueDef } from "../define/request.ts";
import { PerdureError } from "../errors/errors.ts";
import { withoutEngineStack } from "../errors/replayed-error.ts";
import type { AskSent, AskStarted } from "../history/events.ts";
import { parseInstanceId, parseInstanceReference, parseName } from "../ids/ids.ts";
import { callAsk, callSend } from "../replay/outgoing-calls.ts";
import { decodeNow } from "../replay/delivery.ts";
import { serveRequests, type Handler } from "../replay/requests/request-services.ts";
import {
  deleteKeyValue,
  setAttributes,
  setKeyValue,
  setStatus,
} from "../replay/run-state-commands.ts";
import type { Run } from "../replay/run.ts";
import { formatDuration, parseDuration } from "../time/duration.ts";
import { validateNow } from "../values/standard-schema.ts";
import {
  checkInput,
  priorityOf,
  startExtras,
  targetOf,
  timerBody,
  withInput,
  type AnyOrchestration,
} from "./call-bodies.ts";
import { firstOutcome } from "./combinators.ts";
import { changedContext } from "./start-context.ts";
import { callTimer } from "../replay/calls.ts";
import type {
  AskStartOptions,
  ContextAskOptions,
  ContextRaiseOptions,
  DetachedOptions,
  ServeOptions,
  Task,
} from "./types.ts";

type AnyEvent = EventDef<unknown, never> | string;

const DETACHED_OPTIONS: Members<DetachedOptions> = {
  id: true,
  version: true,
  priority: true,
  attributes: true,
  delay: true,
  onConflict: true,
  context: true,
};
const RAISE_OPTIONS: Members<ContextRaiseOptions> = { ifMissing: true, keepFor: true };
const ASK_OPTIONS: Members<ContextAskOptions> = { timeout: true, start: true };
const ASK_START: Members<AskStartOptions> = {
  orchestration: true,
  input: true,
  version: true,
  ifEnded: true,
  context: true,
};
const SERVE_OPTIONS: Members<ServeOptions> = { serial: true, validate: true };
const CONFLICTS = ["fail", "useExisting", "restart", "terminateExisting"] as const;

export function startDetached(
  run: Run,
  child: AnyOrchestration,
  input: unknown,
  options: DetachedOptions,
): Task<unknown> {
  run.currentScope();
  checkMembers(options, DETACHED_OPTIONS, "ctx.startDetached");
  const { onConflict = "fail" } = options;
  checkChoice(onConflict, CONFLICTS, "onConflict");
  const target = targetOf(child, options.version, "ctx.startDetached");
  const body = withInput(run, child, input, {
    kind: "DetachedStarted",
    ...target,
    id: parseInstanceId(options.id),
    ...priorityOf(options, `detached "${target.name}"`),
    ...startExtras(run, options, `detached "${target.name}"`),
    onConflict,
  });
  return callSend(run, body);
}

/** The event leaves with the commit of the turn (outgoing-calls.1). */
export function raiseEvent(
  run: Run,
  instanceId: string,
  event: AnyEvent,
  data: unknown,
  options: ContextRaiseOptions,
): Task<unknown> {
  run.currentScope();
  const id = parseInstanceReference(instanceId);
  const name = parseName(typeof event === "string" ? event : event?.name, "event name");
  checkMembers(options, RAISE_OPTIONS, "ctx.raise");
  checkChoice(options.ifMissing, ["fail", "keep"], "ifMissing");
  const { ifMissing, keepFor } = options;
  if (keepFor !== undefined && ifMissing !== "keep") {
    throw invalidArgument('keepFor requires ifMissing: "keep".');
  }
  const schema = typeof event === "string" ? undefined : event.schema;
  if (schema !== undefined) validateNow(schema, data, `event "${name}"`);
  const body = {
    kind: "EventRaised" as const,
    id,
    name,
    data: run.codec.encode(data), // as given: the receiver checks it again (received.3)
    ...(ifMissing === "keep" ? { ifMissing } : {}),
    ...(keepFor === undefined ? {} : { keepForMs: parseDuration(keepFor, "keepFor") }),
  };
  return callSend(run, body);
}

export function ask(
  run: Run,
  instanceId: string,
  request: AnyRequest | string,
  input: unknown,
  options: ContextAskOptions & { readonly chain?: readonly string[] },
): Task<unknown> {
  run.currentScope();
  const id = parseInstanceReference(instanceId);
  const name = requestName(request);
  const { chain, ...given } = options;
  checkMembers(given, ASK_OPTIONS, "ctx.ask");
  const { timeout, start } = given;
  const timeoutMs = timeout === undefined ? null : parseDuration(timeout, "timeout");
  const schema = typeof request === "string" ? undefined : request.input;
  if (schema !== undefined) validateNow(schema, input, `input of request "${name}"`);
  const body: AskSent = {
    kind: "AskSent",
    id,
    name,
    input: run.codec.encode(input),
    ...(start === undefined ? {} : { start: startOf(run, start) }),
    ...(chain === undefined ? {} : { chain }),
  };
  const asked = callAsk(run, body);
  return timeoutMs === null ? asked : orTimeout(run, asked, timeoutMs, body);
}

function startOf(run: Run, start: AskStartOptions): AskStarted {
  checkMembers(start, ASK_START, "start of ctx.ask");
  checkChoice(start.ifEnded, ["fail", "restart"], "ifEnded");
  const target = targetOf(start.orchestration, start.version, "start of ctx.ask");
  checkInput(start.orchestration, start.input);
  const input = run.codec.encode(start.input);
  const context = changedContext(run.state.context, start.context, run.codec, target.name);
  const restarts = start.ifEnded === "restart" ? { ifEnded: "restart" as const } : {};
  return { ...target, input, ...restarts, ...context };
}

/** The loser of the race is cancelled: a request that was not received is withdrawn. */
function orTimeout(
  run: Run,
  asked: Task<unknown>,
  timeoutMs: number,
  { id, name }: AskSent,
): Task<unknown> {
  const timer = callTimer(run, timerBody(run, timeoutMs));
  return firstOutcome(run, [asked, timer]).map(({ index, value }) => {
    if (index === 0) return value;
    const message = `Instance "${id}" did not answer request "${name}" within ${formatDuration(timeoutMs)}.`;
    throw withoutEngineStack(new PerdureError("TIMEOUT", message));
  });
}

export function serve(
  run: Run,
  request: AnyRequest | string,
  handler: Handler,
  options: ServeOptions,
): Task<unknown> {
  run.currentScope();
  checkFunction(handler, "ctx.serve");
  checkMembers(options, SERVE_OPTIONS, "ctx.serve");
  checkFlag(options.serial, "serial");
  if (options.validate !== undefined) checkFunction(options.validate, "validate of ctx.serve");
  return serveRequests(run, request, handler, options);
}

export function setValue(run: Run, value: ValueDef<unknown>, to: unknown): void {
  checkValue(value, "ctx.set");
  const { name, as, schema } = value;
  const checked =
    schema === undefined || to === undefined ? to : validateNow(schema, to, `value "${name}"`);
  if (as === "status") return setStatus(run, checked ?? null);
  if (as === "attribute") return setAttributes(run, { [name]: attributeOf(name, checked) });
  if (checked === undefined) return deleteKeyValue(run, name);
  setKeyValue(run, name, checked);
}

export function getValue(run: Run, value: ValueDef<unknown>): unknown {
  checkValue(value, "ctx.get");
  const { name, as } = value;
  if (as === "attribute") {
    const stored = run.state.attributes[name];
    return stored === undefined ? undefined : fromStored(stored);
  }
  const text = as === "status" ? (run.state.status ?? undefined) : run.state.get(name);
  return text === undefined ? undefined : decodeNow(run, text);
}

function attributeOf(name: string, value: unknown): AttributeValue | null {
  if (value === undefined || value === null) return null;
  return fromStored(parseAttribute(value, `Attribute "${name}"`, true));
}
