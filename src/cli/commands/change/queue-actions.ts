// Actions of perdure queues: pause and resume a queue, and retry its failed jobs.
//   - A pause of a queue that no running worker registers and that has no tasks prints a warning, because the name may be
//        misspelled. It still succeeds: a pause may come before the worker.

import { failedJobs, RETRY } from "../../../client/queues/retry-failed.ts";
import type { QueueDetail } from "../../../client/queues/read-queues.ts";
import { parseName } from "../../../core/ids/ids.ts";
import { defined } from "../../../core/values/defined.ts";
import { member } from "../../../server/wire/instance.ts";
import type { Call } from "../../define-command.ts";
import type { ExitCode } from "../../exit-codes.ts";
import { runBulk, type BulkOptions } from "../../options/bulk.ts";
import { similarName } from "../../options/similar-name.ts";
import { Session } from "../../store/session.ts";
import { green, yellow } from "../../text/screen.ts";
import { rewinds } from "./rewind.ts";

export interface QueueActionOptions {
  readonly reason?: string;
  readonly by?: string;
  readonly limit?: number;
  readonly cursor?: string;
  readonly dryRun?: true;
  readonly yes?: true;
}

export async function pause(call: Call<QueueActionOptions>, name: string): Promise<ExitCode> {
  const { cli, options } = call;
  const { reason, by } = options;
  await using session = await Session.open(call);
  await session.client.pauseQueue(name, defined({ reason, by }));
  const warning = await unknownWarning(session, name);
  if (options.json === true) {
    cli.out.document({ action: "pause", name, ...member("warning", warning) });
  } else {
    cli.out.line(green("✓ "), `queue ${name} paused`);
    if (warning !== undefined) cli.err.line(yellow(`! ${warning}`));
  }
  return 0;
}

export async function resume(call: Call<QueueActionOptions>, name: string): Promise<ExitCode> {
  const { cli, options } = call;
  await using session = await Session.open(call);
  await session.client.resumeQueue(name);
  if (options.json === true) cli.out.document({ action: "resume", name });
  else cli.out.line(green("✓ "), `queue ${name} resumed`);
  return 0;
}

/** The failed jobs go on at their activity, like `perdure retry` of each. */
export function retryFailed(call: Call<QueueActionOptions>, name: string): Promise<ExitCode> {
  const { reason = "retried from the command line", by, ...options } = call.options;
  const rewind = { ...RETRY, reason, ...defined({ by }) };
  const all: Call<BulkOptions> = { ...call, args: [], options: { ...options, all: true } };
  return runBulk(all, {
    verb: "retry",
    past: "retried",
    noun: "failed job",
    isFinal: false,
    takes: [failedJobs(parseName(name, "name of the queue"))],
    ...rewinds(rewind),
  });
}

/** Undefined: the queue has tasks or figures, or a running worker registers its activity. */
async function unknownWarning({ client }: Session, name: string): Promise<string | undefined> {
  if (isUsed(await client.queue(name))) return undefined;
  const runtimes = await client.runtimes();
  const known = runtimes.flatMap(({ registered }) => registered?.activities ?? []);
  if (known.includes(name)) return undefined;
  const queues = await client.queues();
  const similar = similarName(name, [...known, ...queues.filter(isUsed).map((one) => one.name)]);
  const hint = similar === undefined ? "" : ` Did you mean "${similar}"?`;
  return `queue ${name} is empty, and no running worker registers activity "${name}".${hint}`;
}

function isUsed(queue: Omit<QueueDetail, "topKeys">): boolean {
  const { depth, running, delayed, failures, limit } = queue;
  return depth + running + delayed + failures > 0 || limit !== null;
}
