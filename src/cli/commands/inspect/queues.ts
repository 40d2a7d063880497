// perdure queues: shows the queues, or one of them. With an option, it pauses or resumes a queue, or retries its failed jobs
// (../change/queue-actions.ts).

import { defined } from "../../../core/values/defined.ts";
import { queueDetailToHttp, queueToHttp } from "../../../server/wire/queues.ts";
import { defineCommand, type Call, type Program } from "../../define-command.ts";
import { CliError, type ExitCode } from "../../exit-codes.ts";
import { wholeNumber } from "../../options/numbers.ts";
import { Session } from "../../store/session.ts";
import { printQueue, printQueues } from "../../text/queue-text.ts";
import { pause, resume, retryFailed, type QueueActionOptions } from "../change/queue-actions.ts";

interface QueuesOptions extends QueueActionOptions {
  readonly pause?: true;
  readonly resume?: true;
  readonly retryFailed?: true;
}

export function addQueues(program: Program): void {
  defineCommand<QueuesOptions>(
    program,
    {
      usage: "queues [name]",
      summary: "show the queues; pause one, or retry its failed jobs",
      description:
        "Shows the queues, one per activity: the waiting tasks, their age, the rate, the failed jobs, the limits, and " +
        "tasks that no running worker accepts. With a name, shows one queue and the keys with the most waiting tasks.",
      examples: [
        ["perdure queues", "all queues"],
        ["perdure queues mail", "one queue, with its tags and keys"],
        ['perdure queues mail --pause --reason "provider is down"', "no attempt begins"],
        ["perdure queues mail --resume", "continue"],
        ["perdure queues mail --retry-failed", "retry its failed jobs; asks first"],
        ["perdure queues --json | jq '.queues[] | select(.unclaimed)'", "tasks without a worker"],
      ],
    },
    (call) => {
      const action = actionOf(call.options);
      const [name] = call.args;
      if (name === undefined) {
        if (action === undefined) return showAll(call);
        throw new CliError("USAGE", `Name the queue: perdure queues <name> ${action}`);
      }
      if (/^(?:sqlite|postgres|postgresql):/.test(name)) {
        const message = `The argument is the name of a queue; pass the store with --store ${name}`;
        throw new CliError("USAGE", message);
      }
      if (action === undefined) return showOne(call, name);
      return ACTIONS[action](call, name);
    },
  )
    .option("--pause", "pause the queue on all workers; running attempts go on")
    .option("--resume", "resume the queue")
    .option("--retry-failed", "run its failed jobs again, with the same idempotency keys")
    .option("--reason <text>", "with --pause or --retry-failed: the reason; stored")
    .option("--by <name>", "with --pause or --retry-failed: your name; stored")
    .option("--limit <number>", "with --retry-failed: at most this many jobs", wholeNumber(1))
    .option("--cursor <text>", "with --retry-failed: go on where an interrupted command stopped")
    .option("--dry-run", "with --retry-failed: only show what would be retried")
    .option("-y, --yes", "with --retry-failed: do not ask for confirmation");
}

const ACTIONS = { "--pause": pause, "--resume": resume, "--retry-failed": retryFailed } as const;
type Action = keyof typeof ACTIONS;

function actionOf(options: QueuesOptions): Action | undefined {
  const { pause: pausing, resume: resuming, retryFailed: retrying } = options;
  const given: readonly Action[] = [
    ...(pausing === true ? (["--pause"] as const) : []),
    ...(resuming === true ? (["--resume"] as const) : []),
    ...(retrying === true ? (["--retry-failed"] as const) : []),
  ];
  if (given.length > 1) {
    throw new CliError("USAGE", `${given.join(" and ")} cannot be used together.`);
  }
  const [action] = given;
  const { reason, by, limit, cursor, dryRun, yes } = options;
  checkUsed(action, ["--pause", "--retry-failed"], defined({ reason, by }));
  checkUsed(action, ["--retry-failed"], defined({ limit, cursor, "dry-run": dryRun, yes }));
  return action;
}

function checkUsed(action: Action | undefined, needed: readonly Action[], given: object): void {
  const [first] = Object.keys(given);
  if (first === undefined || (action !== undefined && needed.includes(action))) return;
  throw new CliError("USAGE", `--${first} has a meaning only with ${needed.join(" or ")}.`);
}

async function showAll(call: Call<QueuesOptions>): Promise<ExitCode> {
  const { cli, options } = call;
  await using session = await Session.open(call, { access: "read" });
  const queues = await session.client.queues();
  if (options.json === true) cli.out.document({ queues: queues.map(queueToHttp) });
  else printQueues(cli.out, queues, session.provider.now());
  return 0;
}

async function showOne(call: Call<QueuesOptions>, name: string): Promise<ExitCode> {
  const { cli, options } = call;
  await using session = await Session.open(call, { access: "read" });
  const queue = await session.client.queue(name);
  if (options.json === true) cli.out.document(queueDetailToHttp(queue));
  else printQueue(cli.out, queue, session.provider.now());
  return 0;
}
