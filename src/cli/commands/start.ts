// perdure start: starts an instance, and waits for its end if asked to.
//   ST1. By name: it runs wherever a runtime registers the orchestration. If the config registers it with an input
//        schema, the input is checked first, as the library does.
//   ST2. A name that no running worker registers is a warning and not an error: a worker may register it later.

import type { Handle } from "../../client/handle.ts";
import type { StartOptions } from "../../client/client.ts";
import { isPerdureError, PerdureError } from "../../core/errors.ts";
import { validate } from "../../core/standard-schema.ts";
import { Registry } from "../../runtime/registry.ts";
import { instanceToHttp, member } from "../../server/wire/instance.ts";
import type { LoadedConfig } from "../config-file.ts";
import { defineCommand, type Call, type Program } from "../define-command.ts";
import { CliError, type ExitCode } from "../exit-codes.ts";
import { collectWhole, parsePairs } from "../filter-options.ts";
import { tellEnding } from "../ending-text.ts";
import { Interruption } from "../interrupt.ts";
import { wholeNumber } from "../numbers.ts";
import { green, yellow } from "../screen.ts";
import { Session } from "../session.ts";
import { similarName } from "../similar-name.ts";
import { parseMoment, parseTimeSpan } from "../times.ts";
import { parseValue, showValue, VALUE_FORMS } from "../values.ts";

interface StartCommandOptions {
  readonly input?: string;
  readonly id?: string;
  readonly ofVersion?: string;
  readonly onConflict?: string;
  readonly delay?: string;
  readonly at?: string;
  readonly priority?: number;
  readonly attribute?: readonly string[];
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
        [`perdure start fulfil --id order-7 --input '{"lines":[]}'`, "prints its id"],
        ["perdure start fulfil --input @order.json --wait", "prints its result, or why it failed"],
        ["cat order.json | perdure start fulfil --input -", "from standard input"],
        ["perdure start report --delay 2h --attribute customer=42", "later, searchable"],
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
      const checked = await checkInput(session.config, name, options.ofVersion, input);
      // From before it is there for others to see: who interrupts the wait is told so, however early.
      using interruption = options.wait === true ? new Interruption() : null;
      const handle = await session.client.start(name, checked, startOptions);
      if (interruption !== null) {
        const { signal } = interruption;
        const started = { session, name, handle };
        const outcome = await outcomeOf(call, started, { timeout, onBlocked, signal });
        return interruption.code ?? (await tellOutcome(call, started, outcome));
      }
      const warning = await unclaimedWarning({ session, name, handle });
      if (options.json === true) cli.out.document({ id: handle.id, ...member("warning", warning) });
      else if (cli.out.isTerminal) cli.out.line(green("✓ "), `${handle.id} started`);
      else cli.out.line(handle.id);
      if (warning !== undefined && options.json !== true) cli.err.line(yellow(`! ${warning}`));
      return 0;
    },
  )
    .option("--input <value>", `its input: ${VALUE_FORMS}`)
    .option("--id <id>", "unique among instances; made up if not given")
    .option("--of-version <version>", "another version than the newest")
    .option("--on-conflict <policy>", "fail, useExisting, restart or terminateExisting")
    .option("--delay <duration>", "begin after this time: 30s, 5m, 2h, 7d")
    .option("--at <time>", "begin at this moment")
    .option("--priority <number>", "1 (first) to 5", wholeNumber(1, 5))
    .option("--attribute <name=value>", "searchable; may be repeated", collectWhole)
    .option("--event <name=json>", "in its mailbox from the start; may be repeated", collectWhole)
    .option("--request-id <id>", "a repeated command with the same id starts once")
    .option("--wait", "wait for its end and print the result")
    .option("--timeout <duration>", "how long to wait at most")
    .option("--on-blocked <wait|throw>", "whether to wait on if it is blocked or has no worker");
}

async function optionsOf({ options }: Call<StartCommandOptions>): Promise<StartOptions> {
  const { id, ofVersion, onConflict, delay, at, priority, attribute, event, requestId } = options;
  return {
    ...(id === undefined ? {} : { id }),
    ...(ofVersion === undefined ? {} : { version: ofVersion }),
    ...(onConflict === undefined
      ? {}
      : { onConflict: choiceOf("--on-conflict", onConflict, POLICIES) }),
    ...(delay === undefined ? {} : { delay: parseTimeSpan("--delay", delay) }),
    ...(at === undefined ? {} : { at: parseMoment("--at", at) }),
    ...(priority === undefined ? {} : { priority }),
    ...(attribute === undefined ? {} : { attributes: parsePairs("--attribute", attribute) }),
    ...(event === undefined ? {} : { events: event.map(eventOf) }),
    ...(requestId === undefined ? {} : { requestId }),
  };
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
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CliError("USAGE", `--event is name=json: ${why}.`, { cause });
  }
}

async function checkInput(
  loaded: LoadedConfig | undefined,
  name: string,
  version: string | undefined,
  input: unknown,
): Promise<unknown> {
  const schema = registryOf(loaded).orchestration(name, version ?? null)?.options.input;
  return schema === undefined ? input : validate(schema, input, `input of "${name}"`);
}

function registryOf(loaded: LoadedConfig | undefined): Registry {
  const { register = [], runtime = {} } = loaded?.config ?? {};
  const { versions } = runtime;
  return new Registry(register, versions === undefined ? {} : { versions });
}

interface Started {
  readonly session: Session;
  /** Of its orchestration. */
  readonly name: string;
  readonly handle: Handle;
}

/** ST2. Undefined: a worker can run the instance, or the store cannot say. */
async function unclaimedWarning(started: Started): Promise<string | undefined> {
  try {
    const { unclaimed } = await started.handle.describe();
    if (unclaimed === undefined) return undefined;
    const { id } = started.handle;
    return `${id} waits: ${unclaimed}.${await similarHint(started)} perdure get ${id} shows it.`;
  } catch (error) {
    if (isPerdureError(error)) return undefined; // the instance has been started all the same
    throw error;
  }
}

/** A sentence if the config or a running worker registers a similar name, and neither registers this one. */
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

/** Undefined: the instance completed. While it cannot continue, one line on standard error says why. */
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

async function tellOutcome(
  { cli, options }: Call<StartCommandOptions>,
  started: Started,
  outcome: Error | undefined,
): Promise<ExitCode> {
  const { session, handle } = started;
  const info = await handle.describe();
  if (outcome !== undefined && info.error === undefined) throw await withHint(outcome, started);
  if (options.json === true) cli.out.document(instanceToHttp(info, session.codec));
  else if (info.error === undefined) cli.out.line(showValue(info.output, Infinity));
  else tellEnding(cli.err, handle.id, info.error);
  return info.error === undefined ? 0 : 6;
}

/** An error about an instance that has not ended names the command that shows it. */
async function withHint(error: Error, started: Started): Promise<Error> {
  if (!isPerdureError(error) || error.reason === undefined) return error;
  const { code, message, reason } = error;
  const similar = code === "UNCLAIMED" ? await similarHint(started) : "";
  const text = `${message}${similar} More: perdure get ${started.handle.id}`;
  return new PerdureError(code, text, { reason });
}
