// Raise: sends an event to an instance.

import { checkChoice, checkMembers, type Members } from "../../core/checks.ts";
import type { EventDef } from "../../core/define/definitions.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { parseName, parseRequestId, showValue } from "../../core/ids/ids.ts";
import { generateRequestId } from "../../core/ids/request-ids.ts";
import type { Duration } from "../../core/time/duration.ts";
import { parseKeepFor } from "../../core/time/keep-for.ts";
import { validateToSend } from "../../core/values/standard-schema.ts";
import { requestDigestOf } from "../request-digest.ts";
import type { Store } from "../store.ts";
import { raiseThrough } from "./layered.ts";

/** Options of `raise`. */
export interface RaiseOptions {
  /** Repeated calls with the same id raise the event once. */
  readonly requestId?: string;
  /** As for `start`: the same request id with a different digest raises `KEY_REUSED`. */
  readonly requestDigest?: string;
  /**
   * "keep": an event for an instance that does not exist yet is stored until the instance starts. Default
   * "fail".
   */
  readonly ifMissing?: "fail" | "keep";
  /**
   * Only with `ifMissing: "keep"`: how long the event waits for its instance, at most 10 years. Default: the
   * option `keepFor` of the client. An event that has waited longer expires; `client.kept` lists it.
   */
  readonly keepFor?: Duration;
  /** Your transaction on the store's database, as for `start`: the event is raised when you commit. */
  readonly tx?: object;
}

const RAISE_OPTIONS: Members<RaiseOptions> = {
  requestId: true,
  requestDigest: true,
  ifMissing: true,
  keepFor: true,
  tx: true,
};

type AnyEvent = EventDef<unknown, never> | string;

/** Sends the event, through the middleware if there is any. */
export async function raiseEvent(
  store: Store,
  id: string,
  event: AnyEvent,
  data: unknown,
  options: RaiseOptions,
): Promise<void> {
  const { raise: layers } = store.layers;
  if (layers === null) return writeEvent(store, id, event, data, options);
  checkMembers(options, RAISE_OPTIONS, "raise");
  const call = { name: nameOf(event), input: data, options, instanceId: id };
  return raiseThrough(layers, call, (changed, others) =>
    writeEvent(store, id, event, changed, others),
  );
}

function nameOf(event: AnyEvent): string {
  return parseName(typeof event === "string" ? event : event?.name, "event name");
}

async function writeEvent(
  store: Store,
  id: string,
  event: AnyEvent,
  data: unknown,
  options: RaiseOptions,
): Promise<void> {
  checkMembers(options, RAISE_OPTIONS, "raise");
  const missing = missingPolicy(options, store);
  const name = nameOf(event);
  const schema = typeof event === "string" ? undefined : event.schema;
  const sent = await validateToSend(schema, data, `event "${name}"`);
  const requestId =
    options.requestId === undefined
      ? generateRequestId(store.provider.environment)
      : parseRequestId(options.requestId);
  const item = {
    kind: "send",
    id,
    name,
    data: store.codec.encode(sent.value),
    requestId,
    ...requestDigestOf(options),
    ...missing,
  } as const;
  if (options.tx === undefined) await store.write(id, item);
  else await store.sendWithin(options.tx, item);
}

function missingPolicy({ ifMissing = "fail", keepFor }: RaiseOptions, store: Store) {
  checkChoice(ifMissing, ["fail", "keep"], "ifMissing");
  if (ifMissing === "keep") {
    return {
      ifMissing,
      keepForMs: keepFor === undefined ? store.keepForMs : parseKeepFor(keepFor),
    };
  }
  if (keepFor === undefined) return { ifMissing };
  const message = `keepFor (${showValue(keepFor)}) has a meaning only with ifMissing: "keep"; omit it, or set ifMissing to "keep".`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}
