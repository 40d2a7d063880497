// perdure start: starts an instance, and with --wait waits for its end.
//   - The instance runs on any worker that registers an orchestration of this name. If the config
//        registers it with an input schema, the command validates the input first, as the library does.
//   - start.1: If no running worker registers the name, the command prints a warning and still succeeds: a
//        worker may register the name later.

import type { Handle } from "../../../client/handle.ts";
import type { StartOptions } from "../../../client/start-item.ts";
import type { Orchestration } from "../../../core/define/definitions.ts";
import { isPerdureError, PerdureError, errorMessage } from "../../../core/errors/errors.ts";
import { defined } from "../../../core/values/defined.ts";
import { validateToSend } from "../../../core/values/standard-schema.ts";
import { Registry } from "../../../runtime/registry.ts";
import { instanceToHttp, member } from "../../../server/wire/instance.ts";
import type { LoadedConfig } from "../../store/config-file.ts";
import { defineCommand, type Call, type Program } from "../../define-command.ts";
import { CliError, type ExitCode } from "../../exit-codes.ts";
import { collectWhole } from "../../options/filter-options.ts";
import { parseAttributeOptions } from "../../options/attribute-options.ts";
import { printEnding } from "../../text/ending-text.ts";
import { Interruption } from "../../interrupt.ts";
import { wholeNumber } from "../../options/numbers.ts";
import { green, yellow } from "../../text/screen.ts";
import { Session } from "../../store/session.ts";
import { similarName } from "../../options/similar-name.ts";
import { parseMoment, parseTimeSpan } from "../../text/times.ts";
import { parseContext, parseValue, showValue, VALUE_FORMS } from "../../text/values.ts";

interface StartCommandOptions {
  readonly input?: string;
  readonly id?: string;
  readonly ofVersion?: string;
  readonly onConflict?: string;
  readonly delay?: string;
  readonly at?: string;
  readonly priority?: number;
  readonly attribute?: readonly string[];
  readonly context?: string;
  readonly event?: readonly string[];
  readonly requestId?: string;
  readonly wait?: true;
  readonly timeout?: string;
  readonly onBlocked?: string;
}

export function addStart(program: Program): void {
  defineCommand<StartCommandOptions>(
    program,
    {
      usage: "start <name>",
      summary: "start an instance of an orchestration",
      examples: [
        [`perdure start fulfil --id order-7 --input '{"lines":[]}'`, "print the id"],
        ["perdure start fulfil --input @order.json --wait", "print the result or the failure"],
        ["cat order.json | perdure start fulfil --input -", "read the input from standard input"],
        [
          "perdure start report --delay 2h --attribute customer=42",
          "start later, with an attribute",
        ],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [name = ""] = args;
      const input = await parseValue(cli, "--input", options.input);
      const startOptions = await optionsOf(call);
      const timeout =
        options.timeout === undefined ? undefined : parseTimeSpan("--timeout", options.timeout);
      const onBlocked = choiceOf("--on-blocked", options.onBlocked ?? "wait", ON_BLOCKED);
      await using session = await Session.open(call);
      const target = await checkedTarget(session.config, name, options.ofVersion, input);
      // Listen for signals before the instance exists, so that a signal right after the start ends the wait.
      using interruption = options.wait === true ? new Interruption() : null;
      const { id } = await session.client.start(target, input, startOptions);
      const handle = session.client.get(id);
      if (interruption !== null) {
        const { signal } = interruption;
        const started = { session, name, handle };
        const outcome = await outcomeOf(call, started, { timeout, onBlocked, signal });
        return interruption.code ?? (await printOutcome(call, started, outcome));
      }
      const warning = await unclaimedWarning({ session, name, handle });
      if (options.json === true) cli.out.document({ id: handle.id, ...member("warning", warning) });
      else if (cli.out.isTerminal) cli.out.line(green("✓ "), `${handle.id} started`);
      else cli.out.line(handle.id);
      if (warning !== undefined && options.json !== true) cli.err.line(yellow(`! ${warning}`));
      return 0;
    },
  )
    .option("--input <value>", `the input: ${VALUE_FORMS}`)
    .option("--id <id>", "the id of the instance; default: generated")
    .option("--of-version <version>", "the version to start; default: the newest")
    .option(
      "--on-conflict <policy>",
      "if the id exists: fail, useExisting, restart or terminateExisting",
    )
    .option("--delay <duration>", "start after this time: 30s, 5m, 2h, 7d")
    .option("--at <time>", "start at this time")
    .option("--priority <number>", "1 (highest) to 5", wholeNumber(1, 5))
    .option("--attribute <name=value>", "a searchable attribute; may be repeated", collectWhole)
    .option("--context <value>", `the context, an object: ${VALUE_FORMS}`)
    .option("--event <name=json>", "put an event into its mailbox; may be repeated", collectWhole)
    .option(
      "--request-id <id>",
      "idempotency key: repeated commands with this id start one instance",
    )
    .option("--wait", "wait for the end and print the result")
    .option("--timeout <duration>", "with --wait: the longest time to wait")
    .option(
      "--on-blocked <wait|throw>",
      "with --wait: if it is blocked or no worker can run it, keep waiting (default) or exit with 11",
    );
}

async function optionsOf({ cli, options }: Call<StartCommandOptions>): Promise<StartOptions> {
  const context = await parseContext(cli, options.context);
  const { id, ofVersion, onConflict, delay, at, priority, attribute, event, requestId } = options;
  return defined({
    id,
    version: ofVersion,
    onConflict:
      onConflict === undefined ? undefined : choiceOf("--on-conflict", onConflict, POLICIES),
    delay: delay === undefined ? undefined : parseTimeSpan("--delay", delay),
    at: at === undefined ? undefined : parseMoment("--at", at),
    priority,
    attributes: attribute && parseAttributeOptions(attribute),
    context,
    events: event?.map(eventOf),
    requestId,
  });
}

const POLICIES = ["fail", "useExisting", "restart", "terminateExisting"] as const;

const ON_BLOCKED = ["wait", "throw"] as const;

function choiceOf<Word extends string>(option: string, word: string, words: readonly Word[]): Word {
  const found = words.find((one) => one === word);
  if (found !== undefined) return found;
  const message = `${option} must be one of ${words.join(", ")}; got ${JSON.stringify(word)}.`;
  throw new CliError("USAGE", message);
}

function eventOf(text: string): { name: string; data?: unknown } {
  const at = text.indexOf("=");
  if (at < 0) return { name: text };
  try {
    return { name: text.slice(0, at), data: JSON.parse(text.slice(at + 1)) as unknown };
  } catch (cause) {
    const why = errorMessage(cause);
    throw new CliError("USAGE", `--event must be name=json: ${why}.`, { cause });
  }
}

/**
 * Checks the input if the config registers the orchestration with a schema. Returns the name, so that the newest
 * version of any worker may run it, or the definition if only this process can call its asynchronous schema.
 */
async function checkedTarget(
  loaded: LoadedConfig | undefined,
  name: string,
  version: string | undefined,
  input: unknown,
): Promise<Orchestration<unknown, unknown> | string> {
  const definition = registryOf(loaded).orchestration(name, version ?? null);
  const sent = await validateToSend(definition?.options.input, input, `input of "${name}"`);
  if (definition === undefined || !sent.isOutput) return name;
  return definition as Orchestration<unknown, unknown>; // its schema has checked the input
}

function registryOf(loaded: LoadedConfig | undefined): Registry {
  const { register = [], runtime = {} } = loaded?.config ?? {};
  const { versions } = runtime;
  return new Registry(register, defined({ versions }));
}

interface Started {
  readonly session: Session;
  /** The name of the orchestration. */
  readonly name: string;
  readonly handle: Handle;
}

/** start.1. Undefined: a worker can run the instance, or the store could not be read. */
async function unclaimedWarning(started: Started): Promise<string | undefined> {
  try {
    const { unclaimed } = await started.handle.describe();
    if (unclaimed === undefined) return undefined;
    const { id } = started.handle;
    return `${id} waits: ${unclaimed}.${await similarHint(started)} See: perdure get ${id}`;
  } catch (error) {
    if (isPerdureError(error)) return undefined; // the instance was started despite this error
    throw error;
  }
}

/**
 * "Did you mean" with a similar name that the config or a worker registers. Empty: the name itself is
 * registered.
 */
async function similarHint({ session, name }: Started): Promise<string> {
  const own = Object.keys(registryOf(session.config).list().orchestrations);
  const runtimes = await session.client.runtimes();
  const running = runtimes.flatMap(({ registered }) =>
    Object.keys(registered?.orchestrations ?? {}),
  );
  const similar = similarName(name, [...own, ...running]);
  return similar === undefined ? "" : ` Did you mean "${similar}"?`;
}

interface WaitingOptions {
  readonly timeout: number | undefined;
  readonly onBlocked: "wait" | "throw";
  readonly signal: AbortSignal;
}

/**
 * Waits for the end. Undefined: the instance completed. If it gets stuck, prints the reason once on stderr.
 */
async function outcomeOf(
  { cli, options }: Call<StartCommandOptions>,
  started: Started,
  { timeout = Infinity, onBlocked, signal }: WaitingOptions,
): Promise<Error | undefined> {
  const until = performance.now() + timeout;
  const wait = (how: "wait" | "throw"): Promise<Error | undefined> => {
    const left = { timeout: Math.max(0, until - performance.now()) };
    const bound = timeout === Infinity ? {} : left;
    return started.handle.result({ signal, onBlocked: how, ...bound }).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
  };
  const first = await wait("throw");
  const isStuck = isPerdureError(first, "BLOCKED") || isPerdureError(first, "UNCLAIMED");
  if (!isStuck || onBlocked === "throw") return first;
  if (options.json !== true) {
    const { message } = await withHint(first, started);
    cli.err.line(yellow(`! ${message}`));
  }
  return wait("wait");
}

async function printOutcome(
  { cli, options }: Call<StartCommandOptions>,
  started: Started,
  outcome: Error | undefined,
): Promise<ExitCode> {
  const { session, handle } = started;
  const info = await handle.describe();
  if (outcome !== undefined && info.error === undefined) throw await withHint(outcome, started);
  if (options.json === true) cli.out.document(instanceToHttp(info, session.codec));
  else if (info.error === undefined) cli.out.line(showValue(info.output, Infinity));
  else printEnding(cli.err, handle.id, info.error);
  return info.error === undefined ? 0 : 6;
}

/** Adds the command that shows the instance to an error about an instance that has not ended. */
async function withHint(error: Error, started: Started): Promise<Error> {
  if (!isPerdureError(error) || error.reason === undefined) return error;
  const { code, message, reason } = error;
  const similar = code === "UNCLAIMED" ? await similarHint(started) : "";
  const text = `${message}${similar} See: perdure get ${started.handle.id}`;
  return new PerdureError(code, text, { reason });
}
