// perdure start: starts an instance, and waits for its end if asked to.
//   ST1. By name: it runs wherever a runtime registers the orchestration. If the config registers it with an input
//        schema, the input is checked first, as the library does.

import type { Handle } from "../../client/handle.ts";
import type { StartOptions } from "../../client/client.ts";
import { validate } from "../../core/standard-schema.ts";
import { Registry } from "../../runtime/registry.ts";
import { instanceToHttp } from "../../server/wire/instance.ts";
import type { LoadedConfig } from "../config-file.ts";
import { defineCommand, type Call, type Program } from "../define-command.ts";
import { CliError, type ExitCode } from "../exit-codes.ts";
import { collectWhole, parsePairs } from "../filter-options.ts";
import { tellEnding } from "../ending-text.ts";
import { Interruption } from "../interrupt.ts";
import { wholeNumber } from "../numbers.ts";
import { green } from "../screen.ts";
import { Session } from "../session.ts";
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
      await using session = await Session.open(call);
      const checked = await checkInput(session.config, name, options.ofVersion, input);
      // From before it is there for others to see: who interrupts the wait is told so, however early.
      using interruption = options.wait === true ? new Interruption() : null;
      const handle = await session.client.start(name, checked, startOptions);
      if (interruption !== null) {
        return await waitForEnd(call, session, handle, { timeout, interruption });
      }
      if (options.json === true) cli.out.document({ id: handle.id });
      else if (cli.out.isTerminal) cli.out.line(green("✓ "), `${handle.id} started`);
      else cli.out.line(handle.id);
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
    .option("--timeout <duration>", "how long to wait at most");
}

async function optionsOf({ options }: Call<StartCommandOptions>): Promise<StartOptions> {
  const { id, ofVersion, onConflict, delay, at, priority, attribute, event, requestId } = options;
  return {
    ...(id === undefined ? {} : { id }),
    ...(ofVersion === undefined ? {} : { version: ofVersion }),
    ...(onConflict === undefined ? {} : { onConflict: conflictOf(onConflict) }),
    ...(delay === undefined ? {} : { delay: parseTimeSpan("--delay", delay) }),
    ...(at === undefined ? {} : { at: parseMoment("--at", at) }),
    ...(priority === undefined ? {} : { priority }),
    ...(attribute === undefined ? {} : { attributes: parsePairs("--attribute", attribute) }),
    ...(event === undefined ? {} : { events: event.map(eventOf) }),
    ...(requestId === undefined ? {} : { requestId }),
  };
}

const POLICIES = ["fail", "useExisting", "restart", "terminateExisting"] as const;

function conflictOf(word: string): (typeof POLICIES)[number] {
  const found = POLICIES.find((policy) => policy === word);
  if (found !== undefined) return found;
  throw new CliError(
    "USAGE",
    `--on-conflict is one of ${POLICIES.join(", ")}, not ${JSON.stringify(word)}.`,
  );
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
  const { register = [], runtime = {} } = loaded?.config ?? {};
  const { versions } = runtime;
  const registry = new Registry(register, versions === undefined ? {} : { versions });
  const schema = registry.orchestration(name, version ?? null)?.options.input;
  return schema === undefined ? input : validate(schema, input, `input of "${name}"`);
}

async function waitForEnd(
  { cli, options }: Call<StartCommandOptions>,
  session: Session,
  handle: Handle,
  {
    timeout,
    interruption,
  }: { readonly timeout: number | undefined; readonly interruption: Interruption },
): Promise<ExitCode> {
  const { signal } = interruption;
  const isOver = handle.result({ signal, ...(timeout === undefined ? {} : { timeout }) }).then(
    () => true,
    (error: unknown) => error,
  );
  const outcome = await isOver;
  if (interruption.code !== undefined) return interruption.code;
  const info = await handle.describe();
  if (outcome !== true && info.error === undefined) throw outcome;
  if (options.json === true) cli.out.document(instanceToHttp(info, session.codec));
  else if (info.error === undefined) cli.out.line(showValue(info.output, Infinity));
  else tellEnding(cli.err, handle.id, info.error);
  return info.error === undefined ? 0 : 6;
}
