// perdure enqueue: enqueues a job by the name of its activity.
//   - If the config registers the activity, the command checks the input with its schema, as the library does.
//   - If no running worker registers the activity, the command prints a warning and still succeeds: a worker may register
//        it later.

import type { Handle } from "../../../client/handle.ts";
import type { AnyJob, EnqueueOptions } from "../../../client/jobs/job-item.ts";
import { isPerdureError } from "../../../core/errors/errors.ts";
import { defined } from "../../../core/values/defined.ts";
import { Registry } from "../../../runtime/registry.ts";
import { member } from "../../../server/wire/instance.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { CliError } from "../../exit-codes.ts";
import { collectWhole } from "../../options/filter-options.ts";
import { parseAttributeOptions } from "../../options/attribute-options.ts";
import { wholeNumber } from "../../options/numbers.ts";
import { similarName } from "../../options/similar-name.ts";
import { Session } from "../../store/session.ts";
import { green, yellow } from "../../text/screen.ts";
import { parseMoment, parseTimeSpan } from "../../text/times.ts";
import { parseContext, parseValue, VALUE_FORMS } from "../../text/values.ts";

interface EnqueueCommandOptions {
  readonly id?: string;
  readonly key?: string;
  readonly delay?: string;
  readonly at?: string;
  readonly priority?: number;
  readonly attribute?: readonly string[];
  readonly context?: string;
  readonly unique?: string;
  readonly onConflict?: string;
  readonly requestId?: string;
}

const POLICIES = ["useExisting", "fail", "replace"] as const;

export function addEnqueue(program: Program): void {
  defineCommand<EnqueueCommandOptions>(
    program,
    {
      usage: "enqueue <name> [input]",
      summary: "enqueue a job: one activity, run by any worker",
      description:
        "Enqueues a job: an instance that runs the activity of this name once, on any worker that registers it. " +
        `The input is ${VALUE_FORMS}.`,
      examples: [
        [`perdure enqueue mail '{"to":"ada@example.com"}'`, "print the id"],
        ["perdure enqueue mail @mail.json --key tenant-7", "for the limits per key"],
        ["perdure enqueue report --delay 2h --priority 5", "later, after other work"],
        ["perdure enqueue sync --unique account-7", "unless one is pending or running"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [name = "", given] = args;
      const input = await parseValue(cli, "The input", given);
      const context = await parseContext(cli, options.context);
      const enqueueOptions = { ...optionsOf(options), ...defined({ context }) };
      await using session = await Session.open(call);
      const target = targetOf(session, name);
      const handle = await session.client.enqueue(target, input, enqueueOptions);
      const warning = await unclaimedWarning(session, handle, name);
      if (options.json === true) cli.out.document({ id: handle.id, ...member("warning", warning) });
      else {
        if (cli.out.isTerminal) cli.out.line(green("✓ "), `${handle.id} enqueued`);
        else cli.out.line(handle.id);
        if (warning !== undefined) cli.err.line(yellow(`! ${warning}`));
      }
      return 0;
    },
  )
    .option("--id <id>", "the id of the job's instance; default: generated")
    .option("--key <key>", "the tenant or resource: for the limits per key and the fair order")
    .option("--delay <duration>", "begin after this time: 30s, 5m, 2h, 7d")
    .option("--at <time>", "begin at this time")
    .option("--priority <number>", "1 (highest) to 5", wholeNumber(1, 5))
    .option("--attribute <name=value>", "a searchable attribute; may be repeated", collectWhole)
    .option("--context <value>", `the context, an object: ${VALUE_FORMS}`)
    .option("--unique <key>", "at most one job with this key is pending or running")
    .option("--on-conflict <policy>", "with --unique: useExisting (default), fail or replace")
    .option("--request-id <id>", "idempotency key: repeated commands with this id enqueue one job");
}

function optionsOf(options: EnqueueCommandOptions): EnqueueOptions {
  const { id, key, delay, at, priority, attribute, unique, requestId } = options;
  const onConflict = policyOf(options);
  return defined({
    id,
    key,
    delay: delay === undefined ? undefined : parseTimeSpan("--delay", delay),
    at: at === undefined ? undefined : parseMoment("--at", at),
    priority,
    attributes: attribute && parseAttributeOptions(attribute),
    unique: unique === undefined ? undefined : { key: unique, ...defined({ onConflict }) },
    requestId,
  });
}

function policyOf({ unique, onConflict }: EnqueueCommandOptions) {
  if (onConflict === undefined) return undefined;
  const policy = POLICIES.find((one) => one === onConflict);
  if (policy === undefined) {
    const message = `--on-conflict must be one of ${POLICIES.join(", ")}; got ${JSON.stringify(onConflict)}.`;
    throw new CliError("USAGE", message);
  }
  if (unique !== undefined) return policy;
  throw new CliError("USAGE", "--on-conflict has a meaning only with --unique.");
}

/** The definition, if the config registers the activity. Otherwise the name: a worker has the definition. */
function targetOf({ config }: Session, name: string): AnyJob {
  return new Registry(config?.config.register ?? []).activity(name) ?? name;
}

/** Undefined: a worker can run the job, or the store could not be read. */
async function unclaimedWarning(
  { client, config }: Session,
  handle: Handle,
  name: string,
): Promise<string | undefined> {
  try {
    const { unclaimed } = await handle.describe();
    if (unclaimed === undefined) return undefined;
    const runtimes = await client.runtimes();
    const known = runtimes.flatMap(({ registered }) => registered?.activities ?? []);
    const own = new Registry(config?.config.register ?? []).list().activities;
    const similar = similarName(name, [...own, ...known]);
    const hint = similar === undefined ? "" : ` Did you mean "${similar}"?`;
    return `${handle.id} waits: no running worker accepts job "${name}".${hint} See: perdure get ${handle.id}`;
  } catch (error) {
    if (isPerdureError(error)) return undefined; // the job was enqueued despite this error
    throw error;
  }
}
