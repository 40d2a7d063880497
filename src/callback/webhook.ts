// Webhooks: an incoming, signed request that starts an instance, once per event.
//   - webhook.1: The id of the instance is `name:id`, with the id of the event. A delivery that the sender repeats finds
//        the instance and changes nothing, as long as the store keeps the instance (S39).

import type { Client } from "../client/client.ts";
import type { Orchestration } from "../core/define/definitions.ts";
import { checkFunction, checkMembers, invalidArgument, type Members } from "../core/checks.ts";
import type { OrchestrationInput } from "../core/context/types.ts";
import { parseName, showValue } from "../core/ids/ids.ts";
import { headerNames } from "./options.ts";
import type { Verifier } from "./verifiers.ts";

type Target = Orchestration<never, unknown, unknown> | string;
/** The chosen headers of a delivery, with names in lower case. */
export type WebhookHeaders = Readonly<Record<string, string>>;

interface Common<Event, C extends Target> {
  /** Checks the signature: `stripe(secret)`, `github(secret)`, or a function. */
  readonly verify: Verifier;
  /** The orchestration to start, or its name. */
  readonly start: C;
  /**
   * The id of the event. Deliveries with the same id start one instance. Null: the event is not of interest; it is
   * acknowledged and starts nothing.
   */
  readonly id: (event: Event, headers: WebhookHeaders) => string | null;
  /** Headers that `id` and `input` receive, such as "x-github-delivery". */
  readonly headers?: readonly string[];
}
/** Options of a webhook whose event is the input of the orchestration. */
export type WebhookOptions<C extends Orchestration<never, unknown, unknown>> = Common<
  OrchestrationInput<C>,
  C
>;
/** Options of a webhook that starts an orchestration by its name, with the event as input. */
export type NamedWebhookOptions<Event> = Common<Event, string>;
/** Options of a webhook with a function that makes the input of the event. */
export interface MappedWebhookOptions<C extends Target, Event> extends Common<Event, C> {
  /** The input of the orchestration. Default: the event. */
  readonly input: (event: Event, headers: WebhookHeaders) => OrchestrationInput<C>;
}

/** A webhook, created by `webhook(…)`. */
export interface Webhook {
  readonly kind: "webhook";
  readonly name: string;
  readonly verify: Verifier;
  /** In lower case. */
  readonly headers: readonly string[];
  /** Starts the instance of the event, unless it exists. Null: the event starts nothing. */
  begin(client: Client, event: unknown, headers: WebhookHeaders): Promise<string | null>;
}

/** The options without the types of event and input, which the overloads of `webhook` have checked. */
interface UntypedOptions extends Common<unknown, Target> {
  readonly input?: (event: unknown, headers: WebhookHeaders) => unknown;
}
const OPTIONS: Members<UntypedOptions> = {
  verify: true,
  start: true,
  id: true,
  headers: true,
  input: true,
};

/** Defines a webhook: a signed request that starts an instance, once per event id. */
export function webhook<C extends Target, Event>(
  name: string,
  options: MappedWebhookOptions<C, Event>,
): Webhook;
export function webhook<C extends Orchestration<never, unknown, unknown>>(
  name: string,
  options: WebhookOptions<C>,
): Webhook;
export function webhook<Event>(name: string, options: NamedWebhookOptions<Event>): Webhook;
export function webhook(name: string, options: object): Webhook {
  const what = `webhook "${checkedName(name)}"`;
  const given = options as UntypedOptions; // The overloads have checked the types.
  checkMembers(given, OPTIONS, what);
  checkFunction(given.verify, `verify of ${what}`);
  checkFunction(given.id, `id of ${what}`);
  if (given.input !== undefined) checkFunction(given.input, `input of ${what}`);
  const { start } = given;
  if (typeof start === "string") parseName(start, `start of ${what}`);
  else if (start?.kind !== "orchestration") {
    const got = showValue(start);
    throw invalidArgument(`start of ${what} must be an orchestration or its name; got ${got}.`);
  }
  const target = start as Orchestration<unknown, unknown> | string; // as above
  return Object.freeze({
    kind: "webhook",
    name,
    verify: given.verify,
    headers: headerNames(given.headers ?? [], what),
    async begin(client: Client, event: unknown, headers: WebhookHeaders): Promise<string | null> {
      const found: unknown = given.id(event, headers);
      if (found === null) return null;
      if (typeof found !== "string" || found === "") {
        throw invalidArgument(`id of ${what} must return a text or null; got ${showValue(found)}.`);
      }
      const id = `${name}:${found}`;
      const input = given.input === undefined ? event : given.input(event, headers);
      await client.start(target, input, { id, onConflict: "useExisting" }); // webhook.1
      return id;
    },
  });
}

const NAME_MAX = 64;

/** The name is part of an address and of instance ids. */
function checkedName(name: string): string {
  const parsed = parseName(name, "webhook name");
  if (/^[\w.-]+$/.test(parsed) && parsed.length <= NAME_MAX) return parsed;
  const rule = `must have 1 to ${NAME_MAX} letters, digits, ".", "-" or "_"`;
  throw invalidArgument(`A webhook name ${rule}; got ${showValue(parsed)}.`);
}
